//! The end of an attempt. Every statement names the attempt and `started`; when it changes no row, somebody else
//! has ended the attempt, nothing is written, and the answer is `false`: touch neither row nor cache.
//!
//! A noted run reaches through to the source: that, too, must then have been begun at the note's moment or later.
//!
//! And queued jobs that are given up: each leaves an entry in the history, in the transaction that deletes its row.

use std::time::Duration;

use rusqlite::{Params, Row, named_params, params};

use super::{
    Tx, View,
    checked::{QueueName, Tries},
    rows::{Millis, NonNegative},
};
use crate::{
    model::{
        clock::Stamp,
        job::{AttemptId, Claim, Job, Record},
        limits::Limits,
        status::{DropReason, Outcome, Status},
    },
    store::Result,
};

const FORGET: &str = "
    DELETE FROM job WHERE id = ? AND attempt = ? AND status = 1
    RETURNING filename, queue, client, status, waits";

/// As if it were new. Its client has it pending already, so it does not count itself.
const REQUEUE_NOTED: &str = "
    UPDATE job
       SET status = 0, waits = again > :now,
           rank = max(again, :now) / 600000 - priority + coalesce(
               (SELECT min(pending - 1, 1000) FROM client WHERE client.queue = job.queue AND client.client = job.client),
               0),
           submitted = :now, run_after = max(again, :now), due = max(again, :now), queued_since = max(again, :now), last_asked = :now,
           started = NULL, attempts = 0, shutdowns = 0, percent = NULL, message = NULL, result = NULL, limits = NULL,
           source_after = CASE WHEN source IS NULL THEN NULL ELSE max(coalesce(source_after, again), again) END,
           again = NULL, cancel = 0, reported = 0
     WHERE id = :id AND attempt = :attempt AND status = 1 AND again IS NOT NULL";

const RETRY: &str = "
    UPDATE job
       SET status = 0, queue = :queue, waits = max(:run_after, coalesce(again, 0)) > :now,
           run_after = max(:run_after, coalesce(again, 0)),
           due = max(submitted, :run_after, coalesce(again, 0)),
           rank = rank - due / 600000 + max(submitted, :run_after, coalesce(again, 0)) / 600000,
           queued_since = max(:now, :run_after, coalesce(again, 0)), started = NULL, percent = NULL, message = NULL,
           result = :result, limits = :limits, source_after = CASE
               WHEN source IS NULL OR again IS NULL THEN source_after ELSE max(coalesce(source_after, again), again)
           END,
           again = NULL,
           shutdowns = CASE :result WHEN 'shutdown' THEN shutdowns ELSE 0 END
     WHERE id = :id AND attempt = :attempt AND status = 1";

const FAIL: &str = "
    UPDATE job
       SET status = :status, failed = :now, result = :result, message = :message, percent = NULL, cancel = 0,
           reported = 0
     WHERE id = :id AND attempt = :attempt AND status = 1";

const RETURN: &str = "
    UPDATE job
       SET status = 0, waits = coalesce(again, 0) > ?3, run_after = max(run_after, coalesce(again, 0)),
           due = max(due, coalesce(again, 0)), rank = rank - due / 600000 + max(due, coalesce(again, 0)) / 600000,
           queued_since = max(?3, coalesce(again, 0)), started = NULL, percent = NULL, message = NULL, result = ?4,
           source_after = CASE
               WHEN source IS NULL OR again IS NULL THEN source_after ELSE max(coalesce(source_after, again), again)
           END,
           again = NULL, attempts = attempts - (shutdowns < 3), shutdowns = shutdowns + 1
     WHERE id = ?1 AND attempt = ?2 AND status = 1";

const RETURNS: &str = "SELECT shutdowns < 3 FROM job WHERE id = ? AND attempt = ? AND status = 1";

const CLOSE: &str = "
    UPDATE attempt
       SET ended = :ended, result = :result, duration = :duration, exit_code = :exit_code, signal = :signal,
           peak_memory = :peak_memory, cpu_used = :cpu_used, output_size = :output_size, log_tail = :log_tail,
           message = :message, detail = :detail,
           restarted = :restarted
     WHERE id = :id AND ended IS NULL
    RETURNING exporter, number, started - submitted AS waited";

/// Of those that end without their run, no started job may name the attempt.
macro_rules! unclaimed {
    () => {
        "ended IS NULL AND NOT EXISTS (SELECT 1 FROM job
                                        WHERE job.id = attempt.job AND job.status = 1 AND job.attempt = attempt.id)"
    };
}

pub(super) const UNCLAIMED: &str =
    concat!("SELECT id FROM attempt WHERE id > ? AND ", unclaimed!(), " ORDER BY id LIMIT ?");

/// Whatever the row says of its start, the duration is a number.
const CLOSE_UNCLAIMED: &str = concat!(
    "UPDATE attempt SET ended = ?2, result = 'lost', duration = max(0, ?2 - max(0, started)), detail = ?3, restarted = 1
      WHERE id = ?1 AND ",
    unclaimed!()
);

const REMOVE_UNCLAIMED: &str = concat!("DELETE FROM attempt WHERE id = ?1 AND ", unclaimed!());

const ADD_NEWS: &str = "INSERT OR IGNORE INTO news (attempt) VALUES (?)";

/// How the next attempt at a job differs.
#[derive(Clone, Debug)]
pub struct Retry<'a> {
    /// Not before this moment.
    pub run_after: Stamp,
    /// Limits in place of the configured ones.
    pub limits: Option<&'a Limits>,
    /// The queue that it goes to; for a job that leaves the express lane another one than `claim.queue`.
    pub queue: &'a str,
}

impl Tx<'_> {
    /// The file is published: the job is forgotten, or queued again if one more run was noted.
    pub fn finish_ok(&self, claim: &Claim, record: &Record) -> Result<bool> {
        let done = self.requeue_noted(claim, record.ended)? || self.forget(claim)?;
        self.close(done, claim, record)
    }

    /// It failed and is tried again. Its rank counts from the moment of that; a noted run is satisfied by the next attempt, which
    /// is not started before that note's moment.
    pub fn finish_retry(&self, claim: &Claim, record: &Record, retry: &Retry<'_>) -> Result<bool> {
        let done = self.end_cancelled(claim, record.ended)?
            || self.counted(
                claim,
                RETRY,
                named_params! {
                    ":id": claim.job, ":attempt": claim.attempt, ":now": record.ended, ":result": record.outcome,
                    ":run_after": retry.run_after, ":limits": retry.limits, ":queue": retry.queue,
                },
            )?;
        self.close(done, claim, record)
    }

    /// It failed for good, or is queued again if one more run was noted.
    pub fn finish_failed(&self, claim: &Claim, record: &Record, now: Stamp) -> Result<bool> {
        let done = self.end_cancelled(claim, now)?
            || self.requeue_noted(claim, now)?
            || self.counted(
                claim,
                FAIL,
                named_params! {
                    ":id": claim.job, ":attempt": claim.attempt, ":now": now, ":status": record.outcome.failed_status(),
                    ":result": record.outcome, ":message": record.message,
                },
            )?;
        self.close(done, claim, record)
    }

    /// A shutdown cut it short: back into the queue. The attempt is not counted, unless it is the fourth shutdown in a row.
    pub fn finish_returned(&self, claim: &Claim, record: &Record) -> Result<bool> {
        let done = self.end_cancelled(claim, record.ended)?
            || self.counted(claim, RETURN, params![claim.job, claim.attempt, record.ended, record.outcome])?;
        self.close(done, claim, record)
    }

    /// The admin wanted it to end: the job is forgotten, unless somebody has asked for one more run since.
    pub fn finish_cancelled(&self, claim: &Claim, record: &Record) -> Result<bool> {
        let done = self.requeue_noted(claim, record.ended)? || self.forget(claim)?;
        self.close(done, claim, record)
    }

    /// Closes an attempt that no started job names, as lost without any fault of its exporter's. `false`: there is no
    /// such attempt.
    pub(super) fn close_unclaimed(&self, attempt: &AttemptId, detail: &str, now: Stamp) -> Result<bool> {
        let closed = self.change(CLOSE_UNCLAIMED, params![attempt, now, detail])? == 1;
        if closed {
            self.weigh(attempt)?;
        }
        Ok(closed)
    }

    /// The same of a row whose id is not that of an attempt: it is not ours.
    pub(super) fn remove_unclaimed(&self, id: &str) -> Result<()> {
        self.change(REMOVE_UNCLAIMED, params![id]).map(drop)
    }

    fn forget(&self, claim: &Claim) -> Result<bool> {
        self.delete_counted(FORGET, params![claim.job, claim.attempt])
    }

    /// The admin's wish came while the attempt ended by itself: that it is tried again is not wanted any more.
    pub(super) fn end_cancelled(&self, claim: &Claim, now: Stamp) -> Result<bool> {
        let is_cancelled = self.cancel_requested(claim)? == Some(true);
        Ok(is_cancelled && (self.requeue_noted(claim, now)? || self.forget(claim)?))
    }

    fn requeue_noted(&self, claim: &Claim, now: Stamp) -> Result<bool> {
        let whose = named_params! { ":id": claim.job, ":attempt": claim.attempt, ":now": now };
        self.counted(claim, REQUEUE_NOTED, whose)
    }

    /// Ends the attempt by a statement that leaves its job's row.
    fn counted(&self, claim: &Claim, sql: &str, params: impl Params) -> Result<bool> {
        self.counting(claim.job, || Ok(self.change(sql, params)? == 1))
    }

    /// Writes the end into the history, if it was ours to write.
    fn close(&self, done: bool, claim: &Claim, record: &Record) -> Result<bool> {
        if done {
            let closed = self.one(
                CLOSE,
                named_params! {
                    ":id": claim.attempt, ":ended": record.ended, ":result": record.outcome,
                    ":duration": Millis(record.duration), ":exit_code": record.exit_code, ":signal": record.signal,
                    ":peak_memory": record.peak_memory.map(NonNegative), ":cpu_used": record.cpu_used.map(Millis),
                    ":output_size": record.output_size.map(NonNegative), ":log_tail": record.log_tail,
                    ":message": record.message, ":detail": record.detail, ":restarted": record.restarted,
                },
                // What of it cannot be read is not counted: the row is not ours.
                |row| Ok(row.get::<_, QueueName>(0).ok().zip(row.get::<_, Tries>(1).ok()).zip(row.get(2).ok())),
            )?;
            if let Some(((QueueName(exporter), Tries(number)), waited)) = closed.flatten() {
                self.weigh(&claim.attempt)?;
                self.tally(&exporter, number, waited, record)?;
            }
        }
        if done && record.outcome == Outcome::Ok {
            self.change(ADD_NEWS, params![claim.attempt])?;
        }
        Ok(done)
    }
}

impl View<'_> {
    /// Ids of attempts that have not ended and that no started job names, after this one, in order. Not every one is the
    /// id of an attempt.
    pub fn unclaimed(&self, after: &str, limit: u32) -> Result<Vec<String>> {
        self.all(UNCLAIMED, params![after, limit], |row| row.get(0))
    }

    /// Whether one more shutdown of this attempt would not be counted. `None`: it was taken from us.
    pub fn may_return(&self, claim: &Claim) -> Result<Option<bool>> {
        self.one(RETURNS, params![claim.job, claim.attempt], |row| row.get(0))
    }
}

const ENTRY: &str = "
    INSERT INTO attempt (id, job, filename, exporter, params, queue, client, number, submitted, started, counts_from,
                         limits, ended, result, duration, message, detail, drop_reason, log)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 0, ?8, ?9, ?9, ?10, ?9, ?11, 0, ?12, ?13, ?14, 0)";

const ADD_TALLY: &str = "
    INSERT INTO tally (exporter, measure, result, bound, count, total) VALUES (?1, 'dropped', ?2, 0, 1, ?3)
        ON CONFLICT DO UPDATE SET count = count + 1, total = min(total, 1 << 60) + excluded.total";

const DROPS: &str = "SELECT exporter, result, count FROM tally WHERE measure = 'dropped'";

pub(super) const DROPPED_SINCE: &str = "
    SELECT drop_reason, count(*) FROM attempt WHERE result = 'dropped' AND ended >= ? GROUP BY drop_reason";

/// Why a job was dropped, in a word and in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drop<'a> {
    pub reason: DropReason,
    /// For the visitor, without paths or settings.
    pub message: &'a str,
    /// For the admin.
    pub detail: &'a str,
}

impl Tx<'_> {
    /// Forgets a queued job and writes into the history, under an id of its own, that it was dropped. `false`: it is
    /// not queued (any more).
    pub fn drop_queued(&self, job: &Job, entry: &AttemptId, why: &Drop<'_>, now: Stamp) -> Result<bool> {
        if !self.delete(job.id, Status::Queued)? {
            return Ok(false);
        }
        let (outcome, limits) = (Outcome::Dropped, Limits::default());
        self.change(
            ENTRY,
            params![
                entry,
                job.id,
                job.filename,
                job.exporter,
                job.params,
                job.queue,
                job.client,
                job.submitted,
                now,
                limits,
                outcome,
                why.message,
                why.detail,
                why.reason
            ],
        )?;
        self.weigh(entry)?;
        let waited: Duration = now.since(job.submitted);
        self.change(ADD_TALLY, params![job.exporter, why.reason, Millis(waited).whole()])?;
        Ok(true)
    }
}

impl View<'_> {
    /// How many jobs were dropped since then, by reason.
    pub fn dropped_since(&self, since: Stamp) -> Result<Vec<(DropReason, u64)>> {
        let read = |row: &Row<'_>| Ok(row.get(0).ok().zip(row.get::<_, NonNegative>(1).ok().map(|count| count.0)));
        Ok(self.all(DROPPED_SINCE, params![since], read)?.into_iter().flatten().collect())
    }

    /// How many jobs of each exporter were dropped for which reason, since the beginning.
    pub fn drops(&self) -> Result<Vec<(String, DropReason, u64)>> {
        let read = |row: &Row<'_>| {
            let name = row.get::<_, super::checked::QueueName>(0).ok();
            Ok(name.zip(row.get(1).ok()).zip(row.get::<_, NonNegative>(2).ok()))
        };
        let found = self.with_room(|| self.all(DROPS, [], read))?;
        Ok(found.into_iter().flatten().map(|((name, reason), count)| (name.0, reason, count.0)).collect())
    }
}
