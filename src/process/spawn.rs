//! Starting an exporter: everything is prepared before the fork, the child only makes system calls.

use std::{
    fmt, io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    time::Duration,
};

use super::{order::Order, tree::Process};

/// An exporter that was executed. Must be handed to `supervise`, which ends and reaps it.
#[derive(Debug)]
pub struct Leader {
    pub(super) process: Process,
    pub(super) pidfd: OwnedFd,
    /// The reading end of its stdout and stderr.
    pub(super) output: OwnedFd,
    /// Time since boot.
    pub(super) started: Duration,
}

impl Leader {
    /// Its process number, which is also that of its group and session.
    pub const fn process(&self) -> Process {
        self.process
    }
}

impl AsFd for Leader {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.pidfd.as_fd()
    }
}

/// The exporter could not be started.
#[derive(Debug)]
pub struct SpawnError {
    pub(super) step: &'static str,
    pub(super) cause: io::Error,
}

impl fmt::Display for SpawnError {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "cannot {}: {}", self.step, self.cause)
    }
}

impl std::error::Error for SpawnError {}

/// Starts the exporter in a session of its own, under its limits, with nothing inherited.
pub fn spawn(order: &Order) -> Result<Leader, SpawnError> {
    let _ = order;
    todo!()
}
