//! Who holds the write lock of the database, found without touching it.
//!
//! SQLite's write lock in WAL mode is a POSIX lock on one byte of the `-shm` file. Asking for it with fcntl would need
//! that file open, and closing it again would drop what SQLite itself holds in this process; the kernel's list tells the
//! same.

use std::{fs, os::unix::fs::MetadataExt, path::Path};

use super::{Store, opening::beside};

/// The byte of `-shm` that is locked by whoever writes.
const WRITE_LOCK: u64 = 120;
/// A list that changes while it is read may leave out a line.
const LOOKS: u32 = 3;

impl Store {
    /// The process that writes just now. `None`: nobody, or it cannot be known; 0: a process that cannot be seen from
    /// here.
    pub fn writer(path: &Path) -> Option<i32> {
        let inode = fs::metadata(beside(path, "-shm")).ok()?.ino();
        (0..LOOKS).find_map(|_| fs::read_to_string("/proc/locks").ok()?.lines().find_map(|line| holder(line, inode)))
    }
}

/// `1: POSIX  ADVISORY  WRITE 4711 fd:01:1234567 120 120`
fn holder(line: &str, inode: u64) -> Option<i32> {
    let words: Vec<_> = line.split_whitespace().collect();
    let [_, "POSIX", _, "WRITE", pid, file, from, to] = words[..] else { return None };
    let same = file.rsplit(':').next()?.parse() == Ok(inode);
    let covers = from.parse::<u64>().ok()? <= WRITE_LOCK && to.parse().unwrap_or(u64::MAX) >= WRITE_LOCK;
    (same && covers).then(|| pid.parse().unwrap_or(0)).map(|pid: i32| pid.max(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_list_tells_who_holds_the_byte() {
        assert_eq!(holder("1: POSIX  ADVISORY  WRITE 4711 fd:01:77 120 120", 77), Some(4711));
        assert_eq!(holder("2: POSIX  ADVISORY  WRITE 4711 fd:01:77 100 EOF", 77), Some(4711));
        assert_eq!(holder("3: POSIX  ADVISORY  READ 4711 fd:01:77 123 123", 77), None);
        assert_eq!(holder("4: POSIX  ADVISORY  WRITE 4711 fd:01:78 120 120", 77), None);
        assert_eq!(holder("5: -> POSIX  ADVISORY  WRITE 4711 fd:01:77 120 120", 77), None);
    }
}
