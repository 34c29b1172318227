//! The database file as a whole: copying the log back, integrity.

use super::{Result, Store};

impl Store {
    /// Copies the write-ahead log back into the database, as far as no reader needs it. Waits for nobody.
    pub fn checkpoint(&self) -> Result<()> {
        todo!()
    }

    /// What SQLite finds wrong in the file; empty when all is well. Reads the whole file.
    pub fn integrity(&self) -> Result<Vec<String>> {
        todo!()
    }

    /// Refuses a database that another machine's tick has used. An empty id on either side is not compared.
    pub fn expect_machine(&self, machine_id: &str) -> Result<()> {
        todo!()
    }

    /// The version of SQLite that is built in.
    pub fn sqlite_version() -> &'static str {
        rusqlite::version()
    }
}
