//! Waiting for the write lock: short, jittered waits up to a deadline.
//!
//! SQLite's own handler sleeps in steps of up to 100 ms, which leaves the lock idle while many wait for it. A
//! commit takes a few milliseconds, so first waits of that order pass the lock on at once; the jitter keeps the
//! waiters from asking all at the same moment. Two hundred requests at once took a third of the processor time, and
//! half of the time, with waits that grow to 40 ms than with waits of at most 8 ms.

use std::{
    cell::Cell,
    fs,
    hash::{BuildHasher, RandomState},
    os::unix::fs::MetadataExt,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use super::{Store, files::beside};

/// How long a process waits for the write lock in all.
const DEADLINE: Duration = Duration::from_secs(10);
const SHORTEST_US: u64 = 200;
const LONGEST_US: u64 = 40_000;

thread_local! {
    static SINCE: Cell<Option<Instant>> = const { Cell::new(None) };
    static HASTE: Cell<bool> = const { Cell::new(false) };
}

#[cfg(not(any(debug_assertions, feature = "failpoints")))]
const fn deadline() -> Duration {
    DEADLINE
}

/// A test that holds the lock need not wait so long: `PRESSROOM_TEST_BUSY` is a deadline in milliseconds.
#[cfg(any(debug_assertions, feature = "failpoints"))]
fn deadline() -> Duration {
    let wanted = std::env::var("PRESSROOM_TEST_BUSY").ok().and_then(|text| text.parse().ok());
    wanted.map_or(DEADLINE, Duration::from_millis)
}

/// Does something without waiting for any lock: what is locked is busy at once.
pub fn at_once<T>(work: impl FnOnce() -> T) -> T {
    let before = HASTE.replace(true);
    let value = work();
    HASTE.set(before);
    value
}

/// SQLite asks this whether to try again; `round` counts from 0 for each lock.
pub(super) fn wait(round: i32) -> bool {
    let now = Instant::now();
    if round == 0 {
        SINCE.set(Some(now));
    }
    let waited = SINCE.get().map_or(Duration::ZERO, |since| now.duration_since(since));
    if HASTE.get() || waited >= deadline() {
        return false;
    }
    thread::sleep(pause(waited, RandomState::new().hash_one(now)));
    true
}

/// Somewhere between the shortest wait and a bound that grows with the time spent waiting: who has waited for long is
/// one of many, and hundreds that ask every few milliseconds keep the processor from the one that holds the lock.
fn pause(waited: Duration, dice: u64) -> Duration {
    let grown = 1000 + u64::try_from(waited.as_micros()).unwrap_or(u64::MAX) / 20;
    let bound = grown.min(LONGEST_US);
    Duration::from_micros(SHORTEST_US + dice % (bound - SHORTEST_US))
}

/// The byte of `-shm` that is locked by whoever writes.
const WRITE_LOCK: u64 = 120;
/// A list that changes while it is read may leave out a line.
const LOOKS: u32 = 3;

impl Store {
    /// The process that writes just now, found without touching its lock: in WAL mode that is a POSIX lock on one byte
    /// of the `-shm` file. Asking for it with fcntl would need that file open, and closing it again would drop what
    /// SQLite itself holds in this process; the kernel's list tells the same.
    ///
    ///  `None`: nobody, or it cannot be known; 0: a process that cannot be seen from
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
    fn waits_are_short_and_differ() {
        let waits: Vec<_> =
            (0..200).map(|round| pause(Duration::from_millis(10) * round, u64::from(round) * 7919)).collect();
        let bounds = Duration::from_micros(SHORTEST_US)..Duration::from_micros(LONGEST_US);
        assert!(waits.iter().all(|wait| bounds.contains(wait)));
        assert!(waits.windows(2).any(|pair| pair[0] != pair[1]));
    }

    #[test]
    fn a_line_of_the_list_tells_who_holds_the_byte() {
        assert_eq!(holder("1: POSIX  ADVISORY  WRITE 4711 fd:01:77 120 120", 77), Some(4711));
        assert_eq!(holder("2: POSIX  ADVISORY  WRITE 4711 fd:01:77 100 EOF", 77), Some(4711));
        assert_eq!(holder("3: POSIX  ADVISORY  READ 4711 fd:01:77 123 123", 77), None);
        assert_eq!(holder("4: POSIX  ADVISORY  WRITE 4711 fd:01:78 120 120", 77), None);
        assert_eq!(holder("5: -> POSIX  ADVISORY  WRITE 4711 fd:01:77 120 120", 77), None);
    }
}
