//! What wakes the supervisor: the leader's end, output, a request to stop, time.

use std::{
    io,
    os::fd::{AsFd, BorrowedFd},
    time::Duration,
};

use nix::{
    errno::Errno,
    poll::{PollFd, PollFlags, PollTimeout, poll},
    sys::{
        signalfd::{SfdFlags, SignalFd},
        time::TimeSpec,
        timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags},
    },
};

use super::{spawn::Leader, stage::stop_signals};

/// A set of events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Ready(u8);

impl Ready {
    pub(super) const LEADER: Self = Self(1);
    pub(super) const OUTPUT: Self = Self(2);
    pub(super) const STOP: Self = Self(4);
    const TIME: Self = Self(8);
    const ALL: [Self; 4] = [Self::LEADER, Self::OUTPUT, Self::STOP, Self::TIME];

    pub(super) const fn contains(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

/// The descriptors beside those of the leader.
pub(super) struct Events {
    /// Counts suspend.
    timer: TimerFd,
    stop: SignalFd,
    output_open: bool,
}

impl Events {
    pub(super) fn new() -> io::Result<Self> {
        let flags = TimerFlags::TFD_CLOEXEC | TimerFlags::TFD_NONBLOCK;
        Ok(Self {
            timer: TimerFd::new(ClockId::CLOCK_BOOTTIME, flags)?,
            stop: SignalFd::with_flags(&stop_signals(), SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?,
            output_open: true,
        })
    }

    /// Everybody has closed the other end.
    pub(super) const fn forget_output(&mut self) {
        self.output_open = false;
    }

    /// Waits for an event, at most until `wake_at` (time since boot).
    pub(super) fn wait(&mut self, leader: &Leader, wake_at: Duration) -> io::Result<Ready> {
        // Zero would disarm it.
        let at = TimeSpec::from_duration(wake_at.max(Duration::from_nanos(1)));
        self.timer.set(Expiration::OneShot(at), TimerSetTimeFlags::TFD_TIMER_ABSTIME)?;
        let all = [leader.pidfd.as_fd(), leader.output.as_fd(), self.stop.as_fd(), self.timer.as_fd()];
        let ready = self.poll(all)?;
        if ready.contains(Ready::STOP) {
            self.stop.read_signal()?;
        }
        Ok(ready)
    }

    fn poll(&self, fds: [BorrowedFd<'_>; 4]) -> io::Result<Ready> {
        let mut polled = fds.map(|fd| PollFd::new(fd, PollFlags::POLLIN));
        if !self.output_open {
            // An end of file would be reported for ever.
            polled[1] = PollFd::new(fds[0], PollFlags::empty());
        }
        match poll(&mut polled, PollTimeout::NONE) {
            Ok(_) => {}
            Err(Errno::EINTR) => return Ok(Ready::default()),
            Err(error) => return Err(error.into()),
        }
        let happened = polled.iter().zip(Ready::ALL).filter(|(fd, _)| fd.any() == Some(true));
        Ok(happened.fold(Ready::default(), |all, (_, one)| Ready(all.0 | one.0)))
    }
}
