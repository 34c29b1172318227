//! The system calls that neither the standard library nor nix wraps, and the two other places that are unsafe: the heap and
//! what SQLite's system calls do in this process.
//!
//! Where the machine gives no more memory the program says so and ends with a code of its own: the standard
//! library would end it by a signal, which looks like a fault of ours.
//!
//! SQLite may remove what a crash has left of our own database, and nothing else. A quota that is used up is a disk without
//! space: SQLite itself only knows the latter, and would take the former for a fault of the disk.
//!
//! Whoever may write beside the database can put a rollback journal there that names any file at all; undoing it, SQLite
//! would remove that file with our rights. A look before the database is opened is not enough: the journal may be put
//! there a moment later.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    ffi::{CStr, OsStr, c_char, c_int, c_void},
    fs, io,
    mem::{self, MaybeUninit},
    os::{
        fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd},
        unix::ffi::OsStrExt,
    },
    path::{Path, PathBuf},
    ptr,
    sync::OnceLock,
    time::Duration,
};

use libc::{off64_t, size_t, ssize_t};
use nix::{
    errno::Errno,
    libc,
    sys::{signal::Signal, wait::WaitPidFlag},
};
use rusqlite::ffi;

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
#[cfg(any(debug_assertions, feature = "failpoints"))]
fn test_synchronised() -> Option<bool> {
    let mut file = std::env::var_os("PRESSROOM_TEST_CLOCK")?;
    file.push(".unsynchronised");
    Some(!std::path::Path::new(&file).exists())
}

#[cfg(not(any(debug_assertions, feature = "failpoints")))]
const fn test_synchronised() -> Option<bool> {
    None
}

/// `EX_IOERR`, as for whatever else the machine refuses.
const EXIT: libc::c_int = 74;
const SENTENCE: &[u8] =
    b"pressroom: the machine gives no more memory; free some, or raise the limit that cron or the web server sets\n";

#[global_allocator]
static HEAP: Heap = Heap;

/// The system's allocator, which never fails: the process ends in its place.
struct Heap;

// SAFETY: everything is done by the system's allocator, and what it returns is returned as it is.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract.
        given(unsafe { System.alloc(layout) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract.
        given(unsafe { System.alloc_zeroed(layout) })
    }

    unsafe fn realloc(&self, old: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller keeps the contract.
        given(unsafe { System.realloc(old, layout, size) })
    }

    unsafe fn dealloc(&self, old: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract.
        unsafe { System.dealloc(old, layout) }
    }
}

fn given(memory: *mut u8) -> *mut u8 {
    if memory.is_null() {
        end();
    }
    memory
}

/// Nothing is cleaned up, as after a kill: everything that is kept on the disk stands that.
#[cold]
fn end() -> ! {
    // SAFETY: the text is valid for its length; neither call needs the heap.
    unsafe {
        libc::write(libc::STDERR_FILENO, SENTENCE.as_ptr().cast(), SENTENCE.len());
        libc::_exit(EXIT)
    }
}

/// Gives the pages of the program's own instructions and constants back: a process that sleeps for long need not keep them mapped.
/// The kernel has them in its cache, from where they come again one by one as they are needed.
pub fn give_back() {
    let maps = fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let Ok(program) = fs::read_link("/proc/self/exe") else { return };
    let ours = maps.lines().filter(|line| line.split_once('/').is_some_and(|(_, path)| program.ends_with(path)));
    for (start, end) in ours.filter_map(untouched) {
        // SAFETY: the mapping is private, of the program's file and not writable, and nothing has relocated it: it holds
        // what is in the file, and is read from there again when it is touched.
        unsafe {
            libc::madvise(start as *mut libc::c_void, end - start, libc::MADV_DONTNEED);
        }
    }
}

/// The bounds of a mapping that nobody has ever written to, from a line of `/proc/self/maps`: what is executed, and what
/// stands at the beginning of the file. (Constants that hold addresses are written once and then protected; they lie
/// behind.)
fn untouched(line: &str) -> Option<(usize, usize)> {
    let mut words = line.split_ascii_whitespace();
    let (range, mode, offset) = (words.next()?, words.next()?, words.next()?);
    let (start, end) = range.split_once('-')?;
    let number = |text| usize::from_str_radix(text, 16).ok();
    let untouched = mode == "r-xp" || mode == "r--p" && number(offset)? == 0;
    if untouched { Some((number(start)?, number(end)?)) } else { None }
}

/// A system call as SQLite takes it.
type Plain = unsafe extern "C" fn();
/// And as this one is.
type Unlink = unsafe extern "C" fn(*const c_char) -> c_int;
type Write = unsafe extern "C" fn(c_int, *const c_void, size_t) -> ssize_t;
type WriteAt = unsafe extern "C" fn(c_int, *const c_void, size_t, off64_t) -> ssize_t;

static DATABASE: OnceLock<PathBuf> = OnceLock::new();

/// From now on no file is removed by SQLite but those that lie beside this database and bear its name.
pub fn guard(database: &Path) {
    if DATABASE.set(database.to_owned()).is_err() {
        return; // it is guarded already
    }
    let (remove, write, write_at): (Unlink, Write, WriteAt) = (unlink, write, pwrite);
    // SAFETY: the default VFS lives as long as the process, no other thread uses SQLite yet, and SQLite calls what it
    // was given for "unlink" with the arguments and the result of unlink(2), which are those of `remove`; for "write"
    // and, with 64 bits for the place in the file, "pwrite" and "pwrite64" the same holds.
    unsafe {
        let vfs = ffi::sqlite3_vfs_find(ptr::null());
        if let Some(set) = vfs.as_ref().and_then(|vfs| vfs.xSetSystemCall) {
            set(vfs, c"unlink".as_ptr(), Some(mem::transmute::<Unlink, Plain>(remove)));
            set(vfs, c"write".as_ptr(), Some(mem::transmute::<Write, Plain>(write)));
            for name in [c"pwrite", c"pwrite64"] {
                set(vfs, name.as_ptr(), Some(mem::transmute::<WriteAt, Plain>(write_at)));
            }
        }
    }
}

unsafe extern "C" fn write(file: c_int, bytes: *const c_void, length: size_t) -> ssize_t {
    // SAFETY: SQLite gives a descriptor of its own and a buffer of this length.
    told(unsafe { libc::write(file, bytes, length) })
}

unsafe extern "C" fn pwrite(file: c_int, bytes: *const c_void, length: size_t, at: off64_t) -> ssize_t {
    // SAFETY: as above.
    told(unsafe { libc::pwrite64(file, bytes, length, at) })
}

fn told(written: ssize_t) -> ssize_t {
    if written < 0 && Errno::last() == Errno::EDQUOT {
        Errno::ENOSPC.set();
    }
    written
}

unsafe extern "C" fn unlink(path: *const c_char) -> c_int {
    // SAFETY: SQLite gives a string that ends in NUL.
    let name = unsafe { CStr::from_ptr(path) };
    if !may_go(Path::new(OsStr::from_bytes(name.to_bytes()))) {
        Errno::EPERM.set();
        return -1;
    }
    // SAFETY: as above.
    unsafe { libc::unlink(path) }
}

fn may_go(path: &Path) -> bool {
    let Some(database) = DATABASE.get() else { return false };
    let is_beside = path.parent().zip(database.parent()).is_some_and(|(one, other)| {
        one.canonicalize().is_ok_and(|one| other.canonicalize().is_ok_and(|other| one == other))
    });
    let bears_its_name = path.file_name().zip(database.file_name()).is_some_and(|(name, ours)| {
        name.as_bytes().strip_prefix(ours.as_bytes()).is_some_and(|ending| ending.starts_with(b"-"))
    });
    is_beside && bears_its_name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_never_written_is_given_back() {
        let line = |mode| format!("003b1000-009eb000 {mode} fe:00 123 /usr/bin/pressroom");
        for mode in ["r-xp 001b0000", "r--p 00000000"] {
            assert_eq!(untouched(&line(mode)), Some((0x003b_1000, 0x009e_b000)));
        }
        for mode in ["r--p 00100000", "rw-p 00000000", "rwxp 00000000", "r-xs 001b0000"] {
            assert_eq!(untouched(&line(mode)), None);
        }
        assert_eq!(untouched("nonsense"), None);
    }

    #[test]
    fn the_program_goes_on_with_less_memory() {
        let mapped = || {
            let text = fs::read_to_string("/proc/self/smaps_rollup").unwrap();
            let line = text.lines().find_map(|line| line.strip_prefix("Rss:")).unwrap();
            line.trim().trim_end_matches(" kB").parse::<u64>().unwrap()
        };
        let before = mapped();
        give_back();
        assert!(mapped() < before, "{before} kB before");
    }
}
