//! Reading counts: kept ones where rows may be many, counted from the rows where they are few.

use std::time::Duration;

use rusqlite::{Row, params};

use super::{
    View,
    checked::QueueName,
    rows::{self, NonNegative},
    standstill::Place,
};
use crate::{
    model::{
        clock::Stamp,
        job::Job,
        status::{Outcome, Status},
    },
    store::Result,
};

/// Two processes' looks at the clock differ by less.
pub(super) const AHEAD: Duration = Duration::from_mins(1);

pub(super) const CLIENT_PENDING: &str = "SELECT pending FROM client WHERE queue = ? AND client = ?";

pub(super) const ARRIVALS: &str = "
    SELECT at, count FROM arrival WHERE queue = ? AND client = ? AND at > ? AND at <= ? ORDER BY at";

pub(super) const RUNNING_BY_QUEUE: &str = "SELECT queue, count(*) FROM job WHERE status = 1 GROUP BY queue";

pub(super) const RUNNING_BY_EXPORTER: &str = "SELECT exporter, count(*) FROM job WHERE status = 1 GROUP BY exporter";

pub(super) const FAILED_BY_QUEUE: &str = "
    SELECT queue, status, count(*) FROM job WHERE status >= 2 GROUP BY queue, status";

/// As few as failures are kept.
pub(super) const FAILED_SINCE: &str = "
    SELECT result, count(*), sum(attempts) FROM job INDEXED BY job_failed_in
     WHERE status >= 2 AND failed >= ? GROUP BY result ORDER BY result";

/// From one name to the next through the indexes, without reading the rows between.
pub(super) const EXPORTERS: &str = "
    WITH RECURSIVE
    queued (name) AS (
        SELECT min(exporter) FROM job WHERE status = 0
        UNION ALL
        SELECT (SELECT min(exporter) FROM job WHERE status = 0 AND exporter > name) FROM queued WHERE name IS NOT NULL),
    failed (name) AS (
        SELECT min(exporter) FROM job WHERE status >= 2
        UNION ALL
        SELECT (SELECT min(exporter) FROM job WHERE status >= 2 AND exporter > name) FROM failed WHERE name IS NOT NULL)
    SELECT name FROM queued WHERE name IS NOT NULL UNION SELECT name FROM failed WHERE name IS NOT NULL";

pub(super) const QUEUED_EXPORTERS: &str = "
    WITH RECURSIVE
    queued (name) AS (
        SELECT min(exporter) FROM job WHERE status = 0
        UNION ALL
        SELECT (SELECT min(exporter) FROM job WHERE status = 0 AND exporter > name) FROM queued WHERE name IS NOT NULL)
    SELECT name FROM queued WHERE name IS NOT NULL LIMIT ?";

pub(super) const QUEUED_OF: &str = "
    SELECT count(*) FROM (SELECT 1 FROM job WHERE exporter = ? AND status = 0 LIMIT ?)";

pub(super) const OLDEST_QUEUED_JOB: &str = "
    SELECT * FROM job WHERE exporter = ? AND queue = ? AND status = 0 ORDER BY queued_since LIMIT 1";

impl View<'_> {
    /// How many queued and started jobs of this queue the client has asked for.
    pub fn client_pending(&self, queue: &str, client: &str) -> Result<u64> {
        Ok(self
            .one(CLIENT_PENDING, params![queue, client], |row| Ok(row.get::<_, NonNegative>(0).ok()))?
            .flatten()
            .map_or(0, |pending| pending.0))
    }

    /// When this client queued new work in this queue after `after`, the earliest first, and how many jobs each time.
    /// What lies more than a minute ahead was written under a wrong clock and is left out.
    pub fn arrivals(&self, queue: &str, client: &str, after: Stamp, now: Stamp) -> Result<Vec<(Stamp, u64)>> {
        let latest = now.plus(AHEAD);
        let read = |row: &Row<'_>| Ok((row.get(0)?, row.get::<_, NonNegative>(1)?.0));
        self.all(ARRIVALS, params![queue, client, after, latest], read)
    }

    /// Started jobs by queue. Counted from the rows, so that no slot can leak.
    pub fn running_by_queue(&self) -> Result<Vec<(String, u32)>> {
        self.counted_by_name(RUNNING_BY_QUEUE)
    }

    /// Started jobs by exporter.
    pub fn running_by_exporter(&self) -> Result<Vec<(String, u32)>> {
        self.counted_by_name(RUNNING_BY_EXPORTER)
    }

    /// Failed jobs by queue and status.
    pub fn failed_by_queue(&self) -> Result<Vec<(String, Status, u64)>> {
        let read = |row: &Row<'_>| {
            Ok(row.get::<_, QueueName>(0).ok().zip(row.get(1).ok()).zip(row.get::<_, NonNegative>(2).ok()))
        };
        let counts = self.with_room(|| self.all(FAILED_BY_QUEUE, [], read))?;
        Ok(counts.into_iter().flatten().map(|((queue, status), count)| (queue.0, status, count.0)).collect())
    }

    /// The jobs that have failed for good since then and still stand so, by result, and how many attempts they had.
    pub fn failed_since(&self, since: Stamp) -> Result<Vec<(Outcome, u64, u64)>> {
        let read = |row: &Row<'_>| {
            let counts = row.get::<_, NonNegative>(1).ok().zip(row.get::<_, NonNegative>(2).ok());
            Ok(row.get(0).ok().zip(counts).map(|(outcome, (jobs, attempts))| (outcome, jobs.0, attempts.0)))
        };
        Ok(self.with_room(|| self.all(FAILED_SINCE, params![since], read))?.into_iter().flatten().collect())
    }

    /// What has no name of ours is counted too, under a name that no queue or exporter has: it takes a seat.
    fn counted_by_name(&self, sql: &str) -> Result<Vec<(String, u32)>> {
        let read =
            |row: &Row<'_>| Ok((row.get(0).map_or_else(|_| String::new(), |name: QueueName| name.0), row.get(1)?));
        self.with_room(|| self.all(sql, [], read))
    }

    /// Every exporter that has a queued or failed job, configured or not.
    pub fn exporters(&self) -> Result<Vec<String>> {
        let names = self.with_room(|| self.all(EXPORTERS, [], |row| Ok(row.get::<_, QueueName>(0).ok())))?;
        Ok(names.into_iter().flatten().map(|name| name.0).collect())
    }

    /// The exporters that have a queued job, configured or not; at most `limit`.
    pub fn queued_exporters(&self, limit: u32) -> Result<Vec<String>> {
        let read = |row: &Row<'_>| Ok(row.get::<_, QueueName>(0).ok());
        let names = self.with_room(|| self.all(QUEUED_EXPORTERS, params![limit], read))?;
        Ok(names.into_iter().flatten().map(|name| name.0).collect())
    }

    /// How many queued jobs an exporter has, counted to `most`.
    pub fn queued_of(&self, exporter: &str, most: u32) -> Result<u32> {
        Ok(self.one(QUEUED_OF, params![exporter, most], |row| row.get(0))?.unwrap_or(0))
    }

    /// The job of this exporter and queue that is queued, and could have been started, for the longest time; and since
    /// when.
    pub fn oldest_queued_job(&self, of: &Place) -> Result<Option<(Job, Stamp)>> {
        let read = |row: &Row<'_>| Ok(rows::job(row).ok().zip(row.get("queued_since").ok()));
        Ok(self.one(OLDEST_QUEUED_JOB, params![of.exporter, of.queue], read)?.flatten())
    }
}
