//! What `/proc` says of processes. Every answer may be out of date when it is read; a process that has vanished is no
//! error, and nothing else means that it has.
//!
//! A hold on one process, through which a signal reaches nobody else.
//!
//! A pidfd is one. Where the kernel has none to give (before Linux 5.3, in a sandbox, or with all descriptors in use),
//! the number and the start of the process are looked at once more right before each signal.

use std::{
    fs::{self, File},
    io::{self, Read},
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::fs::MetadataExt,
    },
};

use nix::{
    errno::Errno,
    sys::signal::{Signal, kill},
    unistd::{Pid, Uid},
};

use super::sys;
use crate::model::{passing, process::ProcessId};

/// The fields of `/proc/PID/stat` that matter here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stat {
    pub process: ProcessId,
    pub parent: i32,
    pub group: i32,
    pub session: i32,
    /// `R`, `S`, `D`, `T`, `Z` and so on.
    pub state: u8,
    /// Ticks that it used itself.
    pub own: u64,
    /// Ticks of the children that it has waited for, and theirs.
    pub waited: u64,
    pub threads: u64,
    /// Pages.
    pub resident: u64,
}

impl Stat {
    /// It has ended; only its parent's waiting is missing. A main thread can end before the others do.
    pub(super) const fn is_dead(&self) -> bool {
        matches!(self.state, b'Z' | b'X') && self.threads <= 1
    }
}

impl ProcessId {
    /// The calling process.
    pub fn this() -> io::Result<Self> {
        Self::of(nix::unistd::getpid().as_raw())
    }

    /// The process that has this number now.
    pub(super) fn of(pid: i32) -> io::Result<Self> {
        let gone = || io::Error::from(nix::errno::Errno::ESRCH);
        Ok(stat(pid)?.ok_or_else(gone)?.process)
    }

    /// Whether it is still there and has not ended.
    pub fn is_alive(self) -> io::Result<bool> {
        Ok(stat(self.pid)?.is_some_and(|now| now.process == self && !now.is_dead()))
    }
}

/// All process numbers, in ascending order as the kernel lists them.
pub(super) fn pids() -> io::Result<Vec<i32>> {
    let mut pids = Vec::new();
    for entry in fs::read_dir("/proc").map_err(|error| unreadable("/proc", &error))? {
        let name = entry.map_err(|error| unreadable("/proc", &error))?.file_name();
        pids.extend(name.to_str().and_then(|name| name.parse::<i32>().ok()));
    }
    Ok(pids)
}

/// `None`: there is no such process, or it is hidden from us (`hidepid`), as none of our own is.
pub(super) fn stat(pid: i32) -> io::Result<Option<Stat>> {
    let path = format!("/proc/{pid}/stat");
    let mut buffer = [0; 1024];
    let read = File::open(&path).and_then(|mut file| file.read(&mut buffer));
    let Some(length) = ours(read, &path)? else { return Ok(None) };
    let odd = || io::Error::new(io::ErrorKind::InvalidData, format!("{path} is not what it should be"));
    parse(pid, &buffer[..length]).map(Some).ok_or_else(odd)
}

/// What was read of a process; `None` if it has vanished.
fn there<T>(read: io::Result<T>, path: &str) -> io::Result<Option<T>> {
    match read {
        Ok(value) => Ok(Some(value)),
        Err(error) if is(&error, &[Errno::ENOENT, Errno::ESRCH]) => Ok(None),
        Err(error) => Err(unreadable(path, &error)),
    }
}

/// The same, and `None` if it is somebody else's.
fn ours<T>(read: io::Result<T>, path: &str) -> io::Result<Option<T>> {
    match read {
        Err(error) if is(&error, &[Errno::EACCES, Errno::EPERM]) => Ok(None),
        read => there(read, path),
    }
}

fn is(error: &io::Error, known: &[Errno]) -> bool {
    error.raw_os_error().is_some_and(|number| known.contains(&Errno::from_raw(number)))
}

fn unreadable(path: &str, error: &io::Error) -> io::Error {
    passing::with_cause(&format!("cannot read {path}"), error)
}

/// The name stands in parentheses and may hold anything, parentheses included.
fn parse(pid: i32, text: &[u8]) -> Option<Stat> {
    let end = text.iter().rposition(|byte| *byte == b')')?;
    let rest = std::str::from_utf8(text.get(end + 2..)?).ok()?;
    let fields: Vec<&str> = rest.split(' ').take(22).collect();
    // The numbers of proc(5), in which the state is field 3.
    let number = |field: usize| fields.get(field - 3)?.parse::<i64>().ok();
    let count = |field| number(field).map(|value| u64::try_from(value).unwrap_or(0));
    Some(Stat {
        process: ProcessId { pid, start: count(22)? },
        parent: i32::try_from(number(4)?).ok()?,
        group: i32::try_from(number(5)?).ok()?,
        session: i32::try_from(number(6)?).ok()?,
        state: *fields.first()?.as_bytes().first()?,
        own: count(14)? + count(15)?,
        waited: count(16)? + count(17)?,
        threads: count(20)?,
        resident: count(24)?,
    })
}

/// Whether the user of the calling process started it, whatever rights it has taken since. `None`: it has vanished.
pub(super) fn is_of_our_user(pid: i32) -> io::Result<Option<bool>> {
    let path = format!("/proc/{pid}/status");
    let Some(text) = ours(fs::read_to_string(&path), &path)? else { return Ok(None) };
    let us = Uid::effective().as_raw();
    // Real, effective, saved and that of the file system. The first and the third say who may signal it.
    let line = text.lines().find_map(|line| line.strip_prefix("Uid:")).unwrap_or_default();
    Ok(Some(line.split_ascii_whitespace().step_by(2).take(2).any(|uid| uid.parse() == Ok(us))))
}

/// The attempt in the process's environment. The kernel refuses strangers' environments, and kernel threads have none.
pub(super) fn cookie(pid: i32) -> io::Result<Option<String>> {
    let path = format!("/proc/{pid}/environ");
    let mut environ = Vec::new();
    ours(File::open(&path).and_then(|file| file.take(1 << 20).read_to_end(&mut environ)), &path)?;
    let value = environ.split(|byte| *byte == 0).find_map(|entry| entry.strip_prefix(b"PRESSROOM_ATTEMPT="));
    Ok(value.map(|value| String::from_utf8_lossy(value).into_owned()))
}

/// Device, inode and bytes on the disk of the files that the process has open and that have no name any more. What it
/// does not let us see is not counted.
pub(super) fn unnamed(pid: i32) -> impl Iterator<Item = (u64, u64, u64)> {
    let fds = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let files = fds.filter_map(|entry| fs::metadata(entry.path()).ok());
    let unnamed = files.filter(|meta| meta.is_file() && meta.nlink() == 0);
    unnamed.map(|meta| (meta.dev(), meta.ino(), meta.blocks() * 512))
}

/// Proportional resident bytes: shared pages are counted once over all that share them. Dear to ask.
pub(super) fn pss(pid: i32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("Pss:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kib| kib * 1024)
}

/// The process's short name, for people.
pub(super) fn name(pid: i32) -> String {
    fs::read_to_string(format!("/proc/{pid}/comm")).map_or_else(|_| "?".into(), |name| name.trim().into())
}

/// The kernel function that it sleeps in, if the kernel tells.
pub(super) fn sleeps_in(pid: i32) -> Option<String> {
    fs::read_to_string(format!("/proc/{pid}/wchan")).ok().filter(|name| !name.is_empty() && name != "0")
}

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

/// Why processes have to be held by their numbers on this machine; `None` if they need not.
pub fn without_pidfd() -> Option<io::Error> {
    sys::pidfd_open(nix::unistd::getpid().as_raw()).err()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_and_spaces_does_not_shift_the_fields() {
        let text = b"7 (a) R 1 (x) S 3 4 5 0 -1 4 0 0 0 0 10 20 30 40 20 0 1 0 777 9000 12 99";
        let stat = parse(7, text).expect("parses");
        assert_eq!((stat.state, stat.parent, stat.group, stat.session), (b'S', 3, 4, 5));
        assert_eq!((stat.own, stat.waited, stat.process.start, stat.resident), (30, 70, 777, 12));
    }

    #[test]
    fn we_see_ourselves() {
        let pid = i32::try_from(std::process::id()).expect("fits");
        assert!(pids().expect("readable").contains(&pid));
        let stat = stat(pid).expect("readable").expect("we are there");
        assert!(!stat.is_dead() && stat.resident > 0);
        assert_eq!(is_of_our_user(pid).expect("readable"), Some(true));
        assert!(pss(pid).is_some_and(|bytes| bytes > 0));
    }
}
