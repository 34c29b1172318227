//! The cache: finished files below `cache/<exporter>/`, looked up, published and pruned.
//!
//! A name here is either whole or absent: a file is completed elsewhere and renamed into place. Nothing is published,
//! pruned or aged through a symbolic link, and only regular files count.

mod accept;
mod lookup;
mod names;
mod prune;
mod publish;
#[cfg(test)]
mod tests;

pub use self::{
    accept::{NotAccepted, accept},
    lookup::Cached,
    prune::{CacheEntry, Chosen, choose},
    publish::{Prepared, prepare},
};

use std::path::{Path, PathBuf};

/// The cache of one state directory.
#[derive(Clone, Debug)]
pub struct Cache {
    dir: PathBuf,
}

impl Cache {
    /// `dir` is `cache/` of the state directory.
    pub const fn new(dir: PathBuf) -> Self {
        Self { dir }
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Where the file of this name lies once it is made. `filename` is `<exporter>/<name>`.
    pub fn path(&self, filename: &str) -> PathBuf {
        self.dir.join(filename)
    }
}
