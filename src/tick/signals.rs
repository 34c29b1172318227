//! A signal to stop ends a tick after its round, never in the middle of one.

use std::{
    io,
    os::fd::{AsFd, BorrowedFd},
};

use nix::sys::{
    signal::{SigSet, Signal},
    signalfd::{SfdFlags, SignalFd},
};

use crate::supervise::heed_stop_signals;

/// The stop signals, held back and readable. Children start with an empty mask all the same.
pub struct StopSignals {
    held: SigSet,
    fd: SignalFd,
}

/// What came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Came {
    pub stop: bool,
    pub child_ended: bool,
}

impl StopSignals {
    pub fn hold() -> io::Result<Self> {
        heed_stop_signals()?;
        let held: SigSet = [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP, Signal::SIGCHLD].into_iter().collect();
        held.thread_block()?;
        let fd = SignalFd::with_flags(&held, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC)?;
        Ok(Self { held, fd })
    }

    /// For a while a signal acts at once.
    pub fn let_through(&self) -> nix::Result<()> {
        self.held.thread_unblock()
    }

    /// Ends what `let_through` began.
    pub fn hold_back(&self) -> nix::Result<()> {
        self.held.thread_block()
    }

    /// What has come since the last look.
    pub fn came(&self) -> nix::Result<Came> {
        let mut came = Came::default();
        while let Some(signal) = self.fd.read_signal()? {
            if signal.ssi_signo == Signal::SIGCHLD as u32 {
                came.child_ended = true;
            } else {
                came.stop = true;
            }
        }
        Ok(came)
    }

    /// From here on a signal acts at once again.
    pub fn let_go(self) -> nix::Result<()> {
        self.came()?; // heard: the round is over, and so are we
        drop(self.fd);
        self.held.thread_unblock()
    }
}

impl AsFd for StopSignals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
