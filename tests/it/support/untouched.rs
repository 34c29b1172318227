//! That something writes nothing.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::{FileTypeExt, MetadataExt},
    path::{Path, PathBuf},
};

use super::site::Site;

/// Mode, owner, size, time and bytes of everything below a directory. Not the ctime: for root SQLite confirms the owner
/// of what lies beside a database, which changes nothing else.
#[derive(Debug, PartialEq)]
pub struct Seen {
    mode: u32,
    owner: (u32, u32),
    size: u64,
    inode: u64,
    mtime: (i64, i64),
    bytes: Vec<u8>,
}

pub fn listing(dir: &Path, into: &mut BTreeMap<PathBuf, Seen>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let about = fs::symlink_metadata(&path).unwrap();
        let readable = about.is_file() && !about.file_type().is_fifo();
        let seen = Seen {
            mode: about.mode(),
            owner: (about.uid(), about.gid()),
            size: about.size(),
            inode: about.ino(),
            mtime: (about.mtime(), about.mtime_nsec()),
            bytes: if readable { fs::read(&path).unwrap() } else { Vec::new() },
        };
        into.insert(path.clone(), seen);
        if about.is_dir() {
            listing(&path, into);
        }
    }
}

/// Runs it and compares the whole state directory before and after.
#[track_caller]
pub fn writes_nothing<T>(site: &Site, run: impl FnOnce() -> T) -> T {
    let (mut before, mut after) = (BTreeMap::new(), BTreeMap::new());
    listing(&site.path("s"), &mut before);
    let done = run();
    listing(&site.path("s"), &mut after);
    let paths: Vec<_> =
        before.keys().chain(after.keys()).filter(|path| before.get(*path) != after.get(*path)).collect();
    assert!(paths.is_empty(), "changed: {paths:?}");
    done
}
