//! A claim that is undone: the machine, or the configuration, let nothing be started. That is no attempt, so nothing of
//! it stays, neither in the count nor in the history.

use rusqlite::params;

use super::{Result, Tx};
use crate::model::{attempt::Claim, clock::Stamp, event::ActivityEvent};

const FORGET_ATTEMPT: &str = "DELETE FROM attempt WHERE id = ? AND ended IS NULL";

/// A noted run is satisfied by the next attempt, which is not started before that note's moment.
const GIVE_BACK: &str = "
    UPDATE job
       SET status = 0, waits = coalesce(again, 0) > ?3, run_after = max(run_after, coalesce(again, 0)),
           due = max(due, coalesce(again, 0)), rank = rank - due / 600000 + max(due, coalesce(again, 0)) / 600000,
           queued_since = max(?3, coalesce(again, 0)), started = NULL, percent = NULL, message = NULL,
           source_after = CASE
               WHEN source IS NULL OR again IS NULL THEN source_after ELSE max(coalesce(source_after, again), again)
           END,
           again = NULL, attempts = max(attempts - 1, 0),
           attempt = (SELECT id FROM attempt WHERE job = ?1 ORDER BY rowid DESC LIMIT 1)
     WHERE id = ?1 AND attempt = ?2 AND status = 1";

impl Tx<'_> {
    /// Back into the queue as if the job had not been claimed. `false`: somebody else has ended the attempt; touch
    /// nothing more.
    pub fn give_back(&self, claim: &Claim, now: Stamp) -> Result<bool> {
        if self.cancel_requested(claim)?.is_none() {
            return Ok(false);
        }
        self.change(FORGET_ATTEMPT, params![claim.attempt])?;
        self.tell(ActivityEvent::new("returned", now).claim(claim));
        Ok(self.end_cancelled(claim, now)?
            || self.counting(claim.job, || Ok(self.change(GIVE_BACK, params![claim.job, claim.attempt, now])? == 1))?)
    }
}
