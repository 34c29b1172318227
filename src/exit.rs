//! Exit codes: anyhow inside, a code at the door. The numbers are those of BSD's `sysexits.h` where it has one.

use std::process::ExitCode;

/// Every code that the program ends with, apart from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// `status`: something needs attention.
    Warning = 1,
    /// `status`: something is broken.
    Critical = 2,
    /// Wrong usage, or an exporter that does not exist (`EX_USAGE`).
    Usage = 64,
    /// A value that will never do: asking again will not help (`EX_DATAERR`).
    BadValue = 65,
    /// Neither a file nor a job (`EX_NOINPUT`).
    Absent = 66,
    /// Not now: full, limited, paused or busy (`EX_UNAVAILABLE`).
    Unavailable = 69,
    /// The export failed (`EX_SOFTWARE`).
    Failed = 70,
    /// Reading or writing failed (`EX_IOERR`); a panic ends so, too.
    Io = 74,
    /// Not ready yet (`EX_TEMPFAIL`).
    TryLater = 75,
    /// The configuration or the database cannot be used (`EX_CONFIG`).
    Config = 78,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// Why a command did not end with 0.
#[derive(Debug)]
pub struct Failure {
    pub exit: Exit,
    /// `None`: the code alone is the answer.
    pub error: Option<anyhow::Error>,
}

impl Failure {
    pub const fn code(exit: Exit) -> Self {
        Self { exit, error: None }
    }

    pub fn new(exit: Exit, error: impl Into<anyhow::Error>) -> Self {
        Self { exit, error: Some(error.into()) }
    }

    pub fn because(exit: Exit, sentence: impl std::fmt::Display) -> Self {
        Self::new(exit, anyhow::anyhow!("{sentence}"))
    }
}

/// What nobody foresaw is an I/O error; a configuration or a database that cannot be used says so by its type.
impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Self::new(exit_of(&error), error)
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::new(Exit::Io, error)
    }
}

impl From<nix::errno::Errno> for Failure {
    fn from(error: nix::errno::Errno) -> Self {
        Self::from(std::io::Error::from(error))
    }
}

fn exit_of(error: &anyhow::Error) -> Exit {
    use crate::store::StoreError::{Altered, Busy, Foreign, Missing, Newer, Older, OtherMachine, Unrecovered};
    let is_site = error.downcast_ref::<crate::site::SiteError>().is_some();
    let is_config = error.downcast_ref::<crate::config::ConfigError>().is_some();
    match error.downcast_ref::<crate::store::StoreError>() {
        Some(Missing | Foreign | Altered(_) | Newer(_) | Older(_) | OtherMachine) => Exit::Config,
        Some(Busy | Unrecovered) => Exit::Unavailable,
        _ if is_site || is_config => Exit::Config,
        _ => Exit::Io,
    }
}
