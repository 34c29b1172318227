//! What tick keeps in order: rows that are too old, reports, history, stamps from the future.

use rusqlite::params;

use super::{Result, Tx, View, rows::Count};
use crate::model::{
    attempt::{Attempt, AttemptId},
    clock::Stamp,
    job::Job,
    status::Status,
};

/// One whose source has been started already, which never are many, goes with that source or not at all.
pub(super) const OVERDUE: &str = "
    SELECT * FROM job
     WHERE exporter = ?1 AND status = 0 AND queued_since < ?2
       AND NOT (waits = 2 AND EXISTS (SELECT 1 FROM job AS made
                                       WHERE made.filename = job.source AND made.status <= 1 AND made.attempts > 0))
     ORDER BY queued_since LIMIT ?3";

/// Of those queued before, which the index finds, the abandoned ones go at once; the rest, which is passed over each
/// time, is as few as the people who wait at a page. A source is not asked for itself while something waits for it.
pub(super) const ABANDONED: &str = "
    SELECT * FROM job
     WHERE exporter = ?1 AND status = 0 AND queued_since < ?2 AND last_asked < ?2
       AND NOT EXISTS (SELECT 1 FROM job AS derived WHERE derived.source = job.filename AND derived.status = 0)
     ORDER BY queued_since LIMIT ?3";

pub(super) const OLD_FAILURES: &str = "
    SELECT * FROM job WHERE exporter = ? AND status >= 2 AND failed < ? ORDER BY failed LIMIT ?";

pub(super) const UNREPORTED: &str = "
    SELECT * FROM job WHERE status >= 2 AND reported = 0 ORDER BY id LIMIT ?";

const DELETE: &str = "
    DELETE FROM job WHERE id = ? AND status = ? RETURNING filename, queue, client, status, waits";

const SET_REPORTED: &str = "UPDATE job SET reported = 1 WHERE id = ? AND status >= 2";

pub(super) const TRIM_ATTEMPTS: &str = "
    DELETE FROM attempt
     WHERE rowid IN (SELECT rowid FROM attempt WHERE ended < ? ORDER BY ended LIMIT ?)
    RETURNING id";

pub(super) const TRIM_OK_LOGS: &str = "
    UPDATE attempt SET log = 0
     WHERE rowid IN (SELECT rowid FROM attempt WHERE result = 'ok' AND log = 1 AND ended < ? ORDER BY ended LIMIT ?)
    RETURNING id";

const HAS_NEWS: &str = "SELECT EXISTS (SELECT 1 FROM news)";

const NEWS_COUNT: &str = "SELECT count(*) FROM news";

const NEWS: &str = "
    SELECT attempt.rowid AS row, attempt.* FROM news JOIN attempt ON attempt.id = news.attempt ORDER BY news.attempt LIMIT ?";

const FORGET_NEWS: &str = "DELETE FROM news";

const ADD_SAMPLE: &str = "
    INSERT OR REPLACE INTO sample (at, queue, queued, started)
    SELECT ?, name, queued, (SELECT count(*) FROM job WHERE status = 1 AND job.queue = name) FROM queue";

const LAST_SAMPLE: &str = "SELECT max(at) FROM sample";

const TRIM_SAMPLES: &str = "DELETE FROM sample WHERE at < ?";

impl View<'_> {
    /// When the queues were sampled last.
    pub fn last_sample(&self) -> Result<Option<Stamp>> {
        Ok(self.one(LAST_SAMPLE, [], |row| row.get(0))?.flatten())
    }

    /// Jobs of an exporter that are queued, and could have been started, since before `before`.
    pub fn overdue_queued(&self, exporter: &str, before: Stamp, limit: u32) -> Result<Vec<Job>> {
        self.jobs(OVERDUE, params![exporter, before, limit])
    }

    /// Queued jobs of an exporter that nobody has asked about since before `before`.
    pub fn abandoned(&self, exporter: &str, before: Stamp, limit: u32) -> Result<Vec<Job>> {
        self.jobs(ABANDONED, params![exporter, before, limit])
    }

    /// Jobs of an exporter that failed before `before`.
    pub fn old_failures(&self, exporter: &str, before: Stamp, limit: u32) -> Result<Vec<Job>> {
        self.jobs(OLD_FAILURES, params![exporter, before, limit])
    }

    /// Failed jobs that nobody has been told about, in the order of their ids.
    pub fn unreported(&self, limit: u32) -> Result<Vec<Job>> {
        self.jobs(UNREPORTED, params![limit])
    }

    /// Whether something was made since the news were last taken or forgotten.
    pub fn has_news(&self) -> Result<bool> {
        Ok(self.one(HAS_NEWS, [], |row| row.get(0))?.unwrap_or(false))
    }
}

impl Tx<'_> {
    /// Forgets a job that still has this status. `false`: it has not.
    pub fn delete(&self, id: i64, status: Status) -> Result<bool> {
        self.delete_counted(DELETE, params![id, status])
    }

    pub fn set_reported(&self, ids: &[i64]) -> Result<()> {
        ids.iter().try_for_each(|id| self.change(SET_REPORTED, params![id]).map(drop))
    }

    /// The first `limit` attempts that succeeded since the last call, and how many there are in all.
    pub fn take_news(&self, limit: u32) -> Result<(Vec<Attempt>, u64)> {
        let count = self.one(NEWS_COUNT, [], |row| row.get::<_, Count>(0))?.map_or(0, |count| count.0);
        let news = self.attempts(NEWS, params![limit])?;
        self.forget_news()?;
        Ok((news, count))
    }

    /// For sites where nobody wants to hear of successes.
    pub fn forget_news(&self) -> Result<()> {
        self.change(FORGET_NEWS, []).map(drop)
    }

    /// Deletes the oldest attempts that ended before `before`; their logs are the caller's to delete.
    pub fn trim_attempts(&self, before: Stamp, limit: u32) -> Result<Vec<AttemptId>> {
        self.ids(TRIM_ATTEMPTS, before, limit)
    }

    /// Successful attempts that ended before `before` and still have a log, which the caller then deletes.
    pub fn trim_ok_logs(&self, before: Stamp, limit: u32) -> Result<Vec<AttemptId>> {
        self.ids(TRIM_OK_LOGS, before, limit)
    }

    /// What is no id of an attempt has no log.
    fn ids(&self, sql: &str, before: Stamp, limit: u32) -> Result<Vec<AttemptId>> {
        let found = self.all(sql, params![before, limit], |row| Ok(row.get::<_, AttemptId>(0).ok()))?;
        Ok(found.into_iter().flatten().collect())
    }

    /// Remembers how full the queues are, for the plots.
    pub fn add_sample(&self, now: Stamp) -> Result<()> {
        self.change(ADD_SAMPLE, params![now]).map(drop)
    }

    /// Forgets samples older than `before`.
    pub fn trim_samples(&self, before: Stamp) -> Result<usize> {
        self.change(TRIM_SAMPLES, params![before])
    }
}
