//! The database as a whole to a file and back, through SQLite's own interface for backups.
//!
//! A copy is one state of the database, whatever is written meanwhile. What comes back is written in one transaction
//! inside the locks of the database that is there: whoever has it open sees it before or after, and its log, which would
//! undo a file that was only copied, holds it as well.

use std::{
    fs::{File, OpenOptions},
    os::unix::fs::FileExt,
    path::Path,
};

use rusqlite::{
    Connection, OpenFlags,
    backup::{Backup, StepResult},
    params,
};

use super::{
    Store, Tx, View,
    checked::LAST_ID,
    files::trusted,
    open::{REAL_FILE, connect, prepare},
    rows::NonNegative,
};
use crate::store::{Result, StoreError};

/// The bytes of a database file that say how it is written; 1: without a log beside it.
const JOURNAL_VERSIONS: (u64, [u8; 2]) = (18, [1, 1]);

/// What is none of our ids is none that was given.
const LAST_JOB: &str = "
    SELECT max(coalesce((SELECT seq FROM sqlite_sequence
                          WHERE name = 'job' AND typeof(seq) = 'integer' AND seq BETWEEN 0 AND ?1), 0),
               coalesce((SELECT max(id) FROM job WHERE id BETWEEN 0 AND ?1), 0))";

const RAISE: &str = "
    UPDATE sqlite_sequence SET seq = ?1
     WHERE name = 'job' AND (typeof(seq) <> 'integer' OR seq NOT BETWEEN ?1 AND ?2)";

/// Before the first job there is no counter.
const BEGIN_AT: &str = "
    INSERT INTO sqlite_sequence (name, seq)
    SELECT 'job', ? WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'job')";

const HOLDINGS: &str = "
    SELECT (SELECT count(*) FROM job), (SELECT count(*) FROM attempt)";

const MERGE: &str = "INSERT OR IGNORE INTO main.attempt SELECT * FROM live.attempt WHERE ended IS NOT NULL";

/// What a database holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holdings {
    pub jobs: u64,
    pub attempts: u64,
}

impl Store {
    /// Writes this database, as it is at one moment, into the empty file at `to`, and that to the disk. Nothing is left
    /// beside it.
    pub fn copy_to(&self, to: &Path) -> Result<()> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NOFOLLOW;
        let mut copy = Connection::open_with_flags(to, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
        prepare(&mut copy)?;
        copy.pragma_update(None, "journal_mode", "memory")?;
        copy_all(&self.conn, &mut copy)?;
        drop(copy);
        let file = OpenOptions::new().write(true).open(to).map_err(|error| StoreError::Other(error.into()))?;
        let (offset, versions) = JOURNAL_VERSIONS;
        let written = file.write_all_at(&versions, offset).and_then(|()| File::sync_all(&file));
        written.map_err(|error| StoreError::Other(error.into()))
    }

    /// Puts all of this database in the place of what is in the one at `path`, in one transaction.
    pub fn replace(&self, path: &Path) -> Result<()> {
        let mut live = connect(&trusted(path)?, REAL_FILE)?;
        copy_all(&self.conn, &mut live)?;
        // What could not be copied back is left to the next tick; the transaction stands.
        let _ = live.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
        Ok(())
    }

    /// Takes over the ended attempts of another database of this version, as far as they are not known.
    pub fn merge_attempts(&self, path: &Path) -> Result<usize> {
        let path = trusted(path)?;
        self.conn.execute("ATTACH ? AS live", params![path.as_os_str().to_string_lossy()])?;
        let merged = self.conn.execute(MERGE, []);
        self.conn.execute_batch("DETACH live")?;
        Ok(merged?)
    }

    /// The first fault that SQLite finds in the file without comparing indexes. Reads the whole file.
    pub fn fault(&self) -> Result<Option<String>> {
        let found = self.view().all("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0))?;
        Ok(found.into_iter().find(|line| line != "ok"))
    }
}

fn copy_all(from: &Connection, to: &mut Connection) -> Result<()> {
    match Backup::new(from, to)?.step(-1)? {
        StepResult::Done => Ok(()),
        _ => Err(StoreError::Busy),
    }
}

impl View<'_> {
    /// The highest id that a job has had.
    pub fn last_job(&self) -> Result<i64> {
        Ok(self.one(LAST_JOB, params![LAST_ID], |row| row.get(0))?.unwrap_or(0))
    }

    pub fn holdings(&self) -> Result<Holdings> {
        let count = |row: &rusqlite::Row, place| row.get::<_, NonNegative>(place).map(|count| count.0);
        let found = self.one(HOLDINGS, [], |row| Ok(Holdings { jobs: count(row, 0)?, attempts: count(row, 1)? }))?;
        found.ok_or(StoreError::Missing)
    }
}

impl Tx<'_> {
    /// The next job gets an id above this one.
    pub(super) fn raise_ids(&self, last: i64) -> Result<()> {
        let last = last.clamp(0, LAST_ID);
        self.change(BEGIN_AT, params![last])?;
        self.change(RAISE, params![last, LAST_ID]).map(drop)
    }
}
