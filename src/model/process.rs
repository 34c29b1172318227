//! Which process: its number alone may be given to a later one.

/// A process that cannot be mistaken for a later one with its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProcessId {
    pub pid: i32,
    /// Clock ticks since boot, field 22 of `/proc/PID/stat` (proc(5)).
    pub start: u64,
}

impl ProcessId {
    /// `PID START`, as it stands in lock files.
    pub fn text(self) -> String {
        format!("{} {}", self.pid, self.start)
    }

    /// The same read back. `None`: it is not what [`Self::text`] writes.
    pub fn parse(text: &str) -> Option<Self> {
        let (pid, start) = text.split_once(' ')?;
        Some(Self { pid: pid.parse().ok().filter(|pid| *pid > 0)?, start: start.parse().ok()? })
    }
}
