//! Numbers for monitoring, which only ever grow.

use rusqlite::Row;

use super::{Result, View, checked::QueueName, rows::NonNegative};
use crate::model::status::Outcome;

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
