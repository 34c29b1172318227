//! What is written and read while an attempt runs.

use rusqlite::params;

use super::{Result, Tx, View};
use crate::model::attempt::Claim;

const PROGRESS: &str = "
    UPDATE job SET percent = ?3, message = ?4 WHERE id = ?1 AND attempt = ?2 AND status = 1";

/// What was noted before is cancelled with it; what is noted from now on follows all the same.
const ASK_CANCEL: &str = "UPDATE job SET cancel = 1, again = NULL WHERE id = ? AND status = 1";

const CANCEL_REQUESTED: &str = "SELECT cancel FROM job WHERE id = ? AND attempt = ? AND status = 1";

impl Tx<'_> {
    /// What the exporter says of itself. `false`: the attempt was taken from us.
    pub fn progress(&self, claim: &Claim, percent: Option<u8>, message: Option<&str>) -> Result<bool> {
        Ok(self.change(PROGRESS, params![claim.job, claim.attempt, percent, message])? == 1)
    }

    /// Asks the run of a started job to end it. `false`: it is not started.
    pub fn ask_cancel(&self, id: i64) -> Result<bool> {
        Ok(self.change(ASK_CANCEL, params![id])? == 1)
    }
}

impl View<'_> {
    /// Whether the admin wants this attempt to end. `None`: it was taken from us.
    pub fn cancel_requested(&self, claim: &Claim) -> Result<Option<bool>> {
        self.one(CANCEL_REQUESTED, params![claim.job, claim.attempt], |row| row.get(0))
    }
}
