//! A process tree as others see it: who it is, and how to end it.

use std::{fmt, time::Duration};

use super::{members::Tree, proc, sweep};

/// One process, told from a later one of the same number by its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Process {
    pub pid: i32,
    /// Clock ticks since boot, field 22 of `/proc/PID/stat`.
    pub start: u64,
}

impl Process {
    /// The calling process.
    pub fn this() -> Self {
        let pid = nix::unistd::getpid().as_raw();
        Self { pid, start: start_time(pid).unwrap_or(0) }
    }

    /// Whether it is still there and has not ended.
    pub fn is_alive(self) -> bool {
        proc::stat(self.pid).is_some_and(|stat| stat.process == self && !stat.is_dead())
    }
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
    /// Its name and why it is still there.
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
    let mut tree = Tree::new(ids.clone());
    sweep::kill_run(&mut tree);
    sweep::end(&mut tree, kill_after)
}

/// When the process started, in clock ticks since boot; `None` if there is none.
pub fn start_time(pid: i32) -> Option<u64> {
    proc::stat(pid).map(|stat| stat.process.start)
}
