//! How full the queues were and how attempts went of late: what the plots of the status page are drawn from.

use std::time::Duration;

use rusqlite::{Row, params};

use super::{
    Result, View,
    rows::{Millis, NonNegative},
};
use crate::model::{clock::Stamp, status::Outcome};

pub(super) const SAMPLES: &str = "
    SELECT at, CAST(total(queued) AS INTEGER), CAST(total(started) AS INTEGER) FROM sample WHERE at >= ? GROUP BY at ORDER BY at";

/// Only a first attempt tells how long its job waited for a seat.
pub(super) const ENDED: &str = "
    SELECT ended, result, duration, CASE number WHEN 1 THEN max(started - submitted, 0) END FROM attempt
     WHERE ended >= ? AND result <> 'dropped' ORDER BY ended DESC LIMIT ?";

/// All queues together at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    pub at: Stamp,
    pub queued: u64,
    pub started: u64,
}

/// How one attempt went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PastRun {
    pub at: Stamp,
    pub outcome: Outcome,
    pub ran: Duration,
    /// From its job's submission to its start; `None`: it was not the first of its job.
    pub waited: Option<Duration>,
}

impl View<'_> {
    /// The samples since then, the oldest first.
    pub fn samples_since(&self, since: Stamp) -> Result<Vec<Sample>> {
        let read = |row: &Row<'_>| Ok(sample(row).ok());
        Ok(self.all(SAMPLES, params![since], read)?.into_iter().flatten().collect())
    }

    /// The attempts that have ended since then, the newest first; at most `limit`.
    pub fn ended_since(&self, since: Stamp, limit: u32) -> Result<Vec<PastRun>> {
        let read = |row: &Row<'_>| Ok(ended(row).ok());
        Ok(self.all(ENDED, params![since, limit], read)?.into_iter().flatten().collect())
    }
}

fn sample(row: &Row<'_>) -> rusqlite::Result<Sample> {
    Ok(Sample { at: row.get(0)?, queued: row.get::<_, NonNegative>(1)?.0, started: row.get::<_, NonNegative>(2)?.0 })
}

fn ended(row: &Row<'_>) -> rusqlite::Result<PastRun> {
    let waited = row.get::<_, Option<Millis>>(3)?.map(|waited| waited.0);
    Ok(PastRun { at: row.get(0)?, outcome: row.get(1)?, ran: row.get::<_, Millis>(2)?.0, waited })
}
