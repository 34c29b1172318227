//! What wakes the supervisor: the end of a process, output, a request to stop, time.

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

use super::stage::stop_signals;

/// A set of events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ReadySources(u8);

impl ReadySources {
    /// A process that is waited for has ended.
    pub(super) const ENDED: Self = Self(1);
    pub(super) const OUTPUT: Self = Self(2);
    pub(super) const STOP: Self = Self(4);
    const TIME: Self = Self(8);
    const ALL: [Self; 3] = [Self::OUTPUT, Self::STOP, Self::TIME];

    pub(super) const fn contains(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

/// The descriptors beside those of processes.
#[derive(Debug)]
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

    /// Waits for an event, at most until `wake_at` (time since boot): output, or the end of one of `pidfds`.
    pub(super) fn wait(
        &mut self,
        pidfds: &[BorrowedFd<'_>],
        output: BorrowedFd<'_>,
        wake_at: Duration,
    ) -> io::Result<ReadySources> {
        // Zero would disarm it.
        let at = TimeSpec::from_duration(wake_at.max(Duration::from_nanos(1)));
        self.timer.set(Expiration::OneShot(at), TimerSetTimeFlags::TFD_TIMER_ABSTIME)?;
        let ready = self.poll(pidfds, output)?;
        if ready.contains(ReadySources::STOP) {
            self.stop.read_signal()?;
        }
        Ok(ready)
    }

    fn poll(&self, pidfds: &[BorrowedFd<'_>], output: BorrowedFd<'_>) -> io::Result<ReadySources> {
        // An end of file would be reported for ever.
        let output = if self.output_open { output } else { self.timer.as_fd() };
        let own = [output, self.stop.as_fd(), self.timer.as_fd()];
        let all = own.iter().chain(pidfds);
        let mut polled: Vec<PollFd> = all.map(|fd| PollFd::new(*fd, PollFlags::POLLIN)).collect();
        match poll(&mut polled, PollTimeout::NONE) {
            Ok(_) => {}
            Err(Errno::EINTR) => return Ok(ReadySources::default()),
            Err(error) => return Err(error.into()),
        }
        let meanings = ReadySources::ALL.into_iter().chain(std::iter::repeat(ReadySources::ENDED));
        let happened = polled.iter().zip(meanings).filter(|(fd, _)| fd.any() == Some(true));
        let ready = happened.fold(ReadySources::default(), |all, (_, one)| ReadySources(all.0 | one.0));
        Ok(if self.output_open { ready } else { ReadySources(ready.0 & !ReadySources::OUTPUT.0) })
    }
}
