//! The work directory of one attempt.

use std::{io, path::PathBuf};

use super::Site;

impl Site {
    /// Makes the work directory of `attempt`, for its owner alone. It must not exist yet.
    pub fn make_work(&self, _attempt: &str) -> io::Result<PathBuf> {
        todo!()
    }

    /// Removes the work directory with all that is in it, whatever its modes and depth. No link is followed.
    /// Its absence is success.
    pub fn remove_work(&self, _attempt: &str) -> io::Result<()> {
        todo!()
    }
}
