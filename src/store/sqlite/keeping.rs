//! What tick keeps in order: rows that are too old or too many, reports, samples, and the size of the history.
//!
//! That size is that of `log/` and of the rows together. It is kept by the statements that end and forget attempts, so
//! that no round has to add up millions of rows.

use rusqlite::params;

use super::{
    Tx, View, counting,
    rows::{NonNegative, json},
    standstill::Place,
};
use crate::{
    model::{clock::Stamp, job::Job, status::Status},
    store::Result,
};

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

    pub(super) fn set_reported(&self, ids: &[i64]) -> Result<()> {
        ids.iter().try_for_each(|id| self.change(SET_REPORTED, params![id]).map(drop))
    }

    /// For sites where nobody wants to hear of successes.
    pub(super) fn forget_news(&self) -> Result<()> {
        self.change(FORGET_NEWS, []).map(drop)
    }

    /// Counts the first `limit` failures that nobody has been told about, and takes them for told. The result: how many
    /// they were, and how many of them are worth telling; those that ended with `permanent` are not.
    pub(super) fn pass_over_unreported(&self, permanent: i32, limit: u32) -> Result<(usize, u64)> {
        let worth = self.one(WORTH_TELLING, params![limit, permanent], |row| row.get::<_, NonNegative>(0))?;
        Ok((self.change(SET_ALL_REPORTED, params![limit])?, worth.map_or(0, |worth| worth.0)))
    }

    /// Forgets at most `limit` arrivals from before `before`, and as many that lie more than a minute ahead of `now`;
    /// says how many.
    pub(super) fn trim_arrivals(&self, before: Stamp, now: Stamp, limit: u32) -> Result<usize> {
        let ahead = self.change(TRIM_ARRIVALS_AHEAD, params![now.plus(counting::AHEAD), limit])?;
        Ok(ahead + self.change(TRIM_ARRIVALS, params![before, limit])?)
    }

    /// Remembers how full the queues are, for the plots.
    pub(super) fn add_sample(&self, now: Stamp) -> Result<()> {
        self.change(ADD_SAMPLE, params![now]).map(drop)
    }

    /// Forgets at most `limit` samples older than `before`; says how many.
    pub(super) fn trim_samples(&self, before: Stamp, limit: u32) -> Result<usize> {
        self.change(TRIM_SAMPLES, params![before, limit])
    }
}

/// What a row takes with its place in the indexes: an estimate, the same wherever it is counted.
macro_rules! row_size {
    () => {
        "512 + 2 * length(filename) + length(params) + coalesce(length(log_tail), 0)
             + coalesce(length(message), 0) + coalesce(length(detail), 0)"
    };
}
pub(super) use row_size;

pub(super) const OK_LOGS: &str = "
    SELECT id, log_size, 0 FROM attempt WHERE result = 'ok' AND log = 1 AND ended < ? ORDER BY ended LIMIT ?";

pub(super) const OK_ROWS: &str = "
    SELECT id, log_size, row_size FROM attempt WHERE result = 'ok' AND log = 0 AND ended < ? ORDER BY ended LIMIT ?";

pub(super) const ROWS: &str = "
    SELECT id, log_size, row_size FROM attempt WHERE ended < ? ORDER BY ended LIMIT ?";

const SET_LOG_SIZE: &str = "UPDATE attempt SET log_size = ? WHERE id = ? AND ended IS NULL";

const WEIGH: &str =
    concat!("UPDATE attempt SET row_size = ", row_size!(), " WHERE id = ? RETURNING log_size, row_size");

const FORGET_LOG: &str = "UPDATE attempt SET log = 0, log_size = 0 WHERE id = ? AND log = 1 AND ended IS NOT NULL";

const FORGET: &str = "DELETE FROM attempt WHERE id = ? AND ended IS NOT NULL";

const SIZE: &str = "SELECT history_size FROM meta";

/// Whatever was stored there, the sum is a number.
const ADD: &str = "UPDATE meta SET history_size = max(0, min(history_size, 1 << 61) + ?)";

/// More than one attempt can take. What a row says is not ours to believe.
const MOST: i64 = 1 << 40;

/// A part of the history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Logs of successes.
    OkLogs,
    /// Rows of successes whose logs have gone.
    OkRows,
    /// Rows, and the logs that they still have.
    Rows,
}

/// An attempt that is to be given up, wholly or its log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Oldest {
    /// Whatever the row says: only what is the id of an attempt has a log.
    pub id: String,
    /// Bytes that this frees.
    pub size: u64,
}

impl View<'_> {
    /// Bytes of the history: logs and rows.
    pub fn history_size(&self) -> Result<u64> {
        Ok(self.one(SIZE, [], |row| row.get::<_, NonNegative>(0))?.map_or(0, |size| size.0))
    }

    /// The oldest attempts of this part that ended before `before`.
    pub fn oldest(&self, part: Part, before: Stamp, limit: u32) -> Result<Vec<Oldest>> {
        let sql = match part {
            Part::OkLogs => OK_LOGS,
            Part::OkRows => OK_ROWS,
            Part::Rows => ROWS,
        };
        self.all(sql, params![before, limit], |row| {
            let size = bounded(row.get(1).unwrap_or(0)) + bounded(row.get(2).unwrap_or(0));
            Ok(Oldest { id: row.get(0)?, size: u64::try_from(size).unwrap_or(0) })
        })
    }
}

impl Tx<'_> {
    /// Notes what the log of an attempt that is about to be ended takes on the disk.
    pub fn set_log_size(&self, attempt: &str, bytes: u64) -> Result<()> {
        let bytes = bounded(i64::try_from(bytes).unwrap_or(MOST));
        self.change(SET_LOG_SIZE, params![bytes, attempt]).map(drop)
    }

    /// Counts an attempt that has just ended.
    pub(super) fn weigh(&self, attempt: &str) -> Result<()> {
        let size = self.one(WEIGH, params![attempt], |row| Ok(bounded(row.get(0)?) + bounded(row.get(1)?)))?;
        size.map_or(Ok(()), |size| self.change(ADD, params![size]).map(drop))
    }

    /// Forgets attempts that have ended, or only that their logs are kept. The logs are the caller's to remove first:
    /// one that outlives its row would stay for ever.
    pub(super) fn give_up(&self, part: Part, attempt: &Oldest) -> Result<()> {
        let sql = if part == Part::OkLogs { FORGET_LOG } else { FORGET };
        if self.change(sql, params![attempt.id])? == 1 {
            self.change(ADD, params![-i64::try_from(attempt.size).unwrap_or(MOST)])?;
        }
        Ok(())
    }
}

fn bounded(size: i64) -> i64 {
    size.clamp(0, MOST)
}
