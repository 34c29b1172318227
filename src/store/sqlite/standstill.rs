//! The time in which nothing could be started, as far as full rounds of ticks have seen it.
//!
//! It is kept as spans of time and not as a sum in each row: enqueue costs nothing, a job that moves to another queue
//! needs no settling of accounts, and expiry compares one moment with an index.

use rusqlite::{Row, params};

use super::{
    Tx, View,
    checked::{QueueName, sure},
};
use crate::{
    model::{age::Span, clock::Stamp},
    store::Result,
};

/// From one queue to the next through the index, without reading the rows between. The bound is for rows that are not ours.
pub(super) const QUEUES_OF: &str = "
    WITH RECURSIVE
    queued (name) AS (
        SELECT min(queue) FROM job WHERE exporter = ?1 AND status = 0
        UNION ALL
        SELECT (SELECT min(queue) FROM job WHERE exporter = ?1 AND status = 0 AND queue > name)
          FROM queued WHERE name IS NOT NULL)
    SELECT name FROM queued WHERE name IS NOT NULL LIMIT ?2";

const MOST_QUEUES: u32 = 10_000;

pub(super) const OLDEST_OF: &str = "
    SELECT queued_since FROM job WHERE exporter = ? AND queue = ? AND status = 0 ORDER BY queued_since LIMIT 1";

/// More than there are in years of a breaker that opens every few minutes are not ours; the newest count.
const STANDSTILLS: &str = "
    SELECT queue, exporter, since, until, lasts FROM standstill ORDER BY until DESC LIMIT 5000";

const SET: &str = "
    INSERT INTO standstill (queue, exporter, since, until, lasts) VALUES (?1, ?2, ?3, ?4, ?5)
        ON CONFLICT (queue, exporter, since) DO UPDATE SET until = ?4, lasts = ?5";

const REMOVE: &str = "DELETE FROM standstill WHERE queue = ? AND exporter = ? AND since = ?";

const REMOVE_ALL: &str = "DELETE FROM standstill";

const HAS_ANY: &str = "SELECT EXISTS (SELECT 1 FROM standstill)";

const MOVED: &str = "UPDATE job SET queued_since = ?2 WHERE id = ?1 AND status = 0";

const QUEUED_SINCE: &str = "SELECT queued_since FROM job WHERE id = ?";

/// An exporter and a queue in which jobs of it are queued.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    pub exporter: String,
    pub queue: String,
}

/// A time in which nothing of a queue and of an exporter could be started; an empty name stands for any.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Standstill {
    pub queue: String,
    pub exporter: String,
    pub span: Span,
    /// It was still so at the last full round.
    pub lasts: bool,
}

impl View<'_> {
    /// Every exporter and queue with queued jobs, configured or not.
    pub fn places(&self) -> Result<Vec<Place>> {
        self.places_of(self.exporters()?, MOST_QUEUES)
    }

    /// The same of these exporters, and of so many queues of each.
    pub fn places_of(&self, exporters: Vec<String>, most: u32) -> Result<Vec<Place>> {
        let mut places = Vec::new();
        for exporter in exporters {
            let read = |row: &Row<'_>| Ok(row.get::<_, QueueName>(0).ok());
            let queues = self.with_room(|| self.all(QUEUES_OF, params![exporter, most], read))?;
            places.extend(
                queues.into_iter().flatten().map(|QueueName(queue)| Place { exporter: exporter.clone(), queue }),
            );
        }
        Ok(places)
    }

    /// Since when the job is queued that has been queued there for the longest time.
    pub fn queued_since(&self, of: &Place) -> Result<Option<Stamp>> {
        Ok(self.one(OLDEST_OF, params![of.exporter, of.queue], |row| Ok(row.get(0).ok()))?.flatten())
    }

    /// What full rounds have noted and queued jobs may still need. What cannot be read is left out.
    pub fn standstills(&self) -> Result<Vec<Standstill>> {
        let found = self.with_room(|| self.all(STANDSTILLS, [], |row| Ok(standstill(row).ok())))?;
        Ok(found.into_iter().flatten().collect())
    }

    /// Whether any are noted.
    pub fn has_standstills(&self) -> Result<bool> {
        Ok(self.one(HAS_ANY, [], |row| row.get(0))?.unwrap_or(false))
    }

    /// Since when a job is queued, as `queued_ttl` counts.
    pub fn job_queued_since(&self, id: i64) -> Result<Option<Stamp>> {
        Ok(self.one(QUEUED_SINCE, params![id], |row| Ok(row.get(0).ok()))?.flatten())
    }
}

impl Tx<'_> {
    /// Notes one, or that it has gone on.
    pub(super) fn set_standstill(&self, one: &Standstill) -> Result<()> {
        let Span { since, until } = one.span;
        self.change(SET, params![one.queue, one.exporter, since, until, one.lasts]).map(drop)
    }

    pub(super) fn remove_standstill(&self, one: &Standstill) -> Result<()> {
        self.change(REMOVE, params![one.queue, one.exporter, one.span.since]).map(drop)
    }

    /// No queued job needs any; those that cannot be read go as well.
    pub(super) fn remove_standstills(&self) -> Result<()> {
        self.change(REMOVE_ALL, []).map(drop)
    }

    /// A queued job that goes on elsewhere is taken for queued since this moment.
    pub(super) fn set_queued_since(&self, id: i64, since: Stamp) -> Result<()> {
        self.change(MOVED, params![id, since]).map(drop)
    }
}

fn standstill(row: &Row<'_>) -> rusqlite::Result<Standstill> {
    let name = |column| {
        let text: String = row.get(column)?;
        if text.is_empty() { Ok(text) } else { row.get::<_, QueueName>(column).map(|name| name.0) }
    };
    Ok(Standstill {
        queue: name("queue")?,
        exporter: name("exporter")?,
        span: Span { since: row.get("since")?, until: row.get("until")? },
        lasts: sure(row, "lasts", 0..=1)? == 1,
    })
}
