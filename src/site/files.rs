//! Finished files in the cache as a restore, or somebody's `chown -R`, can leave them.

use std::{
    ffi::{OsStr, OsString},
    io,
    os::unix::ffi::OsStrExt,
    path::Path,
};

use nix::{
    fcntl::AtFlags,
    sys::stat::{FchmodatFlags, Mode, fchmodat, fstatat},
    unistd::{Gid, Uid, fchownat},
};

use super::dir::{Dir, FileInfo};

/// The mode of a finished file.
const MODE: u32 = 0o440;

/// Names in an exporter's directory of the cache of files that do not belong to its owner and group, or that one of them
/// cannot read.
pub(super) fn wrong(shelf: &Path, owner: (u32, u32)) -> io::Result<Vec<OsString>> {
    wrong_in(&Dir::open_real(shelf)?, owner)
}

/// Puts them right; the result is how many there were. What has another name outside is left alone: root would give away
/// whatever somebody has linked there.
pub(super) fn put_right(shelf: &Path, owner: (u32, u32)) -> io::Result<usize> {
    let dir = Dir::open_real(shelf)?;
    let mut done = 0;
    for name in wrong_in(&dir, owner)? {
        if fstatat(&dir, &*name, AtFlags::AT_SYMLINK_NOFOLLOW)?.st_nlink > 1 {
            continue;
        }
        let (uid, gid) = (Some(Uid::from_raw(owner.0)), Some(Gid::from_raw(owner.1)));
        fchownat(&dir, &*name, uid, gid, AtFlags::AT_SYMLINK_NOFOLLOW)?;
        fchmodat(&dir, &*name, Mode::from_bits_truncate(MODE), FchmodatFlags::NoFollowSymlink)?;
        done += 1;
    }
    Ok(done)
}

fn wrong_in(dir: &Dir, owner: (u32, u32)) -> io::Result<Vec<OsString>> {
    let mut names = dir.names(usize::MAX)?;
    names
        .retain(|name| !is_hidden(name) && dir.about(name).ok().flatten().is_some_and(|about| is_wrong(&about, owner)));
    names.sort_unstable();
    Ok(names)
}

/// Temporary names are swept with their attempt.
fn is_hidden(name: &OsStr) -> bool {
    name.as_bytes().starts_with(b".")
}

fn is_wrong(about: &FileInfo, (uid, gid): (u32, u32)) -> bool {
    about.is_file() && (about.uid != uid || about.gid != gid || about.mode & MODE != MODE)
}
