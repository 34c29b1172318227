//! Who is alive: the locks of ticks and of attempts.

use std::{fs::File, io};

use super::Site;

/// What trying to take an attempt's lock showed.
#[derive(Debug)]
pub enum Probe {
    /// Its run holds it.
    Alive,
    /// Nobody held it; we do now, until the file is dropped.
    Free(File),
    Missing,
    /// It could not be opened, or is no regular file: nothing can be said.
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

impl Site {
    /// A new lock for `attempt`, held exclusively by the returned file and its copies. It must not exist yet.
    pub fn new_lock(&self, _attempt: &str) -> io::Result<File> {
        todo!()
    }

    /// Takes an attempt's lock if its run is dead: three tries 20 ms apart, since an onlooker may hold it for a moment.
    /// Only for the tick that holds `tick.lock`.
    pub fn try_take(&self, _attempt: &str) -> Probe {
        todo!()
    }

    /// Looks whether an attempt's lock is held, and lets go at once.
    pub fn peek(&self, _attempt: &str) -> Sight {
        todo!()
    }

    /// Removes an attempt's lock file. Its absence is success.
    pub fn remove_lock(&self, _attempt: &str) -> io::Result<()> {
        todo!()
    }

    /// The lock of the one tick at work. `None`: another tick holds it.
    pub fn take_tick(&self) -> io::Result<Option<File>> {
        todo!()
    }

    /// The place of the one successor. `None`: somebody waits already.
    pub fn take_next(&self) -> io::Result<Option<File>> {
        todo!()
    }

    /// Waits for the lock of the tick at work. A signal that is handled ends the wait with `Interrupted`.
    pub fn wait_for_tick(&self) -> io::Result<File> {
        todo!()
    }
}
