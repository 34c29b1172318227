//! When an exporter began: `bench/stamp.c` writes the monotonic clock into a FIFO.

use std::{
    fs::{File, OpenOptions},
    io::Read,
    os::{fd::AsFd, unix::fs::OpenOptionsExt},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};
use nix::{
    libc::O_NONBLOCK,
    poll::{PollFd, PollFlags, poll},
    sys::stat::Mode,
    time::{ClockId, clock_gettime},
    unistd::mkfifo,
};

/// Longer than any queue takes to start a job while nothing else waits.
const PATIENCE_MS: u16 = 30_000;

pub struct Stamps {
    pub path: PathBuf,
    fifo: File,
}

impl Stamps {
    pub fn new(room: &Path) -> Result<Self> {
        let path = room.join("stamps");
        mkfifo(&path, Mode::from_bits_truncate(0o600)).context("cannot make a FIFO")?;
        // Opened for both, so that a writer never waits and the end of the last writer is not the end of the file.
        let fifo = OpenOptions::new().read(true).write(true).custom_flags(O_NONBLOCK).open(&path)?;
        Ok(Self { path, fifo })
    }

    /// Nanoseconds, when the next exporter began.
    pub fn next(&mut self) -> Result<i64> {
        let mut fds = [PollFd::new(self.fifo.as_fd(), PollFlags::POLLIN)];
        ensure!(poll(&mut fds, PATIENCE_MS)? > 0, "no job began");
        let mut line = [0; 64];
        let length = self.fifo.read(&mut line)?;
        std::str::from_utf8(&line[..length])?.trim().parse().context("a stamp is one number")
    }
}

/// Nanoseconds on the same clock.
pub fn now() -> Result<i64> {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC)?;
    Ok(now.tv_sec() * 1_000_000_000 + now.tv_nsec())
}
