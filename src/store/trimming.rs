//! How large the history is, and giving up the oldest of it.
//!
//! The size is that of `log/` and of the rows together. It is kept by the statements that end and forget attempts, so
//! that no round has to add up millions of rows.

use rusqlite::params;

use super::{Result, Tx, View, rows::NonNegative};
use crate::model::clock::Stamp;

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
    pub fn give_up(&self, part: Part, attempt: &Oldest) -> Result<()> {
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
