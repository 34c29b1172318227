//! The cache with real files.

mod accept;
mod prune;
mod publish;

use std::{
    fs::{self, Permissions},
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
    sync::LazyLock,
    time::Duration,
};

use tempfile::TempDir;

use super::*;
use crate::model::{clock::Stamp, job::AttemptId};

static ATTEMPT: LazyLock<AttemptId> = LazyLock::new(|| AttemptId::parse("01ARZ3NDEKTSV4RRFFQ69G5FAV").unwrap());
const NOW: Stamp = Stamp(1_700_000_000_123);

/// A cache and a work directory side by side.
struct World {
    dir: TempDir,
    cache: Cache,
}

impl World {
    fn new() -> Self {
        Self::at(tempfile::tempdir().unwrap())
    }

    fn at(dir: TempDir) -> Self {
        fs::create_dir(dir.path().join("cache")).unwrap();
        fs::create_dir(dir.path().join("work")).unwrap();
        let cache = Cache::new(dir.path().join("cache"));
        Self { dir, cache }
    }

    fn out(&self) -> PathBuf {
        self.dir.path().join("work/out.epub")
    }

    /// Publishes `text` under this name.
    fn publish(&self, filename: &str, text: &str) {
        fs::write(self.out(), text).unwrap();
        prepare(&self.out(), &self.cache, NOW, |_| false).unwrap().publish(filename, &ATTEMPT).unwrap();
        fs::remove_file(self.out()).unwrap();
    }

    /// Puts a file of this age into the cache.
    fn aged(&self, filename: &str, seconds: u64) -> CacheEntry {
        self.publish(filename, "text");
        assert!(self.cache.age(filename, NOW.minus(Duration::from_secs(seconds))).unwrap());
        self.cache.entry(filename).unwrap().unwrap()
    }

    fn scan(&self) -> Vec<CacheEntry> {
        let mut problems = Vec::new();
        let mut entries = self.cache.scan(&mut problems);
        assert_eq!(problems, Vec::<String>::new());
        entries.sort_by(|one, other| one.filename.cmp(&other.filename));
        entries
    }
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().mode() & 0o7777
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_file_is_found_with_its_size_and_time() {
    let world = World::new();
    world.publish("epub/Emma.epub", "whole");
    let found = world.cache.look("epub/Emma.epub").unwrap().unwrap();
    assert_eq!((found.size, found.made, found.path), (5, NOW, world.cache.path("epub/Emma.epub")));
    let (file, opened) = world.cache.open("epub/Emma.epub").unwrap().unwrap();
    assert_eq!(std::io::read_to_string(file).unwrap(), "whole");
    assert_eq!(opened.inode, found.inode);
}

#[test]
fn what_is_no_regular_file_is_absent() {
    let world = World::new();
    let dir = world.cache.path("epub");
    fs::create_dir(&dir).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", dir.join("link")).unwrap();
    nix::unistd::mkfifo(&dir.join("fifo"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    fs::create_dir(dir.join("dir")).unwrap();
    fs::write(world.cache.path("file"), "").unwrap();
    for name in ["epub/link", "epub/fifo", "epub/dir", "epub/none", "none/none", "file/none"] {
        assert_eq!(world.cache.look(name).unwrap(), None, "{name}");
        assert!(world.cache.open(name).unwrap().is_none(), "{name}");
    }
}
