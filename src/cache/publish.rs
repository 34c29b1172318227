//! Publishing: a file is made complete first, and gets its name in one step.
//!
//! `prepare` may take long and holds nothing; `publish` is short, since it runs inside the transaction that guards it.
//! The work directory keeps the first link of the published inode, which is how reap tells whose file it is. From
//! `prepare` on nothing may change the file through the work directory.

use std::{io, path::Path};

use super::Cache;
use crate::model::clock::Stamp;

/// A complete file, synced, with its final mode, group and time, not yet in the cache.
#[derive(Debug)]
pub struct Prepared {}

/// Makes the output ready for `publish`. One that has further names is copied first, so that nobody else can change it.
pub fn prepare(_out: &Path, _cache: &Cache, _now: Stamp) -> io::Result<Prepared> {
    todo!()
}

impl Prepared {
    /// Gives the file its name in the cache and syncs the directory. Doing it again changes nothing.
    pub fn publish(&self, _filename: &str, _attempt: &str) -> io::Result<()> {
        todo!()
    }
}

impl Cache {
    /// Whether the file of this name is the one that lies at `out`: reap's question about an attempt that died.
    pub fn published(&self, _out: &Path, _filename: &str) -> bool {
        todo!()
    }

    /// Removes the name that `attempt` may have left beside the final one. Its absence is success.
    pub fn remove_temp(&self, _exporter: &str, _attempt: &str) -> io::Result<()> {
        todo!()
    }
}
