//! One sample a minute of how full the queues are, kept for a week: the plots of the status page are drawn from them.

use std::time::Duration;

use super::{Round, slices::end};

const EVERY: Duration = Duration::from_mins(1);
const KEEP: Duration = Duration::from_hours(7 * 24);
/// So many are forgotten under one lock.
const TOGETHER: u32 = 1000;

/// Takes the sample of this minute, if no round has taken it.
pub fn take(round: &mut Round) -> anyhow::Result<()> {
    let now = round.now;
    if round.clock_doubt.is_some() {
        return Ok(()); // it would be plotted where it does not belong
    }
    if round.store.view().last_sample()?.is_some_and(|last| now.since(last) < EVERY && last <= now) {
        return Ok(());
    }
    round.store.immediate(|tx| Ok(tx.add_sample(now)?))?;
    round.repeat(end(), |tx| Ok(tx.trim_samples(now.minus(KEEP), TOGETHER)? == TOGETHER as usize))
}
