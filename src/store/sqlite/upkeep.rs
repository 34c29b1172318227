//! The database file as a whole: copying the log back, integrity, whose it is.

use std::{fs, path::Path};

use rusqlite::{hooks::Wal, wal::CheckpointMode};

use super::{Store, View, busy, files::beside, rows::NonNegative};
use crate::store::{Result, StoreError};

/// Pages of the log between two commits that copy it back. Whoever opens the database while nobody else has it open
/// reads the whole log first, so a lone request pays for a long log; a copy costs one more wait for the disk. Both are
/// least at about this length.
const OFTEN: i32 = 64;
/// About as many pages as a commit writes.
const COMMIT: i32 = 6;

/// After a commit, with the length of the log in pages: one commit in ten copies the log back. Not every one from a
/// certain length on, as SQLite's own rule has it: in a crowd the log never starts anew, and each commit would pay.
pub(super) fn copy_back(log: &mut Wal, pages: i32) {
    if pages >= OFTEN && pages % OFTEN < COMMIT {
        // What could not be copied is left to the next one; the commit stands.
        let _ = busy::at_once(|| log.checkpoint_v2(CheckpointMode::TRUNCATE));
    }
}

/// Bytes of empty pages that are worth giving back whatever the file has.
const LARGE: u64 = 4 << 20;
/// Fewer are left for what comes next.
const SMALL: u64 = 256 << 10;

impl Store {
    /// Copies the write-ahead log back into the database, as far as no reader needs it, and empties it if nobody does.
    /// Waits for nobody. A log that was only copied would be read again as a whole by the next process that opens the
    /// database alone, and go on growing.
    pub fn checkpoint(&self) -> Result<()> {
        Ok(busy::at_once(|| self.conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())))?)
    }

    /// Gives at most so many pages that hold nothing back to the file system, if they are many: more than a quarter of
    /// the file, or more than 4 MiB. The file itself shrinks when the log is copied back. `false`: it is done.
    pub fn shrink(&self, pages: u32, is_begun: bool) -> Result<bool> {
        let number =
            |name| self.conn.pragma_query_value(None, name, |row| row.get::<_, NonNegative>(0).map(|count| count.0));
        let (free, all, size) = (number("freelist_count")?, number("page_count")?, number("page_size")?);
        let many = free * size > LARGE || free * 4 > all;
        if free * size < SMALL || !(many || is_begun) {
            return Ok(false);
        }
        let mut statement = self.conn.prepare(&format!("PRAGMA incremental_vacuum({pages})"))?;
        let mut steps = statement.query([])?; // a step for each page
        while steps.next()?.is_some() {}
        Ok(number("freelist_count")? < free) // a file of an earlier version cannot shrink
    }

    /// What SQLite finds wrong in the file; empty when all is well. Reads the whole file.
    pub fn integrity(&self) -> Result<Vec<String>> {
        let mut found = self.view().all("PRAGMA integrity_check", [], |row| row.get::<_, String>(0))?;
        found.retain(|line| line != "ok");
        Ok(found)
    }

    /// Refuses a database that another machine's tick has used. An empty id on either side is not compared.
    pub fn expect_machine(&self, machine_id: &str) -> Result<()> {
        self.view().expect_machine(machine_id)
    }

    /// Bytes of the database and of its write-ahead log.
    pub fn sizes(path: &Path) -> (u64, u64) {
        let size = |path: &Path| fs::metadata(path).map_or(0, |about| about.len());
        (size(path), size(&beside(path, "-wal")))
    }

    /// The version of SQLite that is built in.
    pub fn sqlite_version() -> &'static str {
        rusqlite::version()
    }
}

impl View<'_> {
    /// [`Store::expect_machine`].
    pub fn expect_machine(&self, machine_id: &str) -> Result<()> {
        match self.machine_id()? {
            Some(known) if !machine_id.is_empty() && known != machine_id => Err(StoreError::OtherMachine),
            _ => Ok(()),
        }
    }
}
