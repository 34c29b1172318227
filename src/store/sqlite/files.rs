//! The files that a database consists of, and whether they may be opened.

use std::{
    ffi::OsString,
    fs::{self, OpenOptions},
    io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use anyhow::anyhow;
use rusqlite::ErrorCode;

use crate::{
    model::failpoint,
    site::is_out_of_space,
    store::{Result, StoreError},
};

/// The name of a file that SQLite keeps beside the database.
pub(super) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    name.into()
}

/// The path of a database that may be opened by whoever is trusted more than those who can write beside it.
///
/// SQLite takes a file with `-journal` behind its name for what is left of a crash, and does what it says, which can be
/// the removal of any file at all; a database of ours has none. A second name of one of the files can be that of
/// something else, which would be written to.
pub(super) fn trusted(path: &Path) -> Result<PathBuf> {
    let real = without_links(path)?;
    let refused = |path: &Path, what: &str| {
        Err(StoreError::Other(anyhow!("{} {what}; nothing is opened until it is moved away", path.display())))
    };
    let journal = beside(&real, "-journal");
    if fs::symlink_metadata(&journal).is_ok() {
        return refused(&journal, "is none of pressroom's files");
    }
    for path in [real.clone(), beside(&real, "-wal"), beside(&real, "-shm")] {
        match fs::symlink_metadata(&path) {
            Ok(about) if !(about.is_file() || about.is_symlink() || about.is_dir() && path == real) => {
                return refused(&path, "is not a regular file");
            }
            Ok(about) if about.is_file() && about.nlink() > 1 => {
                return refused(&path, "has another name (a hard link)");
            }
            _ => {}
        }
    }
    failpoint::at("store-looked");
    Ok(real)
}

/// The same file by a path without links, up to its own name. SQLite's check knows no difference between links of the
/// admin's above the directory and one in the file's place.
fn without_links(path: &Path) -> Result<PathBuf> {
    let (Some(dir), Some(name)) = (path.parent(), path.file_name()) else { return Ok(path.to_owned()) };
    match dir.canonicalize() {
        Ok(dir) => Ok(dir.join(name)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(StoreError::Missing),
        Err(error) => Err(StoreError::Other(anyhow!("cannot open {}: {error}", path.display()))),
    }
}

/// Whether not even an empty file can be made beside the database, as its log and the index of that have to be.
pub(super) fn has_no_room(path: &Path) -> bool {
    let probe = beside(path, &format!("-probe-{}", std::process::id()));
    let made = OpenOptions::new().write(true).create_new(true).open(&probe);
    let _ = made.is_ok().then(|| fs::remove_file(&probe));
    made.is_err_and(|error| is_out_of_space(&error))
}

/// SQLite only says that it cannot open a file; the file system knows why.
pub(super) fn explain(path: &Path, error: rusqlite::Error) -> StoreError {
    if error.sqlite_error_code() != Some(ErrorCode::CannotOpen) {
        return error.into();
    }
    match OpenOptions::new().read(true).write(true).open(path) {
        Err(reason) if reason.kind() == io::ErrorKind::NotFound => StoreError::Missing,
        Err(reason) => StoreError::Other(anyhow!("cannot open {}: {reason}", path.display())),
        Ok(_) if path.is_symlink() => StoreError::Other(anyhow!(
            "{} is a symbolic link; put the database itself there, or set `database` to where it is",
            path.display()
        )),
        Ok(_) => StoreError::Other(anyhow!("cannot open {}: {error}", path.display())),
    }
}
