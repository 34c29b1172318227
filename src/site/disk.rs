//! Space, and file systems that cannot carry a site.

use std::{io, path::Path};

/// Bytes that this user can still write at `path`.
pub fn free_bytes(_path: &Path) -> io::Result<u64> {
    todo!()
}

/// Why a site cannot lie at `path`, a directory. `None`: it can.
pub fn refusal(_path: &Path) -> io::Result<Option<String>> {
    todo!()
}

/// Whether a file can be linked from one directory into the other, as far as their device numbers tell.
pub fn same_filesystem(_one: &Path, _other: &Path) -> io::Result<bool> {
    todo!()
}
