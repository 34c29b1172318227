//! A state directory: its paths, its marker, its locks and its doorbell.
//!
//! `tick.lock` is held by the one tick at work. `work/<attempt>.lock` is held by the run of that attempt and by nobody
//! else for longer than a look; whoever can take it knows that the run is dead. Locks are flock(2) locks: they belong
//! to the open file, go over to a child that inherits it, and end with its last copy.

mod activity;
mod create;
pub mod dir;
mod disk;
mod doorbell;
mod inspect;
mod layout;
mod lock;
mod lock_metadata;
mod machine;
mod owners;
mod refusal;
mod round;
mod shared;
#[cfg(test)]
pub mod tests;
mod work;

pub use self::{
    activity::{ActivityEvent, ActivityLog},
    disk::{
        apart, free_bytes, free_inodes, free_memory, index_may_fault, is_out_of_space, refuses, room, same_filesystem,
    },
    doorbell::Doorbell,
    lock::{Probe, Sight},
    lock_metadata::LockMetadata,
    machine::{PidLife, boot_id, machine_id},
    owners::{group_advice, owner_advice},
    round::RoundMark,
    shared::open_shared,
};

use std::{
    fmt, fs,
    io::{self, ErrorKind},
    path::{Path, PathBuf},
};

use super::{config::Config, model::job::AttemptId};

/// A state directory that carries our marker.
#[derive(Clone, Debug)]
pub struct Site {
    state_dir: PathBuf,
    /// The configuration, if a command has to name it.
    config_file: Option<PathBuf>,
}

/// What makes or mends a site; [`Site::with_whole_command`] completes it for the one at hand.
pub const CREATE: &str = "`pressroom check --create`";

/// Why there is no site to work in. The text says what to do.
#[derive(Debug)]
pub enum SiteError {
    Missing(PathBuf),
    /// There is a directory, without our marker.
    NotOurs(PathBuf),
    Io(PathBuf, io::Error),
}

impl std::error::Error for SiteError {}

impl fmt::Display for SiteError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(dir) => write!(out, "there is no state directory {}", dir.display())?,
            Self::NotOurs(dir) => write!(out, "{} is not a state directory of pressroom", dir.display())?,
            Self::Io(path, error) => return write!(out, "cannot look at {}: {error}", path.display()),
        }
        write!(out, "; run {CREATE}")
    }
}

impl Site {
    /// The places below a state directory at which nobody has looked yet.
    #[cfg(test)]
    pub const fn new(state_dir: PathBuf) -> Self {
        Self { state_dir, config_file: None }
    }

    /// The same, of a configuration.
    pub fn of(config: &Config) -> Self {
        Self { state_dir: config.state_dir.clone(), config_file: refusal::unusual(&config.file) }
    }

    /// The site of this configuration, if its marker is there. Costs one look at a file.
    pub fn open(config: &Config) -> Result<Self, SiteError> {
        let site = Self::of(config);
        let marker = site.marker();
        match fs::symlink_metadata(&marker) {
            Ok(about) if about.is_file() => Ok(site),
            Ok(_) => Err(SiteError::NotOurs(site.state_dir)),
            Err(error) if error.kind() == ErrorKind::NotFound && site.state_dir.is_dir() => {
                Err(SiteError::NotOurs(site.state_dir))
            }
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                Err(SiteError::Missing(site.state_dir))
            }
            Err(error) => Err(SiteError::Io(marker, error)),
        }
    }

    pub fn state_dir(&self) -> &Path {
        &self.state_dir
    }

    pub fn marker(&self) -> PathBuf {
        self.state_dir.join(layout::MARKER)
    }

    pub fn cache(&self) -> PathBuf {
        self.state_dir.join("cache")
    }

    pub fn work(&self) -> PathBuf {
        self.state_dir.join("work")
    }

    pub fn log(&self) -> PathBuf {
        self.state_dir.join("log")
    }

    pub fn queue(&self) -> PathBuf {
        self.state_dir.join("queue")
    }

    pub fn tick_lock(&self) -> PathBuf {
        self.state_dir.join("tick.lock")
    }

    pub fn tick_next(&self) -> PathBuf {
        self.state_dir.join("tick.next")
    }

    pub fn doorbell(&self) -> PathBuf {
        self.queue().join("doorbell")
    }

    pub fn reserve(&self) -> PathBuf {
        self.queue().join("reserve")
    }

    pub fn work_of(&self, attempt: &AttemptId) -> PathBuf {
        self.work().join(&**attempt)
    }

    pub fn lock_of(&self, attempt: &AttemptId) -> PathBuf {
        self.work().join(format!("{attempt}.lock"))
    }

    pub fn log_of(&self, attempt: &AttemptId) -> PathBuf {
        self.log().join(format!("{attempt}.log"))
    }
}
