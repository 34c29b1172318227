//! Space kept back, so that a full disk can still be cleaned up: deleting rows needs room for the log of the database.

use std::{
    fs::{self, File, OpenOptions, Permissions},
    io::{self, ErrorKind},
    os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt},
};

use nix::{
    fcntl::posix_fallocate,
    libc::{O_NOFOLLOW, O_NONBLOCK},
};

use super::{
    Site,
    disk::free_bytes,
    room::{is_want_of_space, refuses},
};

/// Bytes.
pub(super) const RESERVE_SIZE: u64 = 1 << 20;

impl Site {
    /// Frees the reserve. `false`: it had been given up before.
    pub fn give_up_reserve(&self) -> io::Result<bool> {
        let file = match self.open_reserve(OpenOptions::new().write(true)) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
            opened => opened?,
        };
        let held = file.metadata()?.len() > 0;
        if let Err(error) = file.set_len(0) {
            // Where nothing is written in its place, cutting a file takes a block, too; removing it is let through.
            match error.kind() {
                ErrorKind::StorageFull | ErrorKind::QuotaExceeded => fs::remove_file(self.reserve())?,
                _ => return Err(error),
            }
        }
        Ok(held)
    }

    /// Takes the reserve back if there is space enough again; tells whether it is whole.
    pub fn restore_reserve(&self) -> io::Result<bool> {
        let mut how = OpenOptions::new();
        let file = self.open_reserve(how.write(true).create(true).truncate(false).mode(0o660))?;
        if file.metadata()?.len() >= RESERVE_SIZE {
            return Ok(true);
        }
        // Taken back at once, the last free blocks would be missing for what they were given up for.
        if free_bytes(&self.queue())? < 4 * RESERVE_SIZE || refuses(&self.queue(), 4 * RESERVE_SIZE) {
            return Ok(false);
        }
        // Made anew by this user, it may have the wrong mode; of the other user's it cannot be changed, nor need it be.
        let _ = file.set_permissions(Permissions::from_mode(0o660));
        fill(&file)
    }

    /// Whoever may write in `queue/` can put anything in its place. Nothing is followed, nothing blocks us, and a file
    /// that has another name as well is somebody's: it is neither cut nor filled.
    fn open_reserve(&self, how: &mut OpenOptions) -> io::Result<File> {
        let path = self.reserve();
        let file = how.custom_flags(O_NOFOLLOW | O_NONBLOCK).open(&path)?;
        let about = file.metadata()?;
        let refused = || io::Error::other(format!("{} is not a regular file with one name; remove it", path.display()));
        (about.is_file() && about.nlink() == 1).then_some(file).ok_or_else(refused)
    }
}

/// Gives the file its blocks. `false`: there are not enough, and none is kept.
pub(super) fn fill(file: &File) -> io::Result<bool> {
    match posix_fallocate(file, 0, RESERVE_SIZE.cast_signed()) {
        Ok(()) => Ok(true),
        Err(error) => {
            file.set_len(0)?;
            if is_want_of_space(error) { Ok(false) } else { Err(error.into()) }
        }
    }
}
