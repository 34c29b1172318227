//! Whether there is room where something is to be written. What is free on a disk is not what a user may still write: a
//! quota, of a user, a group, a project or a subvolume, shows only to who tries.

use std::{fs::File, io, os::unix::fs::FileExt, path::Path};

use nix::{
    errno::Errno,
    fcntl::{AT_FDCWD, OFlag, openat, posix_fallocate},
    sys::stat::Mode,
    unistd::unlink,
};

use super::disk::free_bytes;

/// Bytes that are asked for in vain where a disk or a quota is full.
const LEAST: u64 = 1 << 20;
/// Of these so many are written: a block can be given out and not be written all the same.
const WRITTEN: usize = 64 << 10;

/// Bytes that can still be written at `dir`, as far as it is known: none where a quota is used up.
pub fn room(dir: &Path) -> io::Result<u64> {
    let free = free_bytes(dir)?;
    Ok(if free >= LEAST && refuses(dir, LEAST) { 0 } else { free })
}

/// Whether so many bytes cannot be written into `dir` for want of space. Where they cannot be for another reason, nothing
/// is said. Nothing is left there.
pub fn refuses(dir: &Path, bytes: u64) -> bool {
    tried(dir, bytes).is_err_and(is_want_of_space)
}

/// A disk without space, and a quota that is used up.
pub const fn is_want_of_space(error: Errno) -> bool {
    matches!(error, Errno::ENOSPC | Errno::EDQUOT)
}

fn tried(dir: &Path, bytes: u64) -> nix::Result<()> {
    let file = unnamed(dir)?;
    posix_fallocate(&file, 0, bytes.cast_signed())?;
    let block = vec![0; WRITTEN];
    match file.write_all_at(&block, 0) {
        Err(error) => Err(Errno::try_from(error).unwrap_or(Errno::EIO)),
        Ok(()) => Ok(()),
    }
}

/// A file without a name, or one that loses its name at once where there are none such.
fn unnamed(dir: &Path) -> nix::Result<File> {
    let (flags, mode) = (OFlag::O_RDWR | OFlag::O_CLOEXEC, Mode::S_IRUSR | Mode::S_IWUSR);
    match openat(AT_FDCWD, dir, flags | OFlag::O_TMPFILE, mode) {
        Err(Errno::EOPNOTSUPP | Errno::EISDIR | Errno::ENOSYS) => {
            let path = dir.join(format!(".room-{}", std::process::id()));
            let file = openat(AT_FDCWD, &path, flags | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_NOFOLLOW, mode)?;
            unlink(&path)?;
            Ok(file.into())
        }
        opened => Ok(opened?.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_there_is_room_it_is_found_and_nothing_is_left() {
        let dir = tempfile::tempdir().unwrap();
        assert!(!refuses(dir.path(), LEAST) && room(dir.path()).unwrap() > LEAST);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
        assert!(!refuses(&dir.path().join("missing"), LEAST), "nothing is known");
    }
}
