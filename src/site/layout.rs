//! What a state directory consists of, and the marker that makes a directory ours. It is written into an empty directory
//! only, before anything else.

use std::{
    ffi::OsStr,
    io::{Read, Write},
    path::PathBuf,
};

use anyhow::{Context as _, bail};

use super::{
    Site,
    dir::{Dir, FileKind},
    shared,
};
use crate::config::Config;

/// The mode of the state directory itself.
pub(super) const TOP_MODE: u32 = 0o2750;

/// One thing that has to be there.
#[derive(Clone, Debug)]
pub(super) struct Item {
    pub path: PathBuf,
    pub kind: FileKind,
    pub mode: u32,
    /// Made by either of two users, it is right whoever owns it.
    pub shared: bool,
}

pub(super) fn marker(site: &Site) -> Item {
    Item { path: site.state_dir.join(MARKER), kind: FileKind::File, mode: 0o640, shared: false }
}

/// Everything below the state directory, each directory before what lies in it.
pub(super) fn items(site: &Site, config: &Config) -> Vec<Item> {
    let item = |path, kind, mode, shared| Item { path, kind, mode, shared };
    vec![
        marker(site),
        item(site.cache(), FileKind::Directory, 0o2750, false),
        item(site.work(), FileKind::Directory, 0o700, false),
        item(site.log(), FileKind::Directory, 0o700, false),
        item(site.queue(), FileKind::Directory, 0o2770, false),
        tick_lock(site),
        item(site.tick_next(), FileKind::File, 0o600, false),
        item(config.database.clone(), FileKind::File, 0o660, true),
        item(site.doorbell(), FileKind::Fifo, 0o660, true),
        item(site.reserve(), FileKind::File, 0o660, true),
    ]
}

/// The directories of exporters in the cache, as far as there are any: runs make them, and must be able to publish there.
pub(super) fn shelves(site: &Site, config: &Config) -> Vec<Item> {
    let all = config.exporters.keys().map(|name| shelf(site, name));
    all.filter(|item| item.path.symlink_metadata().is_ok()).collect()
}

/// One of them.
pub(super) fn shelf(site: &Site, exporter: &str) -> Item {
    Item { path: site.cache().join(exporter), kind: FileKind::Directory, mode: 0o2750, shared: false }
}

/// Made anew by a tick that finds none.
pub(super) fn tick_lock(site: &Site) -> Item {
    Item { path: site.tick_lock(), kind: FileKind::File, mode: 0o600, shared: false }
}

/// What `SQLite` keeps beside the database, and what visits have made at run time; it may be absent.
pub(super) fn companions(site: &Site, config: &Config) -> Vec<Item> {
    let beside = |ending: &str| {
        let mut path = config.database.clone().into_os_string();
        path.push(ending);
        Item { path: path.into(), kind: FileKind::File, mode: 0o660, shared: true }
    };
    let made = |path| Item { path, kind: FileKind::File, mode: shared::MODE, shared: true };
    vec![beside("-wal"), beside("-shm"), made(site.waiters()), made(site.unnamed())]
}

/// The word for a kind, as in "is not a directory".
pub(super) const fn word(kind: FileKind) -> &'static str {
    match kind {
        FileKind::File => "a regular file",
        FileKind::Directory => "a directory",
        FileKind::Fifo => "a FIFO",
        FileKind::Other => "a special file",
    }
}

pub(super) const MARKER: &str = ".pressroom";
const TEXT: &str = "pressroom state directory, version 1\n";

/// Makes sure that the directory carries the marker, or refuses it. `true`: the marker is new.
pub(super) fn claim(dir: &Dir, label: &str) -> anyhow::Result<bool> {
    match dir.about(OsStr::new(MARKER))? {
        Some(about) if about.is_file() => check(dir, label).map(|()| false),
        Some(_) => bail!("{label}/{MARKER} is not a regular file; choose another state_dir"),
        None => {
            refuse_foreign(dir, label)?;
            let mut marker =
                dir.make_file(OsStr::new(MARKER)).with_context(|| format!("cannot make {label}/{MARKER}"))?;
            marker.write_all(TEXT.as_bytes())?;
            marker.sync_all()?;
            Ok(true)
        }
    }
}

/// An empty marker is one that was being written when the machine stopped.
fn check(dir: &Dir, label: &str) -> anyhow::Result<()> {
    let mut text = Vec::new();
    dir.read(OsStr::new(MARKER))?.take(1024).read_to_end(&mut text)?;
    if text.is_empty() || text.starts_with(b"pressroom state directory") {
        return Ok(());
    }
    bail!("{label}/{MARKER} was not written by pressroom; choose another state_dir")
}

fn refuse_foreign(dir: &Dir, label: &str) -> anyhow::Result<()> {
    // A file system of its own comes with lost+found.
    match dir.names(2)?.iter().find(|name| *name != "lost+found") {
        None => Ok(()),
        Some(name) => bail!(
            "{label} is neither a state directory nor empty (it contains {}); choose another state_dir",
            name.to_string_lossy()
        ),
    }
}
