//! Opening what an exporter left behind.

use std::{
    fs::{self, File, OpenOptions, Permissions},
    io::{self, ErrorKind},
    os::{
        fd::AsRawFd,
        unix::fs::{OpenOptionsExt, PermissionsExt},
    },
    path::Path,
};

use nix::libc::{O_NOFOLLOW, O_NONBLOCK, O_PATH};

/// Opens a regular file for reading, whatever its mode. Nothing is followed and nothing blocks.
pub(super) fn open(out: &Path) -> io::Result<File> {
    let file = match open_plain(out) {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            make_readable(out)?;
            open_plain(out)?
        }
        opened => opened?,
    };
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("the output is not a regular file")) }
}

fn open_plain(out: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(O_NOFOLLOW | O_NONBLOCK).open(out)
}

/// Changes the mode of this very file: a path could mean another one by then.
fn make_readable(out: &Path) -> io::Result<()> {
    let file = OpenOptions::new().read(true).custom_flags(O_NOFOLLOW | O_PATH).open(out)?;
    if !file.metadata()?.is_file() {
        return Ok(());
    }
    fs::set_permissions(format!("/proc/self/fd/{}", file.as_raw_fd()), Permissions::from_mode(0o600))
}
