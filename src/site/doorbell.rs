//! The doorbell: a FIFO by which requests and ended runs wake a lingering tick.

use std::{
    fs::{File, OpenOptions},
    io::{self, ErrorKind, Read, Write},
    os::{
        fd::{AsFd, BorrowedFd},
        unix::fs::{FileTypeExt, OpenOptionsExt},
    },
};

use nix::libc::{O_NOFOLLOW, O_NONBLOCK};

use super::Site;

impl Site {
    /// Wakes whoever listens. With nobody there, or with rings enough already, it is done all the same.
    pub fn ring(&self) {
        let opened = OpenOptions::new().write(true).custom_flags(O_NONBLOCK | O_NOFOLLOW).open(self.doorbell());
        let Ok(mut bell) = opened else { return };
        if is_fifo(&bell) {
            // A full pipe is a ring that has not been answered yet, so a failure to write loses nothing.
            let _ = bell.write(b"!");
        }
    }
}

fn is_fifo(file: &File) -> bool {
    file.metadata().is_ok_and(|about| about.file_type().is_fifo())
}

/// A full pipe takes fewer reads than this.
const MOST: usize = 64;

/// The doorbell from inside. It is opened for writing too, so that it never reads as ended.
#[derive(Debug)]
pub struct Doorbell(File);

impl Doorbell {
    /// Rings count from here on.
    pub fn open(site: &Site) -> io::Result<Self> {
        let path = site.doorbell();
        let bell = OpenOptions::new().read(true).write(true).custom_flags(O_NONBLOCK | O_NOFOLLOW).open(path)?;
        if is_fifo(&bell) { Ok(Self(bell)) } else { Err(io::Error::other("the doorbell is not a FIFO")) }
    }

    /// Takes all rings so far; tells whether there were any.
    pub fn drain(&self) -> io::Result<bool> {
        let mut rings = [0; 4096];
        let mut any = false;
        // Somebody who rings without end must not keep us here: what is left is a ring for the next time.
        for _ in 0..MOST {
            match (&self.0).read(&mut rings) {
                Ok(0) => return Ok(any),
                Ok(_) => any = true,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(any),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(any)
    }
}

impl AsFd for Doorbell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
