//! From queued to started.

use rusqlite::params;

use super::{Result, Tx};
use crate::model::{
    attempt::{AttemptId, Claim},
    clock::Stamp,
    job::Job,
    limits::Limits,
};

pub(super) const CLAIM: &str = "
    UPDATE job
       SET status = 1, attempt = ?2, started = ?3, attempts = attempts + 1, waits = 0, again = NULL,
           percent = NULL, message = NULL
     WHERE id = ?1 AND status = 0 AND waits <> 2
    RETURNING *";

const BEGIN_ATTEMPT: &str = "
    INSERT INTO attempt (id, job, filename, exporter, params, queue, client, number,
                         submitted, started, counts_from, limits)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";

/// Later than every other queue's, so that claims within one millisecond take turns too.
const SERVED: &str = "
    UPDATE queue SET served = max(?2, 1 + (SELECT max(served) FROM queue)) WHERE name = ?1";

/// Without an attempt, and with none that could be taken for its reason.
const REFUSE: &str = "
    UPDATE job
       SET status = 3, result = 'spawn', message = ?2, started = ?3, failed = ?3, attempt = NULL, waits = 0, reported = 0
     WHERE id = ?1 AND status = 0";

impl Tx<'_> {
    /// A queued job that cannot be what its row says fails, which is not counted as an attempt. `false`: it is not queued
    /// (any more).
    pub fn refuse(&self, job: &Job, message: &str, now: Stamp) -> Result<bool> {
        self.counting(job.id, || Ok(self.change(REFUSE, params![job.id, message, now])? == 1))
    }

    /// Starts an attempt at a queued job: it counts from now on, a noted run is satisfied by it, and the queue has
    /// been served. `None`: the job is not queued (any more), or waits for its source.
    ///
    /// `counts_from` is `now`, or for a derived file the start that counts for its source.
    pub fn claim(
        &self,
        job: &Job,
        attempt: &AttemptId,
        limits: &Limits,
        now: Stamp,
        counts_from: Stamp,
    ) -> Result<Option<Claim>> {
        let mut claimed_row = None;
        self.counting(job.id, || {
            claimed_row = self.one_job(CLAIM, params![job.id, attempt, now])?;
            Ok(claimed_row.is_some())
        })?;
        let Some(job) = claimed_row else { return Ok(None) };
        self.change(
            BEGIN_ATTEMPT,
            params![
                attempt,
                job.id,
                job.filename,
                job.exporter,
                job.params,
                job.queue,
                job.client,
                job.attempts,
                job.submitted,
                now,
                counts_from,
                limits
            ],
        )?;
        self.change(SERVED, params![job.queue, now])?;
        Ok(Some(claimed(job, attempt, limits, now)))
    }
}

/// What the run of a started job is told.
pub(super) fn claimed(job: Job, attempt: &AttemptId, limits: &Limits, now: Stamp) -> Claim {
    Claim {
        job: job.id,
        attempt: attempt.clone(),
        filename: job.filename,
        exporter: job.exporter,
        params: job.params,
        queue: job.queue,
        number: job.attempts,
        submitted: job.submitted,
        started: now,
        limits: limits.clone(),
        source: job.source,
        client: job.client,
    }
}
