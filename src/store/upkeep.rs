//! The database file as a whole: copying the log back, integrity, whose it is.

use std::{fs, path::Path};

use super::{Result, Store, StoreError, opening::beside};

impl Store {
    /// Copies the write-ahead log back into the database, as far as no reader needs it. Waits for nobody; the next
    /// writer then starts the log anew, so it does not grow without bound.
    pub fn checkpoint(&self) -> Result<()> {
        Ok(self.conn.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))?)
    }

    /// What SQLite finds wrong in the file; empty when all is well. Reads the whole file.
    pub fn integrity(&self) -> Result<Vec<String>> {
        let mut found = self.view().all("PRAGMA integrity_check", [], |row| row.get::<_, String>(0))?;
        found.retain(|line| line != "ok");
        Ok(found)
    }

    /// Refuses a database that another machine's tick has used. An empty id on either side is not compared.
    pub fn expect_machine(&self, machine_id: &str) -> Result<()> {
        match self.view().machine_id()? {
            Some(known) if !machine_id.is_empty() && known != machine_id => Err(StoreError::OtherMachine),
            _ => Ok(()),
        }
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
