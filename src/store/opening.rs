//! Making, opening and recognising the database file.

use std::path::Path;

use super::{Result, Store};

impl Store {
    /// Fills the database at `path` with the schema, or takes over one that is ours already; the machine's id is
    /// written into it either way. An empty file made beforehand keeps its owner and mode.
    pub fn create(path: &Path, machine_id: &str) -> Result<()> {
        todo!()
    }

    /// Opens a database of ours for reading and writing. Never creates one.
    pub fn open(path: &Path) -> Result<Self> {
        todo!()
    }

    /// Opens it so that not a byte of it, or beside it, changes.
    pub fn open_readonly(path: &Path) -> Result<Self> {
        todo!()
    }

    /// Commits from now on survive a crash of the program, but perhaps not of the machine: good for progress notes.
    pub fn relax(&self) -> Result<()> {
        todo!()
    }

    /// Takes [`Store::relax`] back: commits from now on survive a power cut.
    pub fn strict(&self) -> Result<()> {
        todo!()
    }
}
