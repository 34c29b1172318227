//! From queued to started: which job is next, the claim, and a claim that is undone.

use rusqlite::params;
use serde::Serialize;

use super::{Tx, View};
use crate::{
    model::{
        clock::Stamp,
        job::{AttemptId, Claim, Job},
        limits::Limits,
    },
    site::ActivityEvent,
    store::Result,
};

const SERVED: &str = "SELECT served FROM queue WHERE name = ?";

/// Exporters and jobs that are passed over come as JSON. The bound is for rows that cannot be read.
pub(super) const READY: &str = "
    SELECT * FROM job
     WHERE queue = ?1 AND status = 0 AND waits = 0
       AND exporter NOT IN (SELECT value FROM json_each(?2)) AND id NOT IN (SELECT value FROM json_each(?3))
     ORDER BY rank, due, id LIMIT 5000";

pub(super) const NEXT_WAKE: &str = "
    SELECT run_after FROM job WHERE status = 0 AND waits = 1 ORDER BY run_after LIMIT 1";

impl View<'_> {
    /// The job to claim next from these queues, which have a seat free: the queue that was served longest ago
    /// first, in it by rank, moment at which it may start, and id. Paused queues are the caller's to leave out.
    ///
    /// Jobs in `skip` and of exporters in `held_back` are passed over. A job whose `run_after` has passed counts only
    /// when it was woken.
    pub fn next_ready(&self, queues: &[String], held_back: &[String], skip: &[i64]) -> Result<Option<Job>> {
        for queue in self.by_turn(queues)? {
            let mut first = None;
            let params = params![queue, json(held_back), json(skip)];
            self.each_job(READY, params, |job, _| {
                first = Some(job); // that can be read
                false
            })?;
            if first.is_some() {
                return Ok(first);
            }
        }
        Ok(None)
    }

    /// These queues, the one served longest ago first.
    pub fn by_turn(&self, queues: &[String]) -> Result<Vec<String>> {
        let mut turns = Vec::with_capacity(queues.len());
        for queue in queues {
            // One that cannot be read is as good as never.
            let served = self.one(SERVED, params![queue], |row| Ok(row.get::<_, Stamp>(0).unwrap_or_default()))?;
            let served = served.unwrap_or_default();
            turns.push((served, queue.clone()));
        }
        turns.sort();
        Ok(turns.into_iter().map(|(_, queue)| queue).collect())
    }

    /// When the first job that waits for its time may start; it may lie in the past.
    pub fn next_wake(&self) -> Result<Option<Stamp>> {
        self.one(NEXT_WAKE, [], |row| row.get(0))
    }
}

/// A list as one value of a statement.
pub(super) fn json<T: Serialize>(list: &[T]) -> String {
    serde_json::to_string(list).unwrap_or_else(|_| "[]".to_owned())
}

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
const SERVE: &str = "
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
        self.change(SERVE, params![job.queue, now])?;
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
    /// Back into the queue as if the job had not been claimed: the machine, or the configuration, let nothing be started.
    /// That is no attempt, so nothing of it stays, neither in the count nor in the history. `false`: somebody else has ended the attempt; touch
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
