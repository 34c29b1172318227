//! Queued jobs that are given up: each leaves an entry in the history, in the transaction that deletes its row.

use std::time::Duration;

use rusqlite::{Row, params};

use super::{
    Result, Tx, View,
    rows::{Millis, NonNegative},
};
use crate::model::{
    attempt::AttemptId,
    clock::Stamp,
    job::Job,
    limits::Limits,
    status::{DropReason, Outcome, Status},
};

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
        let (outcome, limits) = (Outcome::Dropped, Limits::none());
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
