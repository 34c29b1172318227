//! What SQLite may remove in this process: what a crash has left of our own database, and nothing else.
//!
//! Whoever may write beside the database can put a rollback journal there that names any file at all; undoing it, SQLite
//! would remove that file with our rights. A look before the database is opened is not enough: the journal may be put
//! there a moment later.

use std::{
    ffi::{CStr, OsStr, c_char, c_int},
    mem,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    ptr,
    sync::OnceLock,
};

use nix::errno::Errno;
use rusqlite::ffi;

/// A system call as SQLite takes it.
type Plain = unsafe extern "C" fn();
/// And as this one is.
type Unlink = unsafe extern "C" fn(*const c_char) -> c_int;

static DATABASE: OnceLock<PathBuf> = OnceLock::new();

/// From now on no file is removed by SQLite but those that lie beside this database and bear its name.
pub fn guard(database: &Path) {
    if DATABASE.set(database.to_owned()).is_err() {
        return; // it is guarded already
    }
    let ours: Unlink = unlink;
    // SAFETY: the default VFS lives as long as the process, no other thread uses SQLite yet, and SQLite calls what it
    // was given for "unlink" with the arguments and the result of unlink(2), which are those of `ours`.
    unsafe {
        let vfs = ffi::sqlite3_vfs_find(ptr::null());
        if let Some(set) = vfs.as_ref().and_then(|vfs| vfs.xSetSystemCall) {
            set(vfs, c"unlink".as_ptr(), Some(mem::transmute::<Unlink, Plain>(ours)));
        }
    }
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
