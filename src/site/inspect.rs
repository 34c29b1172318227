//! What is wrong with a state directory, for `check`.

use std::io;

use super::Site;
use crate::config::Config;

impl Site {
    /// One sentence for each thing that keeps the site from working: file system, kinds, owners, modes.
    pub fn problems(&self, _config: &Config) -> Vec<String> {
        todo!()
    }

    /// One sentence for each thing that works and may surprise: a long path of the work directory.
    pub fn warnings(&self) -> Vec<String> {
        todo!()
    }

    /// The name of the user who owns the site and whose crontab ticks; a number if it has no name.
    pub fn owner(&self) -> io::Result<String> {
        todo!()
    }
}
