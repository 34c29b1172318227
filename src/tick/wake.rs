//! What wakes a lingering tick: the doorbell, the ends of its runs, and signals to stop, which end a tick after its round
//! and never in the middle of one.

use std::{
    io,
    os::fd::{AsFd, BorrowedFd},
    time::Duration,
};

use nix::{
    errno::Errno,
    poll::{PollFd, PollFlags, PollTimeout, poll},
    sys::{
        signal::{SigSet, Signal},
        signalfd::{SfdFlags, SignalFd},
    },
};

use crate::{
    context::Context,
    logging,
    model::clock::since_boot,
    site::Doorbell,
    supervise::{give_back, heed_stop_signals},
};

/// What wakes a linger: the doorbell, if it can be listened to, and signals.
pub struct WakeSources {
    bell: Option<Doorbell>,
    pub signals: StopSignals,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Heard {
    Bell,
    Signal,
}

impl WakeSources {
    /// Without a doorbell jobs are started later, but they are started: the round at the beginning, and whatever has a time.
    pub fn open(context: &Context, signals: StopSignals) -> Self {
        let told = |error| {
            let bell = context.site.doorbell();
            logging::diagnostic_line(format!(
                "cannot listen to {}: {error}; {}",
                bell.display(),
                context.site.remedy()
            ));
        };
        Self { bell: Doorbell::open(&context.site).map_err(told).ok(), signals }
    }

    /// Forgets the rings so far.
    pub fn drain(&self) -> io::Result<()> {
        self.bell.as_ref().map_or(Ok(()), |bell| bell.drain().map(drop))
    }

    /// Whether the bell rang until then (time since boot); before `deaf_until` only signals are heard. Once it has been quiet for long, memory is given back.
    pub fn rest(&self, until: Duration, quiet_at: Duration, deaf_until: Duration) -> nix::Result<bool> {
        let left = |at: Duration| at.saturating_sub(since_boot());
        if since_boot() < quiet_at {
            let heard = self.poll(left(quiet_at.min(until)), deaf_until)?;
            if heard.is_some() || until <= quiet_at {
                return Ok(heard == Some(Heard::Bell));
            }
            give_back();
        }
        Ok(self.poll(left(until), deaf_until)? == Some(Heard::Bell))
    }

    /// What was heard within the time. The bell counts more.
    fn poll(&self, time: Duration, deaf_until: Duration) -> nix::Result<Option<Heard>> {
        // Rounded up: a rest of less than a millisecond must not become a busy loop.
        let ms = i32::try_from(time.as_nanos().div_ceil(1_000_000)).unwrap_or(i32::MAX);
        let read = |fd| PollFd::new(fd, PollFlags::POLLIN);
        let mut fds = vec![read(self.signals.as_fd())];
        let bell = self.bell.as_ref().filter(|_| deaf_until <= since_boot());
        fds.extend(bell.map(|bell| read(bell.as_fd())));
        match poll(&mut fds, PollTimeout::try_from(ms).unwrap_or(PollTimeout::MAX)) {
            Ok(0) => Ok(None),
            Ok(_) if fds.get(1).and_then(PollFd::any).unwrap_or(false) => Ok(Some(Heard::Bell)),
            Ok(_) | Err(Errno::EINTR) => Ok(Some(Heard::Signal)),
            Err(error) => Err(error),
        }
    }
}

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
