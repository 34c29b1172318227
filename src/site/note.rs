//! The note in an attempt's lock file: which processes belong to it, for whoever has to end them after a crash.

use std::{fs::File, io, time::Duration};

use super::Site;

/// A process that cannot be mistaken for a later one with its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessId {
    pub pid: i32,
    /// Clock ticks since boot, field 22 of /proc/PID/stat.
    pub start: u64,
}

/// What a run writes about itself and its exporter. What is not known yet is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LockNote {
    pub run: Option<ProcessId>,
    /// The leader of the exporter's process group.
    pub leader: Option<ProcessId>,
    pub leader_session: Option<i32>,
    pub boot_id: String,
    /// On the clock of the limits, when the attempt was started.
    pub since_boot: Duration,
}

impl LockNote {
    /// Writes the note into the open lock file in place of an earlier one.
    pub fn write(&self, _lock: &File) -> io::Result<()> {
        todo!()
    }

    /// Reads as much as is there: the machine may have stopped in the middle of a note.
    pub fn read(_lock: &File) -> io::Result<Self> {
        todo!()
    }
}

impl Site {
    /// The note of an attempt, read without touching its lock.
    pub fn note_of(&self, _attempt: &str) -> io::Result<LockNote> {
        todo!()
    }
}
