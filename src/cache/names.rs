//! Filenames as two names below `cache/`, and which names there may be ours: scans pass over all others.

pub(super) use crate::model::filename::{is_name as is_exporter, is_ours};

use std::{
    ffi::OsStr,
    io::{self, ErrorKind},
};

use super::Cache;
use crate::site::dir::Dir;

/// Exporter and name of a filename; an error for anything that could lead elsewhere.
pub(super) fn split(filename: &str) -> io::Result<(&str, &OsStr)> {
    filename
        .split_once('/')
        .filter(|(exporter, name)| is_exporter(exporter) && is_plain(name))
        .map(|(exporter, name)| (exporter, OsStr::new(name)))
        .ok_or_else(|| io::Error::new(ErrorKind::InvalidInput, format!("`{filename}` is not a name in the cache")))
}

fn is_plain(name: &str) -> bool {
    !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\0'])
}

impl Cache {
    /// The open directory of an exporter. `None`: there is none.
    pub(super) fn exporter_dir(&self, exporter: &str) -> io::Result<Option<Dir>> {
        absent_is_none(Dir::open_real(self.dir()).and_then(|cache| cache.enter(OsStr::new(exporter))))
    }
}

/// A link in the place of a file or a directory counts as absent too.
pub(super) fn absent_is_none<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(found) => Ok(Some(found)),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
        Err(error) if error.raw_os_error() == Some(nix::libc::ELOOP) => Ok(None),
        Err(error) => Err(error),
    }
}
