//! Making, opening and recognising the database file.

use std::{cell::RefCell, os::unix::ffi::OsStrExt, path::Path};

use anyhow::anyhow;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};
use rusqlite::{Connection, ErrorCode, MAIN_DB, OpenFlags, config::DbConfig, hooks::Wal, limits::Limit, params};

use super::{
    Store, Tx, View, busy,
    checked::UnreadableRows,
    files::{beside, explain, has_no_room, trusted},
    migrate::{upgrade, version},
    schema::{self, SCHEMA, VERSION},
    upkeep,
};
use crate::store::{Result, StoreError};

const APPLICATION_ID: i64 = 0x5072_6573;

/// Of a connection that writes. The log is cut back to 16 MiB when it starts anew, and copied back by tick and
/// [`upkeep::copy_back`] alone.
const SETTINGS: &str = "
    PRAGMA synchronous = FULL;
    PRAGMA wal_autocheckpoint = 0;
    PRAGMA journal_size_limit = 16777216;
    PRAGMA cache_size = -512;
    PRAGMA temp_store = MEMORY";

/// Deleted rows give their pages back; a full round of tick passes them on to the file system. Only before there are
/// tables does this cost nothing.
const INCREMENTAL: i64 = 2;

/// Bytes of the longest value that is read or written. The longest of ours, parameters, have some kilobytes: a row of
/// gigabytes must not fill our memory.
const LONGEST_VALUE: i32 = 4 << 20;

const ADOPT: &str = "UPDATE meta SET machine_id = ?";

/// What a path in a `file:` URI may hold as it is.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'_').remove(b'.');

impl Store {
    /// Fills the database at `path` with the schema, or takes over one that is ours already; the machine's id is
    /// written into it either way, and what is counted is counted anew. An empty file made beforehand keeps its owner and mode.
    pub fn create(path: &Path, machine_id: &str) -> Result<()> {
        let mut conn = connect(&trusted(path)?, REAL_FILE | OpenFlags::SQLITE_OPEN_CREATE)?;
        match recognise(&conn)? {
            DatabaseState::Older(_) => renew(&mut conn)?,
            DatabaseState::Empty => conn.pragma_update(None, "auto_vacuum", INCREMENTAL)?,
            DatabaseState::Ours => schema::expect(&conn, VERSION)?,
        }
        conn.pragma_update(None, "journal_mode", "wal")?;
        let transaction = conn.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        let is_new = recognise(&transaction)? == DatabaseState::Empty;
        if is_new {
            transaction.execute_batch(SCHEMA)?;
        }
        transaction.execute(ADOPT, params![machine_id])?;
        Tx { view: View { conn: &transaction, notes: &UnreadableRows::default() }, events: &RefCell::default() }
            .recount_all()?;
        transaction.commit()?;
        if is_new {
            // A new database is whole in its own file, should somebody copy or clean only that.
            conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
        }
        Ok(())
    }

    /// Opens a database of ours for reading and writing. Never creates one, and never changes one of an earlier version.
    ///
    /// For the web user, who could write into the file whatever it holds: that its tables are ours is not verified.
    pub fn open_unverified(path: &Path) -> Result<Self> {
        Self::connected(path, OpenFlags::SQLITE_OPEN_READ_WRITE)
    }

    fn connected(path: &Path, flags: OpenFlags) -> Result<Self> {
        let conn = connect(path, flags)?;
        ours(&conn)?;
        Ok(Self { conn, notes: UnreadableRows::default(), listener: None })
    }

    /// The same, and its schema is ours to the letter.
    pub fn open(path: &Path) -> Result<Self> {
        Self::connected(&trusted(path)?, REAL_FILE)?.verified()
    }

    /// The same for tick: a database of an earlier version becomes one of this version.
    pub fn open_and_upgrade(path: &Path) -> Result<Self> {
        let mut conn = connect(&trusted(path)?, REAL_FILE)?;
        match ours(&conn) {
            Err(StoreError::Older(_)) => renew(&mut conn)?,
            found => found?,
        }
        // With any other journal, whoever opens the database beside a write refuses the journal as a foreign file.
        conn.pragma_update(None, "journal_mode", "wal")?;
        Self { conn, notes: UnreadableRows::default(), listener: None }.verified()
    }

    fn verified(self) -> Result<Self> {
        schema::expect(&self.conn, VERSION)?;
        Ok(self)
    }

    /// Opens it so that not a byte of it, or beside it, changes.
    ///
    /// With a log and its index beside it, both are read where they are; without, nobody has it open.
    pub fn open_readonly(path: &Path) -> Result<Self> {
        let how = if beside(path, "-wal").exists() && beside(path, "-shm").exists() {
            "mode=ro&readonly_shm=1"
        } else {
            "mode=ro&immutable=1"
        };
        let real = trusted(path)?;
        let uri = format!("file:{}?{how}", percent_encode(real.as_os_str().as_bytes(), PLAIN));
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
            | OpenFlags::SQLITE_OPEN_URI
            | OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_NOFOLLOW;
        let mut conn = Connection::open_with_flags(uri, flags).map_err(|error| explain(path, error))?;
        prepare(&mut conn)?;
        ours(&conn)?;
        Self { conn, notes: UnreadableRows::default(), listener: None }.verified()
    }

    /// From now on it is this machine's, unless that has no id.
    pub fn adopt_machine(&self, machine_id: &str) -> Result<()> {
        Ok(self.conn.execute(ADOPT, params![machine_id]).map(drop)?)
    }

    /// Commits from now on survive a crash of the program, but perhaps not of the machine: good for progress notes.
    pub fn relax(&self) -> Result<()> {
        Ok(self.conn.pragma_update(None, "synchronous", "NORMAL")?)
    }

    /// Takes [`Store::relax`] back: commits from now on survive a power cut.
    pub fn strict(&self) -> Result<()> {
        Ok(self.conn.pragma_update(None, "synchronous", "FULL")?)
    }
}

/// For whoever trusts the directory of the database less than itself: the name must not be a link.
pub(super) const REAL_FILE: OpenFlags = OpenFlags::SQLITE_OPEN_READ_WRITE.union(OpenFlags::SQLITE_OPEN_NOFOLLOW);

pub(super) fn connect(path: &Path, flags: OpenFlags) -> Result<Connection> {
    let mut conn = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)
        .map_err(|error| explain(path, error))?;
    if conn.is_readonly(MAIN_DB)? {
        return Err(StoreError::Other(anyhow!("cannot write {}: permission denied", path.display())));
    }
    prepare(&mut conn)?;
    // A file that is not a database shows here for the first time.
    conn.execute_batch(SETTINGS).map_err(|error| {
        let is_full = error.sqlite_error_code() == Some(ErrorCode::CannotOpen) && has_no_room(path);
        if is_full { StoreError::DiskFull } else { explain(path, error) }
    })?;
    conn.wal_hook(Some(|log: &mut Wal, pages| {
        upkeep::copy_back(log, pages);
        Ok(())
    }))?;
    Ok(conn)
}

/// What every connection needs before it touches the file.
pub(super) fn prepare(conn: &mut Connection) -> Result<()> {
    conn.set_prepared_statement_cache_capacity(64);
    conn.busy_handler(Some(busy::wait))?;
    conn.set_limit(Limit::SQLITE_LIMIT_LENGTH, LONGEST_VALUE)?;
    for (setting, on) in GUARDS {
        conn.set_db_config(setting, on)?;
    }
    conn.pragma_update(None, "cell_size_check", true)?;
    Ok(())
}

/// Nothing that is stored in the database is ever executed, and nothing that we execute can damage it.
const GUARDS: [(DbConfig, bool); 7] = [
    (DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true),
    (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
    (DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false),
    (DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false),
    (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
    (DbConfig::SQLITE_DBCONFIG_DQS_DDL, false),
    (DbConfig::SQLITE_DBCONFIG_DQS_DML, false),
];

/// From an earlier version to this one.
fn renew(conn: &mut Connection) -> Result<()> {
    schema::expect(conn, version(conn)?)?;
    upgrade(conn)?;
    // Only a rebuilt file can give space back later. Failing in this, for want of space, costs nothing but that.
    if conn.pragma_update(None, "auto_vacuum", INCREMENTAL).and_then(|()| conn.execute_batch("VACUUM")).is_err() {
        tracing::warn!("the database could not be rebuilt, so it will not shrink");
    }
    Ok(())
}

#[derive(Debug, PartialEq)]
enum DatabaseState {
    Empty,
    Ours,
    /// Ours, of an earlier version.
    Older(i64),
}

fn ours(conn: &Connection) -> Result<()> {
    match recognise(conn)? {
        DatabaseState::Ours => Ok(()),
        DatabaseState::Older(version) => Err(StoreError::Older(version)),
        DatabaseState::Empty => Err(StoreError::Missing),
    }
}

fn recognise(conn: &Connection) -> Result<DatabaseState> {
    let number = |name| conn.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    match (number("application_id")?, version(conn)?) {
        (APPLICATION_ID, VERSION) => Ok(DatabaseState::Ours),
        (APPLICATION_ID, newer) if newer > VERSION => Err(StoreError::Newer(newer)),
        (APPLICATION_ID, older) if older > 0 => Ok(DatabaseState::Older(older)),
        (0, 0) if number("schema_version")? == 0 => Ok(DatabaseState::Empty),
        _ => Err(StoreError::Foreign),
    }
}
