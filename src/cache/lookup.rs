//! Looking a file up: what a hit costs.

use std::{
    fs::{self, File, Metadata},
    io::{self, ErrorKind},
    os::unix::fs::MetadataExt,
    path::PathBuf,
};

use nix::unistd::Uid;

use super::{
    Cache, CacheEntry,
    names::{self, absent_is_none},
    prune::made,
};
use crate::model::clock::Stamp;

/// A finished file as it was when somebody looked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cached {
    pub path: PathBuf,
    /// Bytes.
    pub size: u64,
    /// Its modification time: the moment it was made.
    pub made: Stamp,
    /// The same in nanoseconds, to tell two files apart.
    pub mtime_ns: i128,
    pub inode: u64,
    pub device: u64,
}

impl Cached {
    fn of(path: PathBuf, about: &Metadata) -> Self {
        let mtime_ns = i128::from(about.mtime()) * 1_000_000_000 + i128::from(about.mtime_nsec());
        let made = made(mtime_ns);
        Self { path, size: about.size(), made, mtime_ns, inode: about.ino(), device: about.dev() }
    }
}

impl Cache {
    /// The file of this name, without opening it. `None`: it is not there, or is no regular file.
    pub fn look(&self, filename: &str) -> io::Result<Option<Cached>> {
        let path = self.path(filename);
        let about = absent_is_none(fs::symlink_metadata(&path))?;
        Ok(about.filter(Metadata::is_file).map(|about| Cached::of(path, &about)))
    }

    /// The file of this name, opened: what is told about it stays true while it is read, whatever prune does.
    /// It lies in the directory of its own exporter: no link leads from there to another's.
    pub fn open(&self, filename: &str) -> io::Result<Option<(File, Cached)>> {
        let (exporter, name) = names::split(filename)?;
        let dir = self.exporter_dir(exporter).map_err(|error| unopened(exporter, &error))?;
        let Some(dir) = dir else { return Ok(None) };
        let file = absent_is_none(dir.read(name)).map_err(|error| unopened(filename, &error))?;
        let Some(file) = file else { return Ok(None) };
        let about = file.metadata()?;
        Ok(about.is_file().then(|| (file, Cached::of(self.path(filename), &about))))
    }

    /// The file of this name, for a run: a regular file of the process's own user, below a directory that is no link.
    pub fn open_own(&self, filename: &str) -> io::Result<File> {
        let (exporter, name) = names::split(filename)?;
        let absent = || io::Error::from(ErrorKind::NotFound);
        let file = self.exporter_dir(exporter)?.ok_or_else(absent)?.read(name)?;
        let about = file.metadata()?;
        let is_ours = about.is_file() && about.uid() == Uid::effective().as_raw();
        let foreign = || io::Error::other(format!("cache/{filename} is not a regular file of our own"));
        is_ours.then_some(file).ok_or_else(foreign)
    }

    /// The file of this name as prune sees it.
    pub fn entry(&self, filename: &str) -> io::Result<Option<CacheEntry>> {
        Ok(self.look(filename)?.map(|cached| CacheEntry {
            filename: filename.to_owned(),
            size: cached.size,
            made: cached.made,
            mtime_ns: cached.mtime_ns,
            inode: cached.inode,
            device: cached.device,
        }))
    }
}

/// With the name, by which the admin finds what is in the way.
fn unopened(name: &str, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("cannot open cache/{name}: {error}"))
}
