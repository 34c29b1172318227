//! The system calls that neither the standard library nor nix wraps.

use std::{
    io,
    mem::MaybeUninit,
    os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd},
    time::Duration,
};

use nix::sys::{signal::Signal, wait::WaitPidFlag};

/// A descriptor for a process; it never passes to another process of the same number.
pub(super) fn pidfd_open(pid: i32) -> io::Result<OwnedFd> {
    // SAFETY: takes two integers and returns a new descriptor, close-on-exec, or -1.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
    let fd = i32::try_from(fd).ok().filter(|fd| *fd >= 0).ok_or_else(io::Error::last_os_error)?;
    // SAFETY: the kernel has just made this descriptor, and nobody else knows it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Signals the process behind a pidfd.
pub(super) fn pidfd_signal(pidfd: BorrowedFd<'_>, signal: Signal) -> io::Result<()> {
    // SAFETY: a valid descriptor, a valid signal, no siginfo, no flags; no memory is touched.
    let done = unsafe {
        libc::syscall(libc::SYS_pidfd_send_signal, pidfd.as_raw_fd(), signal as i32, std::ptr::null::<u8>(), 0)
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// A child that was reaped, and what it and its own reaped children used.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reaped {
    /// As wait(2) gives it: real-time signals have no name in nix.
    pub status: i32,
    pub cpu: Duration,
    /// Bytes that the largest single process of them had resident.
    pub peak_rss: u64,
}

/// Reaps a child that has ended; `None` if it has not, or is no child of ours.
pub(super) fn reap(pid: i32) -> Option<Reaped> {
    let mut status = 0;
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: both pointers are valid for the call.
    let reaped = unsafe { libc::wait4(pid, &raw mut status, WaitPidFlag::WNOHANG.bits(), usage.as_mut_ptr()) };
    if reaped != pid {
        return None;
    }
    // SAFETY: all bytes were zero, which is a valid rusage, and the kernel has filled it in.
    let usage = unsafe { usage.assume_init() };
    Some(Reaped {
        status,
        cpu: duration(usage.ru_utime) + duration(usage.ru_stime),
        peak_rss: u64::try_from(usage.ru_maxrss).unwrap_or(0) * 1024,
    })
}

/// Whether a child of ours has ended; it is not reaped. One that another process traces has not, until that lets it go.
pub(super) fn has_ended(pid: i32) -> bool {
    let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
    let ended = nix::sys::wait::waitid(nix::sys::wait::Id::Pid(nix::unistd::Pid::from_raw(pid)), flags);
    !matches!(ended, Ok(nix::sys::wait::WaitStatus::StillAlive))
}

/// Whether this process has a child at all, ended or not. While it is the subreaper nobody who descends from it can be
/// without an ancestor among its children, so `false` is the kernel's word that the whole tree is gone.
pub(super) fn has_children() -> bool {
    let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT | WaitPidFlag::__WALL;
    !matches!(nix::sys::wait::waitid(nix::sys::wait::Id::All, flags), Err(nix::errno::Errno::ECHILD))
}

fn duration(time: libc::timeval) -> Duration {
    let micros = i128::from(time.tv_sec) * 1_000_000 + i128::from(time.tv_usec);
    Duration::from_micros(u64::try_from(micros).unwrap_or(0))
}

/// Clock ticks per second and bytes per page, the units of `/proc/PID/stat`.
pub(super) fn units() -> (u64, u64) {
    let ask = |name| nix::unistd::sysconf(name).ok().flatten().and_then(|value| u64::try_from(value).ok());
    (ask(nix::unistd::SysconfVar::CLK_TCK).unwrap_or(100), ask(nix::unistd::SysconfVar::PAGE_SIZE).unwrap_or(4096))
}

/// Whether somebody may have the file open for writing, or mapped so: then the kernel refuses a lease on it. Where it gives
/// out none at all, as on some network file systems, nobody knows. `file` has to be open for reading alone.
pub fn may_be_written(file: &std::fs::File) -> bool {
    // SAFETY: a valid descriptor and integers.
    let set = |lease: libc::c_int| unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETLEASE, lease) } == 0;
    let granted = set(libc::F_RDLCK);
    if granted {
        set(libc::F_UNLCK); // who wants to write later need not wait for us
    }
    !granted
}

/// Fills the buffer with random bytes from the kernel; it never waits.
///
/// # Errors
/// The kernel has none yet, soon after its start, or the call is not allowed.
fn random(buffer: &mut [u8]) -> io::Result<()> {
    let mut filled = 0;
    while filled < buffer.len() {
        let rest = &mut buffer[filled..];
        // SAFETY: the buffer is valid for its length.
        let got = unsafe { libc::getrandom(rest.as_mut_ptr().cast(), rest.len(), libc::GRND_NONBLOCK) };
        match usize::try_from(got) {
            Ok(got) => filled += got,
            Err(_) => match io::Error::last_os_error() {
                error if error.kind() == io::ErrorKind::Interrupted => {}
                error => return Err(io::Error::new(error.kind(), format!("cannot get random numbers: {error}"))),
            },
        }
    }
    Ok(())
}

/// Eighty random bits, the part of a ULID that is not the time.
pub fn random_bits() -> io::Result<u128> {
    let mut bytes = [0; 16];
    random(&mut bytes[..10])?;
    Ok(u128::from_le_bytes(bytes))
}

/// What would send the signal fails with an error in its place.
pub(super) fn ignore_signal(signal: Signal) -> io::Result<()> {
    // SAFETY: ignoring runs no code of ours.
    unsafe { nix::sys::signal::signal(signal, nix::sys::signal::SigHandler::SigIgn) }?;
    Ok(())
}

/// Gives a signal its default meaning.
pub(super) fn default_signal(signal: Signal) -> io::Result<()> {
    // SAFETY: the default action runs no code of ours.
    unsafe { nix::sys::signal::signal(signal, nix::sys::signal::SigHandler::SigDfl) }?;
    Ok(())
}

/// Whether a time service stands by the wall clock, as far as the kernel knows; setting the clock by hand ends that.
pub fn clock_is_synchronised() -> bool {
    if let Some(told) = test_synchronised() {
        return told;
    }
    let mut state = MaybeUninit::<libc::timex>::zeroed();
    // SAFETY: the pointer is valid for the call. Without modes nothing is changed.
    let answer = unsafe { libc::adjtimex(state.as_mut_ptr()) };
    // SAFETY: all bytes were zero, which is a valid timex, and the kernel may have filled it in.
    let state = unsafe { state.assume_init() };
    (0..libc::TIME_ERROR).contains(&answer) && state.status & libc::STA_UNSYNC == 0
}

/// A clock that a test has set is synchronised, unless there is a file of its name and `.unsynchronised`.
#[cfg(debug_assertions)]
fn test_synchronised() -> Option<bool> {
    let mut file = std::env::var_os("PRESSROOM_TEST_CLOCK")?;
    file.push(".unsynchronised");
    Some(!std::path::Path::new(&file).exists())
}

#[cfg(not(debug_assertions))]
const fn test_synchronised() -> Option<bool> {
    None
}
