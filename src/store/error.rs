//! What can be wrong with a database, in the cases that callers treat differently.

use std::{fmt, path::Path};

use rusqlite::ErrorCode;

use super::sqlite::checked::Unreadable;

/// Why the database could not be used. Each prints as one sentence.
#[derive(Debug)]
pub enum StoreError {
    /// There is no database, or an empty file in its place.
    Missing,
    /// A file that is not a database, or a database of another program.
    Foreign,
    /// It holds this object, which is not ours, or lacks it.
    Altered(String),
    /// Its schema has this version, which only a newer Pressroom knows.
    Newer(i64),
    /// Its schema has this earlier version, and whoever looks must not change it.
    Older(i64),
    /// Somebody else held the write lock for all of the deadline.
    Busy,
    DiskFull,
    /// Its log was left half written, and who only looks must not put it right.
    Unrecovered,
    /// A value is longer than any of ours.
    TooBig,
    /// A row that none of ours can be.
    Unreadable(Unreadable),
    /// The tick of another machine has used it.
    OtherMachine,
    Other(anyhow::Error),
}

impl StoreError {
    /// With the path of the file where the sentence is about that and does not name it.
    pub fn at(self, path: &Path) -> anyhow::Error {
        match &self {
            Self::Foreign | Self::Altered(_) | Self::Newer(_) | Self::Older(_) | Self::OtherMachine => {
                let place = path.display().to_string();
                anyhow::Error::from(self).context(place)
            }
            Self::Other(error) if error.downcast_ref::<rusqlite::Error>().is_some() => {
                let place = path.display().to_string();
                anyhow::Error::from(self).context(place)
            }
            _ => self.into(),
        }
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("there is no database yet; run `pressroom check --create`"),
            Self::Foreign => f.write_str(
                "the database file is not a database of pressroom; move it away or set `database` to another path",
            ),
            Self::Altered(object) => write!(
                f,
                "the database's schema is not pressroom's: {object} was added, changed or removed by somebody else; undo \
                 that, or move the database away and run `pressroom check --create`"
            ),
            Self::Newer(version) => write!(
                f,
                "the database has schema version {version}, which this pressroom does not know; install the newer pressroom"
            ),
            Self::Older(version) => write!(
                f,
                "the database has schema version {version}, of an earlier pressroom; the next tick upgrades it"
            ),
            Self::Busy => f.write_str("the database is busy: another process has held its write lock for too long"),
            Self::DiskFull => f.write_str("the disk of the database is full; free some space"),
            Self::Unrecovered => f.write_str(
                "the database's log was left half written by a process that was killed; the next tick puts it right, try again then",
            ),
            Self::TooBig => {
                f.write_str("a row of the database is longer than any of pressroom's; the next tick removes it")
            }
            Self::Unreadable(found) => write!(f, "{found}; the next tick removes it"),
            Self::OtherMachine => f.write_str(
                "the database belongs to another machine; if the site was moved here, run `pressroom check --create`",
            ),
            Self::Other(error) => write!(f, "{error:#}"),
        }
    }
}

impl std::error::Error for StoreError {}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::FileLockingProtocolFailed) => {
                Self::Busy
            }
            Some(ErrorCode::DiskFull) => Self::DiskFull,
            // The index of the log cannot be made: for that, too, some kilobytes are needed.
            _ if is_extended(&error, rusqlite::ffi::SQLITE_IOERR_SHMSIZE) => Self::DiskFull,
            _ if is_extended(&error, rusqlite::ffi::SQLITE_READONLY_RECOVERY) => Self::Unrecovered,
            Some(ErrorCode::TooBig) => Self::TooBig,
            Some(ErrorCode::NotADatabase) => Self::Foreign,
            _ => Self::Other(anyhow::Error::new(error).context("database")),
        }
    }
}

fn is_extended(error: &rusqlite::Error, code: i32) -> bool {
    error.sqlite_error().is_some_and(|cause| cause.extended_code == code)
}
