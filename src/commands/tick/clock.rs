//! The wall clock against the clock that cannot be set (invariant 11).

use std::time::Duration;

use super::{Round, notify};
use crate::{
    model::clock::{self, Stamp},
    site::boot_id,
    store::TickMark,
};

/// Without a tick for so long, whatever expired in between gets one more round.
const SILENCE: Duration = Duration::from_mins(10);
/// The two clocks may drift apart so far between two ticks.
const DRIFT: Duration = Duration::from_mins(1);

/// Notes whether the clock was set, or nobody has ticked for long. Stamps that lie ahead are set back to now.
pub fn look(round: &mut Round) -> anyhow::Result<()> {
    let now = round.now;
    round.calm = jumped(round)?; // first: healing sets the last tick back as well
    // Looked at first: the write lock is not for a round that finds nothing to heal.
    if round.store.view().ahead(now)?
        && let Err(error) = round.store.immediate(|tx| Ok(tx.heal_future(now)?))
    {
        round.problem(format!("cannot set back stamps that lie ahead: {error:#}"));
    }
    Ok(())
}

/// Whether the clock was set, or nobody has ticked for long, since the last round.
pub fn jumped(round: &Round) -> anyhow::Result<bool> {
    let Some(last) = round.store.view().last_tick()? else { return Ok(false) };
    Ok(is_jump(&last, &here(round.now)))
}

/// The round is over: `request` and `status` can tell that somebody ticks.
pub fn mark(round: &mut Round) -> anyhow::Result<()> {
    let mark = here(round.now);
    let keep_news = notify::wants_successes(round);
    round.store.immediate(|tx| {
        if !keep_news {
            tx.forget_news()?;
        }
        Ok(tx.mark_tick(&mark)?)
    })
}

/// This moment on all clocks.
pub fn here(now: Stamp) -> TickMark {
    TickMark { at: now, since_boot: clock::since_boot(), boot_id: boot_id() }
}

fn is_jump(last: &TickMark, here: &TickMark) -> bool {
    let on_wall = here.at.since(last.at);
    if on_wall >= SILENCE || here.at < last.at {
        return true;
    }
    was_set(last, here)
}

/// Whether the wall clock was set between the two moments, as far as that can be told within one boot.
pub fn was_set(last: &TickMark, here: &TickMark) -> bool {
    let same_boot = last.boot_id == here.boot_id && !here.boot_id.is_empty();
    let on_wall = u64::try_from(here.at.0 - last.at.0).unwrap_or(0);
    let passed = here.since_boot.saturating_sub(last.since_boot);
    same_boot && Duration::from_millis(on_wall).abs_diff(passed) > DRIFT
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(at_s: i64, boot_s: u64, boot: &str) -> TickMark {
        TickMark { at: Stamp(at_s * 1000), since_boot: Duration::from_secs(boot_s), boot_id: boot.into() }
    }

    #[test]
    fn a_minute_between_ticks_is_no_jump() {
        assert!(!is_jump(&mark(1000, 50, "a"), &mark(1060, 110, "a")));
        assert!(!is_jump(&mark(1000, 50, "a"), &mark(1060, 3, "b")));
    }

    #[test]
    fn a_clock_that_was_set_and_a_long_silence_are() {
        assert!(is_jump(&mark(1000, 50, "a"), &mark(1300, 110, "a")));
        assert!(is_jump(&mark(1000, 50, "a"), &mark(900, 110, "a")));
        assert!(is_jump(&mark(1000, 50, "a"), &mark(1700, 750, "a")));
    }
}
