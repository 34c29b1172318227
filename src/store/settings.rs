//! What is kept beside the jobs: the state of queues and schedules, the last tick, who the database belongs to.

use std::time::Duration;

use super::{Result, Tx, View};
use crate::model::clock::Stamp;

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
    /// When a job of it was claimed last.
    pub served: Stamp,
}

/// When a schedule last became due and when it will next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScheduleState {
    pub last: Stamp,
    pub next: Stamp,
}

/// The last round of a tick, on the wall clock and on the clock that cannot be set.
#[derive(Clone, Debug, PartialEq)]
pub struct TickMark {
    pub at: Stamp,
    pub since_boot: Duration,
    pub boot_id: String,
}

impl View<'_> {
    pub fn queue(&self, name: &str) -> Result<QueueState> {
        todo!()
    }

    /// Every queue that a job was ever in or that was ever set to a mode, by name.
    pub fn queues(&self) -> Result<Vec<(String, QueueState)>> {
        todo!()
    }

    pub fn last_tick(&self) -> Result<Option<TickMark>> {
        todo!()
    }

    /// `None`: not known, not compared.
    pub fn machine_id(&self) -> Result<Option<String>> {
        todo!()
    }

    /// The key of the hashes under which clients are stored.
    pub fn client_key(&self) -> Result<[u8; 32]> {
        todo!()
    }

    pub fn schedule(&self, name: &str) -> Result<Option<ScheduleState>> {
        todo!()
    }
}

impl Tx<'_> {
    pub fn set_mode(&self, queue: &str, mode: Mode) -> Result<()> {
        todo!()
    }

    pub fn mark_tick(&self, mark: &TickMark) -> Result<()> {
        todo!()
    }

    pub fn set_schedule(&self, name: &str, state: ScheduleState) -> Result<()> {
        todo!()
    }
}
