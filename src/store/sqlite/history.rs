//! What past attempts tell: how long a file takes, the plots of the status page, the ever growing numbers of the
//! monitoring, and whether a breaker is open (computed from the attempts since an administrator closed it).

use std::time::Duration;

use rusqlite::{Row, params};

use super::{
    Store, Tx, View,
    checked::{Filename, QueueName, RowKind, Unreadable},
    rows::{Millis, NonNegative},
};
use crate::{
    model::{breaker::FirstAttempt, clock::Stamp, job::Attempt, status::Outcome},
    store::{Result, StoreError},
};

pub(super) const ATTEMPT: &str = "SELECT rowid AS row, * FROM attempt WHERE id = ?";

/// In the order of writing, which no clock can upset.
pub(super) const LATEST_OK: &str = "
    SELECT rowid AS row, * FROM attempt WHERE filename = ? AND result = 'ok' ORDER BY rowid DESC LIMIT 1";

pub(super) const ATTEMPTS_OF: &str =
    "SELECT rowid AS row, * FROM attempt WHERE filename = ? ORDER BY rowid DESC LIMIT ?";

pub(super) const ATTEMPTS_OF_JOB: &str =
    "SELECT rowid AS row, * FROM attempt WHERE job = ? ORDER BY rowid DESC LIMIT ?";

/// Since the last success of any attempt; enough to find a few different files among repeated ones.
pub(super) const FIRST_ATTEMPTS: &str = "
    SELECT filename, result, exit_code, ended, restarted FROM attempt
     WHERE exporter = ?1 AND number = 1 AND ended IS NOT NULL
       AND ended > coalesce((SELECT ended FROM attempt WHERE exporter = ?1 AND result = 'ok' AND ended IS NOT NULL
                              ORDER BY ended DESC LIMIT 1), -1 << 60)
     ORDER BY ended DESC LIMIT 1000";

pub(super) const OK_DURATIONS: &str = "
    SELECT duration FROM attempt
     WHERE exporter = ? AND result = 'ok' AND ended IS NOT NULL
     ORDER BY ended DESC LIMIT ?";

pub(super) const OUTCOMES_SINCE: &str = "
    SELECT result, count(*) FROM attempt WHERE ended >= ? GROUP BY result ORDER BY result";

const ATTEMPT_AT: &str = "SELECT rowid AS row, * FROM attempt WHERE rowid = ?";

/// From one name to the next along the index, without reading the attempts between.
pub(super) const FILES_NAMED: &str = "
    WITH RECURSIVE
    named (name) AS (
        SELECT min(filename) FROM attempt WHERE filename >= ?1 AND filename < ?1 || char(1114111)
        UNION ALL
        SELECT (SELECT min(filename) FROM attempt WHERE filename > name AND filename < ?1 || char(1114111))
          FROM named WHERE name IS NOT NULL)
    SELECT name FROM named WHERE name IS NOT NULL LIMIT ?2";

impl View<'_> {
    pub fn attempt(&self, id: &str) -> Result<Option<Attempt>> {
        self.one_attempt(ATTEMPT, params![id])
    }

    /// The attempt in this row of its table. One that cannot be read is left out.
    pub(super) fn attempt_at(&self, row: i64) -> Result<Option<Attempt>> {
        match self.one_attempt(ATTEMPT_AT, params![row]) {
            Err(StoreError::Unreadable(_)) => Ok(None),
            Err(StoreError::TooBig) => {
                let (kind, column, attempt) = (RowKind::Attempt, String::new(), None);
                self.notes.add(Unreadable { kind, row, column, attempt });
                Ok(None)
            }
            read => read,
        }
    }

    /// Files that there were attempts at and whose names begin so, in order; at most `limit`.
    pub fn files_named(&self, beginning: &str, limit: u32) -> Result<Vec<String>> {
        self.all(FILES_NAMED, params![beginning, limit], |row| row.get(0))
    }

    /// The newest attempt that published this file.
    pub fn latest_ok(&self, filename: &str) -> Result<Option<Attempt>> {
        self.one_attempt(LATEST_OK, params![filename])
    }

    /// The newest attempts at this file, the newest first.
    pub fn attempts_of(&self, filename: &str, limit: u32) -> Result<Vec<Attempt>> {
        self.attempts(ATTEMPTS_OF, params![filename, limit])
    }

    /// The newest attempts of a job, which may be gone, the newest first.
    pub fn attempts_of_job(&self, id: i64, limit: u32) -> Result<Vec<Attempt>> {
        self.attempts(ATTEMPTS_OF_JOB, params![id, limit])
    }

    /// The first attempts of an exporter that have ended since it last succeeded, at `n` different files at most, the
    /// newest first. What says nothing about the machine is left out.
    pub fn first_attempts(&self, exporter: &str, n: u32) -> Result<Vec<FirstAttempt>> {
        let mut found: Vec<FirstAttempt> = Vec::new();
        let mut statement = self.conn.prepare_cached(FIRST_ATTEMPTS)?;
        let mut rows = self.answer(&mut statement, params![exporter])?;
        while let Some(row) = rows.next()? {
            let Ok(next) = first_attempt(row) else { continue };
            if next.is_neutral() {
                continue;
            }
            if found.len() >= n as usize {
                break;
            }
            if found.iter().all(|known| known.filename != next.filename) {
                found.push(next);
            }
        }
        Ok(found)
    }

    /// How long the newest successful attempts of an exporter ran.
    pub fn ok_durations(&self, exporter: &str, n: u32) -> Result<Vec<Duration>> {
        let durations = self.all(OK_DURATIONS, params![exporter, n], |row| Ok(row.get::<_, Millis>(0).ok()))?;
        Ok(durations.into_iter().flatten().map(|duration| duration.0).collect())
    }

    /// How many attempts ended in which way since then.
    pub fn outcomes_since(&self, since: Stamp) -> Result<Vec<(Outcome, u64)>> {
        let counts = self.all(OUTCOMES_SINCE, params![since], |row| {
            Ok(row.get(0).ok().zip(row.get::<_, NonNegative>(1).ok().map(|count| count.0)))
        })?;
        Ok(counts.into_iter().flatten().collect())
    }
}

fn first_attempt(row: &Row<'_>) -> rusqlite::Result<FirstAttempt> {
    Ok(FirstAttempt {
        filename: row.get::<_, Filename>("filename")?.0,
        outcome: row.get("result")?,
        restarted: row.get("restarted").unwrap_or_default(),
        exit_code: row.get("exit_code")?,
        ended: row.get("ended")?,
    })
}

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

const TALLIES: &str = "
    SELECT exporter, measure = 'wait', result, bound, count, total FROM tally WHERE measure IN ('wait', 'run')";

/// What was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// From a job's submission to the start of its first attempt.
    Wait,
    /// From an attempt's start to its end.
    Run,
}

/// How often an exporter's attempts ended in one way and took as long as one class of durations says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tally {
    pub exporter: String,
    pub measure: Measure,
    pub outcome: Outcome,
    /// The longest duration of the class in milliseconds; 0 for the class above all bounds.
    pub bound_ms: u64,
    pub count: u64,
    /// Of all durations of the class.
    pub total_ms: u64,
}

impl Tally {
    /// The bounds of the classes.
    pub const BOUNDS_MS: [u64; 14] = [
        100, 500, 1000, 2500, 5000, 10_000, 30_000, 60_000, 120_000, 300_000, 600_000, 1_800_000, 3_600_000, 10_800_000,
    ];
}

impl View<'_> {
    /// Every class that anything was counted in.
    pub fn tallies(&self) -> Result<Vec<Tally>> {
        let read = |row: &Row<'_>| Ok(tally(row).ok());
        Ok(self.with_room(|| self.all(TALLIES, [], read))?.into_iter().flatten().collect())
    }
}

fn tally(row: &Row<'_>) -> rusqlite::Result<Tally> {
    let count = |place: usize| row.get::<_, NonNegative>(place).map(|count| count.0);
    Ok(Tally {
        exporter: row.get::<_, QueueName>(0)?.0,
        measure: if row.get(1)? { Measure::Wait } else { Measure::Run },
        outcome: row.get(2)?,
        bound_ms: count(3)?,
        count: count(4)?,
        total_ms: count(5)?,
    })
}

const CLOSED: &str = "SELECT closed FROM breaker WHERE exporter = ?";

const CLOSE: &str = "
    INSERT INTO breaker (exporter, closed) VALUES (?1, ?2)
        ON CONFLICT (exporter) DO UPDATE SET closed = ?2";

impl View<'_> {
    /// The moment up to which an exporter's attempts do not count for its breaker.
    pub fn breaker_closed(&self, exporter: &str) -> Result<Option<Stamp>> {
        Ok(self.one(CLOSED, params![exporter], |row| Ok(row.get(0).ok()))?.flatten())
    }
}

impl Store {
    /// An exporter whose attempts have failed is tried again: failures until `now` do not count any more.
    pub fn end_breaker(&mut self, exporter: &str, now: Stamp) -> anyhow::Result<()> {
        self.immediate(|tx| Ok(tx.close_breaker(exporter, now)?)).map(drop)
    }
}

impl Tx<'_> {
    /// What failed up to now says nothing about the exporter any more.
    pub fn close_breaker(&self, exporter: &str, now: Stamp) -> Result<()> {
        self.change(CLOSE, params![exporter, now]).map(drop)
    }
}
