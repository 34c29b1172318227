//! Space kept back, so that a full disk can still be cleaned up: deleting rows needs room for the log of the database.

use std::{
    fs::{File, OpenOptions, Permissions},
    io::{self, ErrorKind},
    os::unix::fs::{OpenOptionsExt, PermissionsExt},
};

use nix::{
    fcntl::posix_fallocate,
    libc::{O_NOFOLLOW, O_NONBLOCK},
};

use super::{Site, disk::free_bytes};

/// Bytes.
pub(super) const SIZE: u64 = 1 << 20;

impl Site {
    /// Frees the reserve. `false`: it had been given up before.
    pub fn give_up_reserve(&self) -> io::Result<bool> {
        let flags = O_NOFOLLOW | O_NONBLOCK;
        let file = match OpenOptions::new().write(true).custom_flags(flags).open(self.reserve()) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
            opened => opened?,
        };
        let held = file.metadata()?.len() > 0;
        file.set_len(0)?;
        Ok(held)
    }

    /// Takes the reserve back if there is space enough again; tells whether it is whole.
    pub fn restore_reserve(&self) -> io::Result<bool> {
        let mut how = OpenOptions::new();
        how.write(true).create(true).truncate(false).mode(0o660).custom_flags(O_NOFOLLOW | O_NONBLOCK);
        let file = how.open(self.reserve())?;
        if file.metadata()?.len() >= SIZE {
            return Ok(true);
        }
        // Taken back at once, the last free blocks would be missing for what they were given up for.
        if free_bytes(&self.queue())? < 4 * SIZE {
            return Ok(false);
        }
        // Made anew by this user, it may have the wrong mode; of the other user's it cannot be changed, nor need it be.
        let _ = file.set_permissions(Permissions::from_mode(0o660));
        fill(&file)
    }
}

/// Gives the file its blocks. `false`: there are not enough, and none is kept.
pub(super) fn fill(file: &File) -> io::Result<bool> {
    match posix_fallocate(file, 0, SIZE.cast_signed()) {
        Ok(()) => Ok(true),
        Err(error) => {
            file.set_len(0)?;
            let error = io::Error::from(error);
            if error.kind() == ErrorKind::StorageFull { Ok(false) } else { Err(error) }
        }
    }
}
