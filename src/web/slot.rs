//! Seats for requests that wait: `http.max_waiters` of them, each one byte of a file that an open file can lock.
//!
//! The kernel lets a lock go with its process, so a killed CGI program leaks no seat.

use std::{fs::File, io, path::Path};

use nix::{
    fcntl::{FcntlArg, fcntl},
    libc,
};

use crate::site;

/// A seat; it is free again when this is dropped.
#[derive(Debug)]
pub(super) struct Slot {
    _file: File,
}

/// Takes a free seat of `many` in `file`, which is made if it is not there. `None`: all are taken.
pub(super) fn take(file: &Path, many: u32) -> io::Result<Option<Slot>> {
    let file = site::open_shared(file)?;
    let free = (0..many).any(|seat| lock(&file, seat));
    Ok(free.then_some(Slot { _file: file }))
}

fn lock(file: &File, seat: u32) -> bool {
    #[expect(clippy::cast_possible_truncation, reason = "both are small; C only has other types for them")]
    let byte = libc::flock {
        l_type: libc::F_WRLCK as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: seat.into(),
        l_len: 1,
        l_pid: 0,
    };
    fcntl(file, FcntlArg::F_OFD_SETLK(&byte)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_as_many_seats_as_configured() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("waiters");
        let first = take(&file, 2).unwrap();
        let second = take(&file, 2).unwrap();
        assert!(first.is_some() && second.is_some());
        assert!(take(&file, 2).unwrap().is_none());
        drop(first);
        assert!(take(&file, 2).unwrap().is_some());
        assert!(take(&file, 0).unwrap().is_none());
    }
}
