//! Making a state directory, and putting right the owners and modes of one that is there.

use super::Site;
use crate::config::Config;

impl Site {
    /// Makes everything a site consists of but the content of the database, whatever the umask; tells what it did.
    /// Done again it does nothing. `user` and `group` are names or numbers; `user` needs root.
    pub fn create(_config: &Config, _user: Option<&str>, _group: Option<&str>) -> anyhow::Result<Vec<String>> {
        todo!()
    }
}
