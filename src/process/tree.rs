//! A process tree from outside: who belongs to it, and how it is ended.

use std::{fmt, time::Duration};

/// One process, told from a later one of the same number by its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Process {
    pub pid: i32,
    /// Clock ticks since boot, field 22 of `/proc/PID/stat`.
    pub start: u64,
}

/// What is known of an attempt's processes. Numbers of another boot must not be put in here: leave `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TreeIds {
    /// The attempt's id, the cookie in the environment.
    pub attempt: String,
    pub run: Option<Process>,
    /// Its number is also that of its group and session.
    pub leader: Option<Process>,
}

/// A process that is still there after SIGKILL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stuck {
    pub process: Process,
    /// One sentence: its name and why it is still there.
    pub reason: String,
}

impl fmt::Display for Stuck {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "process {} {}", self.process.pid, self.reason)
    }
}

/// What became of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Swept {
    /// Two looks in a row found nobody.
    Gone,
    /// Its slot stays taken.
    Stuck(Vec<Stuck>),
}

/// Ends a tree: SIGTERM and SIGCONT, after `kill_after` SIGKILL; zero kills at once. A run that is still alive (and
/// is not this process) is killed first. Takes at most `kill_after` and about three seconds.
pub fn end_tree(ids: &TreeIds, kill_after: Duration) -> Swept {
    let _ = (ids, kill_after);
    todo!()
}

/// When the process started, in clock ticks since boot; `None` if there is none.
pub fn start_time(pid: i32) -> Option<u64> {
    let _ = pid;
    todo!()
}
