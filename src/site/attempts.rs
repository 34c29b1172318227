//! What attempts have left in `work/` and `log/`.

use std::{
    collections::BTreeSet,
    fs,
    io::{self, Read},
    path::Path,
};

use super::{Site, dir::Dir, lock::absent_is_fine};
use crate::model::attempt::AttemptId;

impl Site {
    /// The ids that have a work directory or a lock, in order. Names that are not ours are passed over.
    pub fn attempts_on_disk(&self) -> io::Result<Vec<AttemptId>> {
        ids(&self.work(), |name| Some(name.strip_suffix(".lock").unwrap_or(name)))
    }

    /// What an attempt has written. `None`: it is not kept. Only a regular file of our own is read, and no link followed.
    pub fn read_log(&self, attempt: &AttemptId) -> io::Result<Option<Vec<u8>>> {
        let mut log = match self.open_own(&self.log_of(attempt)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened?,
        };
        let mut text = Vec::new();
        log.read_to_end(&mut text)?;
        Ok(Some(text))
    }

    /// Removes an attempt's log. Its absence is success.
    pub fn remove_log(&self, attempt: &AttemptId) -> io::Result<()> {
        absent_is_fine(fs::remove_file(self.log_of(attempt)))
    }
}

fn ids(dir: &Path, id: impl Fn(&str) -> Option<&str>) -> io::Result<Vec<AttemptId>> {
    let names = Dir::open_real(dir)?.names(usize::MAX)?;
    let ids = names.iter().filter_map(|name| AttemptId::parse(id(name.to_str()?)?));
    Ok(ids.collect::<BTreeSet<_>>().into_iter().collect())
}
