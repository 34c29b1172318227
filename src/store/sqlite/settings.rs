//! What is kept beside the jobs: the state of queues and schedules, the last tick, who the database belongs to.
//!
//! What administrators did: kept here by whoever carries it out, who may be the web user, until a tick writes it into the
//! activity log, and shown on the status page.

use std::time::Duration;

use rusqlite::{
    Row, ToSql, params,
    types::{FromSql, FromSqlError, FromSqlResult, ToSqlOutput, ValueRef},
};

use super::{
    Tx, View,
    checked::QueueName,
    rows::{Millis, NonNegative},
};
use crate::{
    model::clock::{Stamp, TickMark},
    store::{Result, StoreError},
};

pub(super) const QUEUE: &str = "SELECT mode, queued, delayed, served FROM queue WHERE name = ?";

const QUEUES: &str = "SELECT name, mode, queued, delayed, served FROM queue ORDER BY name";

const LAST_TICK: &str = "SELECT tick_at, tick_boottime, tick_boot_id FROM meta WHERE one = 1 AND tick_at IS NOT NULL";

const MACHINE_ID: &str = "SELECT machine_id FROM meta WHERE one = 1 AND machine_id <> ''";

const CLIENT_KEY: &str = "SELECT client_key FROM meta WHERE one = 1";

const SCHEDULE: &str = "SELECT last, next FROM schedule WHERE name = ?";

const SET_MODE: &str = "
    INSERT INTO queue (name, mode) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET mode = ?2";

/// Whatever was stored there, the gap is a number.
const MARK_TICK: &str = "
    UPDATE meta SET tick_gap = max(0, ?1 - max(0, coalesce(tick_at, ?1))), tick_at = ?1, tick_boottime = ?2,
                    tick_boot_id = ?3";

const TICK_GAP: &str = "SELECT tick_gap FROM meta WHERE one = 1";

const CACHE_FIGURES: &str = "SELECT cache_files, cache_size FROM meta WHERE one = 1 AND cache_files IS NOT NULL";

const SET_CACHE_FIGURES: &str = "UPDATE meta SET cache_files = ?, cache_size = ?";

const SET_SCHEDULE: &str = "
    INSERT INTO schedule (name, last, next) VALUES (?1, ?2, ?3)
        ON CONFLICT (name) DO UPDATE SET last = ?2, next = ?3";

/// What the admin has set a queue to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    #[default]
    Open,
    /// Requests still queue; nothing is claimed.
    Paused,
    /// Requests are unavailable; nothing is claimed.
    Draining,
}

impl Mode {
    pub const ALL: [Self; 3] = [Self::Open, Self::Paused, Self::Draining];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Paused => "paused",
            Self::Draining => "draining",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.name() == name)
    }
}

/// A queue as the database knows it; one that it does not know is open, empty and was never served.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QueueState {
    pub mode: Mode,
    /// Queued jobs, waiting ones included.
    pub queued: u64,
    /// Those of them whose time has not come: a wish to start later, or the pause before a retry.
    pub delayed: u64,
    /// When a job of it was claimed last.
    pub served: Stamp,
}

impl QueueState {
    /// Queued jobs whose time has come.
    pub const fn due(&self) -> u64 {
        self.queued.saturating_sub(self.delayed)
    }
}

/// When a schedule last became due and when it will next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScheduleState {
    pub last: Stamp,
    pub next: Stamp,
}

impl View<'_> {
    pub fn queue(&self, name: &str) -> Result<QueueState> {
        Ok(self.one(QUEUE, params![name], |row| Ok(queue_state(row)))?.unwrap_or_default())
    }

    /// Every queue that a job was ever in or that was ever set to a mode, by name.
    pub fn queues(&self) -> Result<Vec<(String, QueueState)>> {
        let read = |row: &Row<'_>| Ok(row.get::<_, QueueName>("name").ok().map(|name| (name.0, queue_state(row))));
        let found = self.with_room(|| self.all(QUEUES, [], read))?;
        Ok(found.into_iter().flatten().collect())
    }

    pub fn last_tick(&self) -> Result<Option<TickMark>> {
        self.one(LAST_TICK, [], |row| Ok(row.get(0).ok().zip(row.get::<_, Millis>(1).ok()).zip(row.get(2).ok()))).map(
            |mark| mark.flatten().map(|((at, since_boot), boot_id)| TickMark { at, since_boot: since_boot.0, boot_id }),
        )
    }

    /// The time between the last two full rounds of ticks; nothing if it is not known.
    pub fn tick_gap(&self) -> Result<Duration> {
        let gap = self.one(TICK_GAP, [], |row| Ok(row.get::<_, Millis>(0).ok()))?.flatten();
        Ok(gap.map_or(Duration::ZERO, |gap| gap.0))
    }

    /// `None`: not known, not compared.
    pub fn machine_id(&self) -> Result<Option<String>> {
        self.one(MACHINE_ID, [], |row| row.get(0))
    }

    /// The key of the hashes under which clients are stored.
    pub fn client_key(&self) -> Result<[u8; 32]> {
        self.one(CLIENT_KEY, [], |row| row.get(0))?.ok_or(StoreError::Foreign)
    }

    /// How many files the last full round of a tick has left in the cache, and their bytes. `None`: there was none yet.
    pub fn cache_figures(&self) -> Result<Option<(u64, u64)>> {
        self.one(CACHE_FIGURES, [], |row| Ok((row.get::<_, NonNegative>(0)?.0, row.get::<_, NonNegative>(1)?.0)))
    }

    pub fn schedule(&self, name: &str) -> Result<Option<ScheduleState>> {
        let read = |row: &Row<'_>| Ok(row.get(0).ok().zip(row.get(1).ok()));
        let found = self.one(SCHEDULE, params![name], read)?.flatten();
        Ok(found.map(|(last, next)| ScheduleState { last, next }))
    }
}

impl Tx<'_> {
    pub fn set_mode(&self, queue: &str, mode: Mode) -> Result<()> {
        self.change(SET_MODE, params![queue, mode]).map(drop)
    }

    pub(super) fn mark_tick(&self, mark: &TickMark) -> Result<()> {
        self.change(MARK_TICK, params![mark.at, Millis(mark.since_boot), mark.boot_id]).map(drop)
    }

    pub(super) fn set_cache_figures(&self, files: u64, bytes: u64) -> Result<()> {
        self.change(SET_CACHE_FIGURES, params![NonNegative(files), NonNegative(bytes)]).map(drop)
    }

    pub(super) fn set_schedule(&self, name: &str, state: ScheduleState) -> Result<()> {
        self.change(SET_SCHEDULE, params![name, state.last, state.next]).map(drop)
    }
}

/// What cannot be read counts as that of a queue that is not known.
fn queue_state(row: &Row<'_>) -> QueueState {
    let count = |column| row.get::<_, NonNegative>(column).map_or(0, |count| count.0);
    QueueState {
        mode: row.get("mode").unwrap_or_default(),
        queued: count("queued"),
        delayed: count("delayed"),
        served: row.get("served").unwrap_or_default(),
    }
}

impl ToSql for Mode {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(self.name().into())
    }
}

impl FromSql for Mode {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        Self::from_name(value.as_str()?).ok_or(FromSqlError::InvalidType)
    }
}

/// So many are kept; of those that no tick has logged yet so many more.
const KEPT: i64 = 1000;
const UNLOGGED_KEPT: i64 = 10_000;
/// Bytes of a sentence.
const LONGEST: usize = 2000;

const NOTE: &str = "INSERT INTO action (at, who, what) VALUES (?, ?, ?)";
const FORGET: &str = "DELETE FROM action WHERE id <= (SELECT max(id) FROM action) - ? AND logged >= ?";
const LATEST: &str = "SELECT id, at, who, what FROM action ORDER BY id DESC LIMIT ?";
pub(super) const UNLOGGED: &str = "SELECT id, at, who, what FROM action WHERE logged = 0 ORDER BY id LIMIT ?";
const LOGGED: &str = "UPDATE action SET logged = 1 WHERE logged = 0 AND id <= ?";

/// One thing that an administrator did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Action {
    pub id: i64,
    pub at: Stamp,
    pub who: String,
    /// A sentence in the past tense.
    pub what: String,
}

impl View<'_> {
    /// The latest, the newest first.
    pub fn actions(&self, limit: u32) -> Result<Vec<Action>> {
        Ok(self.all(LATEST, params![limit], |row| Ok(action(row).ok()))?.into_iter().flatten().collect())
    }

    /// Those that are not in the activity log yet, the oldest first.
    pub fn unlogged_actions(&self, limit: u32) -> Result<Vec<Action>> {
        Ok(self.all(UNLOGGED, params![limit], |row| Ok(action(row).ok()))?.into_iter().flatten().collect())
    }
}

impl Tx<'_> {
    /// Keeps what somebody did, as part of the transaction that does it.
    pub fn note_action(&self, at: Stamp, who: &str, what: &str) -> Result<()> {
        let short = |text: &str| text[..text.floor_char_boundary(LONGEST)].to_owned();
        self.change(NOTE, params![at, short(who), short(what)])?;
        self.change(FORGET, params![UNLOGGED_KEPT, 0])?;
        Ok(())
    }

    /// Those up to this one are in the activity log, and the oldest of them are forgotten.
    pub(super) fn actions_logged(&self, last: i64) -> Result<()> {
        self.change(LOGGED, params![last])?;
        self.change(FORGET, params![KEPT, 1])?;
        Ok(())
    }
}

fn action(row: &Row<'_>) -> rusqlite::Result<Action> {
    Ok(Action { id: row.get(0)?, at: row.get(1)?, who: row.get(2)?, what: row.get(3)? })
}
