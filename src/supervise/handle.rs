//! A hold on one process, through which a signal reaches nobody else.
//!
//! A pidfd is one. Where the kernel has none to give (before Linux 5.3, in a sandbox, or with all descriptors in use),
//! the number and the start of the process are looked at once more right before each signal.

use std::{
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
};

use nix::{
    errno::Errno,
    sys::signal::{Signal, kill},
    unistd::Pid,
};

use super::sys;
use crate::model::process::ProcessId;

/// A hold on one process.
#[derive(Debug)]
pub(super) struct Handle {
    process: ProcessId,
    pidfd: Option<OwnedFd>,
}

impl Handle {
    /// `None`: it has ended. An error: nobody knows.
    pub(super) fn open(process: ProcessId) -> io::Result<Option<Self>> {
        let pidfd = match sys::pidfd_open(process.pid) {
            Err(error) if is(&error, &[Errno::ESRCH]) => return Ok(None),
            opened => opened.ok(),
        };
        // Only now: the number may have passed to somebody else before.
        Ok(process.is_alive()?.then_some(Self { process, pidfd }))
    }

    /// A child of ours that is not reaped, whether it has ended or not: its number is nobody else's.
    pub(super) fn of_child(process: ProcessId) -> Self {
        Self { process, pidfd: sys::pidfd_open(process.pid).ok() }
    }

    /// Becomes readable when the process has ended.
    pub(super) fn pidfd(&self) -> Option<BorrowedFd<'_>> {
        self.pidfd.as_ref().map(OwnedFd::as_fd)
    }

    pub(super) fn signal(&self, signal: Signal) -> io::Result<()> {
        match self.pidfd().map(|pidfd| sys::pidfd_signal(pidfd, signal)) {
            // Not allowed here, or not to anybody: the other way tells.
            Some(Err(error)) if is(&error, &[Errno::ENOSYS, Errno::EPERM]) => self.signal_by_number(signal),
            Some(done) => done,
            None => self.signal_by_number(signal),
        }
    }

    fn signal_by_number(&self, signal: Signal) -> io::Result<()> {
        if !self.process.is_alive()? {
            return Err(Errno::ESRCH.into());
        }
        Ok(kill(Pid::from_raw(self.process.pid), signal)?)
    }
}

fn is(error: &io::Error, known: &[Errno]) -> bool {
    error.raw_os_error().is_some_and(|number| known.contains(&Errno::from_raw(number)))
}

/// Why processes have to be held by their numbers on this machine; `None` if they need not.
pub fn without_pidfd() -> Option<io::Error> {
    sys::pidfd_open(nix::unistd::getpid().as_raw()).err()
}
