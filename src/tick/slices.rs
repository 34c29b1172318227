//! Work of any length, in pieces that hold the write lock so shortly that no request notices.

use std::{
    thread::sleep,
    time::{Duration, Instant},
};

use super::Round;
use crate::{model::clock::since_boot, store::Tx};

/// How long one piece holds the lock.
const LOCK: Duration = Duration::from_millis(40);
/// Whoever waits for it gets it in between.
const REST: Duration = Duration::from_millis(10);
/// What one step of a round may take in all; the next full round goes on.
const STEP: Duration = Duration::from_secs(5);

/// The moment, in time since boot, by which a step that begins now leaves the rest to the next round.
pub fn end() -> Duration {
    since_boot() + STEP
}

impl Round<'_> {
    /// Acts on each item, as many of them in one transaction as fit into a piece. After `end` no other piece begins.
    pub(super) fn in_slices<T>(
        &mut self,
        mut items: &[T],
        end: Duration,
        mut act: impl FnMut(&Tx, &T) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        while !items.is_empty() && since_boot() < end {
            let done = self.store.immediate(|tx| {
                let begun = Instant::now();
                for (done, item) in items.iter().enumerate() {
                    act(tx, item)?;
                    if begun.elapsed() >= LOCK {
                        return Ok(done + 1);
                    }
                }
                Ok(items.len())
            })?;
            items = &items[done..];
            sleep(if items.is_empty() { Duration::ZERO } else { REST });
        }
        Ok(())
    }

    /// Repeats a transaction for as long as it says that there is more to do, and until `end`.
    pub(super) fn repeat(
        &mut self,
        end: Duration,
        mut act: impl FnMut(&Tx) -> anyhow::Result<bool>,
    ) -> anyhow::Result<()> {
        while self.store.immediate(&mut act)? && since_boot() < end {
            sleep(REST);
        }
        Ok(())
    }
}
