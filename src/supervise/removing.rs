//! What SQLite's system calls do in this process.
//!
//! It may remove what a crash has left of our own database, and nothing else. A quota that is used up is a disk without
//! space: SQLite itself only knows the latter, and would take the former for a fault of the disk.
//!
//! Whoever may write beside the database can put a rollback journal there that names any file at all; undoing it, SQLite
//! would remove that file with our rights. A look before the database is opened is not enough: the journal may be put
//! there a moment later.

use std::{
    ffi::{CStr, OsStr, c_char, c_int, c_void},
    mem,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    ptr,
    sync::OnceLock,
};

use libc::{off64_t, size_t, ssize_t};
use nix::errno::Errno;
use rusqlite::ffi;

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
