//! What tick keeps in order: rows that are too old or too many, reports, samples.

use rusqlite::params;

use super::{Result, Tx, View, choosing::json, counting, rows::NonNegative, standstill::Place};
use crate::model::{clock::Stamp, job::Job, status::Status};

/// One whose source has been started already, which never are many, goes with that source or not at all. The files that
/// are left out come as JSON.
pub(super) const OVERDUE: &str = "
    SELECT * FROM job
     WHERE exporter = ?1 AND queue = ?2 AND status = 0 AND queued_since < ?3
       AND filename NOT IN (SELECT value FROM json_each(?4))
       AND NOT (waits = 2 AND EXISTS (SELECT 1 FROM job AS made
                                       WHERE made.filename = job.source AND made.status <= 1 AND made.attempts > 0))
     ORDER BY queued_since LIMIT ?5";

/// Of those queued before, which the index finds, the abandoned ones go at once; the rest, which is passed over each
/// time, is as few as the people who wait at a page. A source is not asked for itself while something waits for it.
pub(super) const ABANDONED: &str = "
    SELECT * FROM job
     WHERE exporter = ?1 AND queue = ?2 AND status = 0 AND queued_since < ?3 AND last_asked < ?3
       AND NOT EXISTS (SELECT 1 FROM job AS derived WHERE derived.source = job.filename AND derived.status = 0)
     ORDER BY queued_since LIMIT ?4";

pub(super) const OLD_FAILURES: &str = "
    SELECT * FROM job WHERE exporter = ? AND status >= 2 AND failed < ? ORDER BY failed LIMIT ?";

pub(super) const UNREPORTED: &str = "
    SELECT * FROM job WHERE status >= 2 AND reported = 0 ORDER BY id LIMIT ?";

const DELETE: &str = "
    DELETE FROM job WHERE id = ? AND status = ? RETURNING filename, queue, client, status, waits";

const SET_REPORTED: &str = "UPDATE job SET reported = 1 WHERE id = ? AND status >= 2";

/// At most so many are counted: as many as one round can forget.
const FAILURES: &str = "SELECT count(*) FROM (SELECT 1 FROM job WHERE status >= 2 LIMIT ?)";

pub(super) const FORGETTABLE: &str = "
    SELECT * FROM job WHERE status >= 2 AND reported = 1 ORDER BY failed LIMIT ?";

pub(super) const TRIM_ARRIVALS: &str = "
    DELETE FROM arrival
     WHERE (queue, client, at) IN (SELECT queue, client, at FROM arrival WHERE at < ? LIMIT ?)";

/// Of a clock that was ahead.
pub(super) const TRIM_ARRIVALS_AHEAD: &str = "
    DELETE FROM arrival
     WHERE (queue, client, at) IN (SELECT queue, client, at FROM arrival WHERE at > ? LIMIT ?)";

/// Bad input is the visitor's matter, and what was cancelled the admin's own. What has failed without having been
/// started has failed with its source.
const WORTH_TELLING: &str = "
    SELECT count(*) FROM job
      LEFT JOIN job AS made ON made.filename = job.source AND job.started IS NULL
      LEFT JOIN attempt ON attempt.id = coalesce(made.attempt, job.attempt)
     WHERE job.id IN (SELECT id FROM job WHERE status >= 2 AND reported = 0 ORDER BY id LIMIT ?1)
       AND job.result <> 'cancelled' AND (attempt.exit_code IS NULL OR attempt.exit_code <> ?2)";

pub(super) const SET_ALL_REPORTED: &str = "
    UPDATE job SET reported = 1
     WHERE id IN (SELECT id FROM job WHERE status >= 2 AND reported = 0 ORDER BY id LIMIT ?)";

const HAS_NEWS: &str = "SELECT EXISTS (SELECT 1 FROM news)";

const FORGET_NEWS: &str = "DELETE FROM news";

const ADD_SAMPLE: &str = "
    INSERT OR REPLACE INTO sample (at, queue, queued, started)
    SELECT ?, name, queued, (SELECT count(*) FROM job WHERE status = 1 AND job.queue = name) FROM queue";

const LAST_SAMPLE: &str = "SELECT max(at) FROM sample";

pub(super) const TRIM_SAMPLES: &str = "
    DELETE FROM sample WHERE (at, queue) IN (SELECT at, queue FROM sample WHERE at < ? LIMIT ?)";

impl View<'_> {
    /// When the queues were sampled last.
    pub fn last_sample(&self) -> Result<Option<Stamp>> {
        Ok(self.one(LAST_SAMPLE, [], |row| row.get(0))?.flatten())
    }

    /// Jobs of an exporter in one queue that are queued, and could have been started, since before `before`; those for
    /// the files in `but` are left out.
    pub fn overdue_queued(&self, of: &Place, before: Stamp, but: &[String], limit: u32) -> Result<Vec<Job>> {
        self.jobs(OVERDUE, params![of.exporter, of.queue, before, json(but), limit])
    }

    /// Queued jobs of an exporter in one queue that nobody has asked about since before `before`.
    pub fn abandoned(&self, of: &Place, before: Stamp, limit: u32) -> Result<Vec<Job>> {
        self.jobs(ABANDONED, params![of.exporter, of.queue, before, limit])
    }

    /// Jobs of an exporter that failed before `before`.
    pub fn old_failures(&self, exporter: &str, before: Stamp, limit: u32) -> Result<Vec<Job>> {
        self.jobs(OLD_FAILURES, params![exporter, before, limit])
    }

    /// Failed jobs beyond the `most` that are kept, the oldest first; none that nobody has been told about.
    pub fn failures_beyond(&self, most: u32, limit: u32) -> Result<Vec<Job>> {
        let count = self.one(FAILURES, params![most.saturating_add(limit)], |row| row.get::<_, u32>(0))?.unwrap_or(0);
        match count.saturating_sub(most) {
            0 => Ok(Vec::new()),
            excess => self.jobs(FORGETTABLE, params![excess]),
        }
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
    /// Forgets a job that still has this status, but not that it has failed before a round has reported it. `false`: it
    /// has not. A queued one is dropped by [`Tx::drop_queued`].
    pub fn delete(&self, id: i64, status: Status) -> Result<bool> {
        if status.is_failed() {
            self.keep_failure(id)?;
        }
        self.delete_counted(DELETE, params![id, status])
    }

    pub fn set_reported(&self, ids: &[i64]) -> Result<()> {
        ids.iter().try_for_each(|id| self.change(SET_REPORTED, params![id]).map(drop))
    }

    /// For sites where nobody wants to hear of successes.
    pub fn forget_news(&self) -> Result<()> {
        self.change(FORGET_NEWS, []).map(drop)
    }

    /// Counts the first `limit` failures that nobody has been told about, and takes them for told. The result: how many
    /// they were, and how many of them are worth telling; those that ended with `permanent` are not.
    pub fn pass_over_unreported(&self, permanent: i32, limit: u32) -> Result<(usize, u64)> {
        let worth = self.one(WORTH_TELLING, params![limit, permanent], |row| row.get::<_, NonNegative>(0))?;
        Ok((self.change(SET_ALL_REPORTED, params![limit])?, worth.map_or(0, |worth| worth.0)))
    }

    /// Forgets at most `limit` arrivals from before `before`, and as many that lie more than a minute ahead of `now`;
    /// says how many.
    pub fn trim_arrivals(&self, before: Stamp, now: Stamp, limit: u32) -> Result<usize> {
        let ahead = self.change(TRIM_ARRIVALS_AHEAD, params![now.plus(counting::AHEAD), limit])?;
        Ok(ahead + self.change(TRIM_ARRIVALS, params![before, limit])?)
    }

    /// Remembers how full the queues are, for the plots.
    pub fn add_sample(&self, now: Stamp) -> Result<()> {
        self.change(ADD_SAMPLE, params![now]).map(drop)
    }

    /// Forgets at most `limit` samples older than `before`; says how many.
    pub fn trim_samples(&self, before: Stamp, limit: u32) -> Result<usize> {
        self.change(TRIM_SAMPLES, params![before, limit])
    }
}
