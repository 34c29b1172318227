//! Waiting for the write lock: short, jittered waits up to a deadline.
//!
//! SQLite's own handler sleeps in steps of up to 100 ms, which leaves the lock idle while many wait for it. A
//! commit takes about a millisecond here, so waits of that order pass the lock on at once; the jitter keeps the
//! waiters from asking all at the same moment.

use std::{
    cell::Cell,
    hash::{BuildHasher, RandomState},
    thread,
    time::{Duration, Instant},
};

/// How long a process waits for the write lock in all.
const DEADLINE: Duration = Duration::from_secs(10);
const SHORTEST_US: u64 = 200;
const LONGEST_US: u64 = 8_000;

thread_local! {
    static SINCE: Cell<Option<Instant>> = const { Cell::new(None) };
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

/// SQLite asks this whether to try again; `round` counts from 0 for each lock.
pub(super) fn wait(round: i32) -> bool {
    let now = Instant::now();
    if round == 0 {
        SINCE.set(Some(now));
    }
    if SINCE.get().is_some_and(|since| now.duration_since(since) >= deadline()) {
        return false;
    }
    thread::sleep(pause(round.unsigned_abs(), RandomState::new().hash_one(now)));
    true
}

/// Somewhere between the shortest wait and a bound that grows by a tenth of a millisecond a round.
fn pause(round: u32, dice: u64) -> Duration {
    let bound = (1000 + 100 * u64::from(round.min(1000))).min(LONGEST_US);
    Duration::from_micros(SHORTEST_US + dice % (bound - SHORTEST_US))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_short_and_differ() {
        let waits: Vec<_> = (0..200).map(|round| pause(round, u64::from(round) * 7919)).collect();
        let bounds = Duration::from_micros(SHORTEST_US)..Duration::from_micros(LONGEST_US);
        assert!(waits.iter().all(|wait| bounds.contains(wait)));
        assert!(waits.windows(2).any(|pair| pair[0] != pair[1]));
    }
}
