//! What an expected time is taken from: what runs, who is before a job, and when ticks come. Each is one read of
//! bounded length along an index, for each poll makes them.
//!
//! With them what is written and read while an attempt runs, and whether there may be something to start at all, for a
//! tick that nobody has told.

use std::time::Duration;

use rusqlite::{Row, params};

use super::{
    Store, Tx, View,
    checked::QueueName,
    rows::{Millis, NonNegative},
};
use crate::{
    model::{
        clock::Stamp,
        estimate::Ticks,
        job::{Claim, Job},
    },
    store::Result,
};

/// More than run on any host.
pub(super) const RUNNING: &str = "
    SELECT queue, exporter, started, percent FROM job WHERE status = 1 LIMIT 256";

const PLACE: &str = "SELECT rank, due FROM job WHERE id = ?";

/// With values: a comparison with a subquery's row would use the index for the rank alone.
pub(super) const BEFORE: &str = "
    SELECT exporter, count(*) FROM (
        SELECT exporter FROM job
         WHERE queue = ?1 AND status = 0 AND waits = 0
           AND (rank, due, id) < (?2, ?3, ?4)
         LIMIT 1000)
     GROUP BY exporter";

/// The first of a queue, by exporter.
pub(super) const WAITING: &str = "
    SELECT exporter, count(*) FROM (
        SELECT exporter FROM job WHERE queue = ?1 AND status = 0 AND waits = 0 ORDER BY rank, due, id LIMIT 200)
     GROUP BY exporter";

const TICKS: &str = "
    SELECT coalesce(tick_begun, tick_at), coalesce(tick_until, tick_at), coalesce(tick_every, 0) FROM meta
     WHERE one = 1 AND tick_at IS NOT NULL";

const MARK_TICKS: &str = "UPDATE meta SET tick_begun = ?, tick_until = ?, tick_every = ?";

/// A job that is being made, as far as an expected time needs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Started {
    pub queue: String,
    pub exporter: String,
    pub at: Stamp,
    pub percent: Option<u8>,
}

impl View<'_> {
    /// What runs on this host. What cannot be read takes a seat under names that no queue and no exporter has.
    pub fn running(&self) -> Result<Vec<Started>> {
        let name = |row: &Row<'_>, column| row.get(column).map_or_else(|_| String::new(), |name: QueueName| name.0);
        let read = |row: &Row<'_>| {
            let percent = row.get::<_, Option<u8>>(3).ok().flatten().filter(|percent| *percent <= 100);
            Ok(Started { queue: name(row, 0), exporter: name(row, 1), at: row.get(2).unwrap_or_default(), percent })
        };
        self.with_room(|| self.all(RUNNING, [], read))
    }

    /// How many jobs of which exporters are before this one in its queue and wait for nothing: at most a thousand.
    pub fn before(&self, job: &Job) -> Result<Vec<(String, u32)>> {
        let place = self.one(PLACE, params![job.id], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, Stamp>(1)?)))?;
        let Some((rank, due)) = place else { return Ok(Vec::new()) };
        self.with_room(|| self.all(BEFORE, params![job.queue, rank, due, job.id], by_exporter))
    }

    /// The place of a queued job among those of its queue that wait for nothing, from 1; 1001 means "more than 1000".
    pub fn position(&self, job: &Job) -> Result<u32> {
        Ok(1 + self.before(job)?.iter().map(|(_, count)| count).sum::<u32>())
    }

    /// The same of the first two hundred of a queue.
    pub fn waiting(&self, queue: &str) -> Result<Vec<(String, u32)>> {
        self.with_room(|| self.all(WAITING, params![queue], by_exporter))
    }

    /// When ticks come. `None`: there was none yet.
    pub fn ticks(&self) -> Result<Option<Ticks>> {
        let read = |row: &Row<'_>| {
            let every = row.get::<_, Millis>(2).map_or(Duration::ZERO, |every| every.0);
            let ticks = |(begun, until): (Stamp, Stamp)| Ticks {
                begun,
                until: until.min(begun.plus(LONGEST)),
                every: every.min(LONGEST),
            };
            Ok(row.get(0).ok().zip(row.get(1).ok()).map(ticks))
        };
        Ok(self.one(TICKS, [], read)?.flatten())
    }
}

/// No tick stays longer, and none comes more seldom.
const LONGEST: Duration = Duration::from_hours(48);

impl Store {
    /// What the exporter of a running attempt says of itself; of one that is not started any more nothing is written.
    pub fn note_progress(&mut self, claim: &Claim, percent: Option<u8>, message: Option<&str>) -> anyhow::Result<()> {
        self.immediate(|tx| Ok(tx.progress(claim, percent, message)?)).map(drop)
    }
}

impl Tx<'_> {
    /// A tick has begun.
    pub(super) fn mark_ticks(&self, ticks: &Ticks) -> Result<()> {
        self.change(MARK_TICKS, params![ticks.begun, ticks.until, Millis(ticks.every)]).map(drop)
    }
}

fn by_exporter(row: &Row<'_>) -> rusqlite::Result<(String, u32)> {
    let count = u32::try_from(row.get::<_, NonNegative>(1)?.0).unwrap_or(u32::MAX);
    Ok((row.get(0).map_or_else(|_| String::new(), |name: QueueName| name.0), count))
}

const PROGRESS: &str = "
    UPDATE job SET percent = ?3, message = ?4 WHERE id = ?1 AND attempt = ?2 AND status = 1";

/// What was noted before is cancelled with it; what is noted from now on follows all the same.
const ASK_CANCEL: &str = "UPDATE job SET cancel = 1, again = NULL WHERE id = ? AND status = 1";

const CANCEL_REQUESTED: &str = "SELECT cancel FROM job WHERE id = ? AND attempt = ? AND status = 1";

impl Tx<'_> {
    /// What the exporter says of itself. `false`: the attempt was taken from us.
    pub fn progress(&self, claim: &Claim, percent: Option<u8>, message: Option<&str>) -> Result<bool> {
        Ok(self.change(PROGRESS, params![claim.job, claim.attempt, percent, message])? == 1)
    }

    /// Asks the run of a started job to end it. `false`: it is not started.
    pub fn ask_cancel(&self, id: i64) -> Result<bool> {
        Ok(self.change(ASK_CANCEL, params![id])? == 1)
    }
}

impl View<'_> {
    /// Whether the admin wants this attempt to end. `None`: it was taken from us.
    pub fn cancel_requested(&self, claim: &Claim) -> Result<Option<bool>> {
        self.one(CANCEL_REQUESTED, params![claim.job, claim.attempt], |row| row.get(0))
    }
}

/// Changes when another connection has committed; what this one writes does not count.
const VERSION: &str = "PRAGMA data_version";

/// The newest job, how many are started, and what the queues count and allow. Queues are few, unless somebody who may
/// write the database has made them many.
const PULSE: &str = "
    SELECT (SELECT coalesce(max(id), 0) FROM job) || ' ' || (SELECT count(*) FROM job WHERE status = 1) || ' ' ||
           total(queued) || ' ' || total(delayed) || ' ' || total(mode = 'open')
      FROM (SELECT queued, delayed, mode FROM queue LIMIT 1000)";

/// What was there at one moment; compared with the next.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pulse {
    version: Option<i64>,
    counts: Option<String>,
}

impl View<'_> {
    /// How it is now.
    pub fn pulse(&self) -> Result<Pulse> {
        let version = self.version()?; // first: what is committed in between shows as a change
        Ok(Pulse { version, counts: self.counts()? })
    }

    /// Whether jobs have come, ended or been let go since then. Where nobody has written this costs next to nothing.
    pub fn has_changed(&self, last: &mut Pulse) -> Result<bool> {
        let version = self.version()?;
        if version == last.version {
            return Ok(false);
        }
        last.version = version;
        Ok(self.counts()? != last.counts)
    }

    fn version(&self) -> Result<Option<i64>> {
        self.one(VERSION, [], |row| row.get(0))
    }

    fn counts(&self) -> Result<Option<String>> {
        self.one(PULSE, [], |row| row.get(0))
    }
}
