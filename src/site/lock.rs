//! Who is alive: the locks of ticks and of attempts.

use std::{
    fs::{self, File, OpenOptions, Permissions},
    io::{self, ErrorKind},
    os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt},
    path::Path,
};

use fs2::FileExt;
use nix::unistd::Uid;

use super::{Site, dir::open_regular};
use crate::model::job::AttemptId;

/// What trying to take an attempt's lock showed.
#[derive(Debug)]
pub enum Probe {
    /// Its run holds it.
    Alive,
    /// Nobody held it; we do now, until the file is dropped.
    Free(File),
    Missing,
    /// It could not be opened, or is no regular file of our own: nothing can be said.
    Unverified,
}

/// What a look at an attempt's lock showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sight {
    Alive,
    Free,
    Missing,
    Unverified,
}

impl Probe {
    /// Of a lock that cannot be opened.
    fn unopened(error: &io::Error) -> Self {
        if error.kind() == ErrorKind::NotFound { Self::Missing } else { Self::Unverified }
    }
}

impl Site {
    /// A new lock for `attempt`, held exclusively by the returned file and its copies. It must not exist yet.
    pub fn new_lock(&self, attempt: &AttemptId) -> io::Result<File> {
        let path = self.lock_of(attempt);
        let lock = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path)?;
        lock.set_permissions(Permissions::from_mode(0o600))?;
        // It waits: an onlooker may have found the new file first and lets go at once.
        lock.lock_exclusive()?;
        Ok(lock)
    }

    /// Takes an attempt's lock if its run is dead. Since an onlooker may hold it for a moment, "alive" is only sure
    /// when several tries say so. Only for the tick that holds `tick.lock`.
    pub fn try_take(&self, attempt: &AttemptId) -> Probe {
        let lock = match self.open_if_own(&self.lock_of(attempt), OpenOptions::new().read(true).write(true)) {
            Ok(lock) => lock,
            Err(error) => return Probe::unopened(&error),
        };
        match held(lock.try_lock_exclusive()) {
            Ok(false) => Probe::Free(lock),
            Ok(true) => Probe::Alive,
            Err(_) => Probe::Unverified,
        }
    }

    /// Looks whether an attempt's lock is held, and lets go at once.
    pub fn peek(&self, attempt: &AttemptId) -> Sight {
        match self.look_at_lock(attempt) {
            Probe::Alive => Sight::Alive,
            Probe::Free(_) => Sight::Free,
            Probe::Missing => Sight::Missing,
            Probe::Unverified => Sight::Unverified,
        }
    }

    /// What [`Site::try_take`] would find, without keeping the lock: the file of a free one is only open for reading.
    pub fn look_at_lock(&self, attempt: &AttemptId) -> Probe {
        // Whose it is does not matter for a look: nothing is done, and nothing that it says is believed.
        let lock = match open_regular(&self.lock_of(attempt), OpenOptions::new().read(true)) {
            Ok(lock) => lock,
            Err(error) => return Probe::unopened(&error),
        };
        match held(FileExt::try_lock_shared(&lock)) {
            Ok(true) => Probe::Alive,
            Ok(false) if FileExt::unlock(&lock).is_ok() => Probe::Free(lock),
            Ok(false) | Err(_) => Probe::Unverified,
        }
    }

    /// Opens a file below the state directory for reading, if it is our own.
    pub(super) fn open_own(&self, path: &Path) -> io::Result<File> {
        self.open_if_own(path, OpenOptions::new().read(true))
    }

    /// What it says is believed only if it is our own (for root also if it belongs to the user who owns the site).
    fn open_if_own(&self, path: &Path, how: &mut OpenOptions) -> io::Result<File> {
        let file = open_regular(path, how)?;
        let (owner, us) = (file.metadata()?.uid(), Uid::effective());
        let is_ours = owner == us.as_raw() || us.is_root() && self.is_owners(owner);
        let refused = || io::Error::other(format!("{} belongs to another user", path.display()));
        is_ours.then_some(file).ok_or_else(refused)
    }

    fn is_owners(&self, uid: u32) -> bool {
        fs::metadata(self.state_dir()).is_ok_and(|top| top.uid() == uid)
    }

    /// Removes an attempt's lock file. Its absence is success.
    pub fn remove_lock(&self, attempt: &AttemptId) -> io::Result<()> {
        absent_is_fine(fs::remove_file(self.lock_of(attempt)))
    }

    /// The lock of the one tick at work. `None`: another tick holds it.
    pub fn take_tick(&self) -> io::Result<Option<File>> {
        take(&self.tick_lock())
    }

    /// Whether the tick's lock is still the one of this name: who removes the file lets a second tick in. What cannot be
    /// found out is not.
    pub fn is_tick_lock(&self, lock: &File) -> bool {
        is_at(lock, &self.tick_lock())
    }

    /// The place of the one successor. `None`: somebody waits already.
    pub fn take_next(&self) -> io::Result<Option<File>> {
        take(&self.tick_next())
    }

    /// Waits for the lock of the tick at work. A signal that is handled ends the wait with `Interrupted`.
    pub fn wait_for_tick(&self) -> io::Result<File> {
        loop {
            let lock = make_own(&self.tick_lock())?;
            lock.lock_exclusive()?;
            if self.is_tick_lock(&lock) {
                return Ok(lock);
            }
        }
    }
}

fn is_at(file: &File, path: &Path) -> bool {
    let id = |about: fs::Metadata| (about.dev(), about.ino());
    let (Ok(ours), Ok(there)) = (file.metadata(), fs::symlink_metadata(path)) else { return false };
    id(ours) == id(there)
}

fn make_own(path: &Path) -> io::Result<File> {
    open_regular(path, OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600))
}

/// A file that has been removed before it was locked locks nobody out.
fn take(path: &Path) -> io::Result<Option<File>> {
    loop {
        let lock = make_own(path)?;
        if held(lock.try_lock_exclusive())? {
            return Ok(None);
        }
        if is_at(&lock, path) {
            return Ok(Some(lock));
        }
    }
}

/// Whether somebody else holds the lock that we tried to take.
fn held(tried: io::Result<()>) -> io::Result<bool> {
    match tried {
        Ok(()) => Ok(false),
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(true),
        Err(error) => Err(error),
    }
}

pub(super) fn absent_is_fine(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}
