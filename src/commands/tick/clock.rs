//! The wall clock against the clock that cannot be set (invariant 11).

use std::{fs::File, time::Duration};

use super::{Round, notify, slices};
use crate::{
    model::clock::{self, Stamp, TickMark},
    site::{RoundMark, boot_id},
};

/// Without a tick for so long, or for twice as long as there was between the last two, whatever expired in between gets
/// one more round.
const SILENCE: Duration = Duration::from_mins(10);
/// Who ticks more seldom than once a day has each round after a silence.
const RAREST: Duration = Duration::from_hours(48);
/// The two clocks may drift apart so far between two ticks.
const DRIFT: Duration = Duration::from_mins(1);

/// Notes whether the clock was set, or nobody has ticked for long. Stamps that lie ahead are set back to now.
pub fn look(round: &mut Round) -> anyhow::Result<()> {
    let now = round.now;
    let last = last_round(round)?; // first: healing sets the last tick back as well
    let here = here(now);
    round.calm = last.as_ref().is_some_and(|last| is_jump(last, &here));
    if !round.light {
        remember(round.lock, last, here);
    }
    // Looked at first: the write lock is not for a round that finds nothing to heal.
    if round.store.view().ahead(now)?
        && let Err(error) = heal(round)
    {
        round.problem(format!("cannot set back stamps that lie ahead: {error:#}"));
    }
    Ok(())
}

/// In slices; what is not healed when the step's time is over is left to the next round.
fn heal(round: &mut Round) -> anyhow::Result<()> {
    let (now, end) = (round.now, slices::end());
    let mut after = Some(0);
    round.repeat(end, |tx| {
        after = after.map(|id| tx.heal_jobs(now, id)).transpose()?.flatten();
        Ok(after.is_some())
    })?;
    let mut is_more = true;
    round.repeat(end, |tx| {
        is_more = tx.heal_attempts(now)?;
        Ok(is_more)
    })?;
    if after.is_none() && !is_more {
        round.store.immediate(|tx| Ok(tx.heal_rest(now)?))?;
    }
    Ok(())
}

/// Whether the clock was set, or nobody has ticked for long, since the last round.
pub fn jumped(round: &Round) -> anyhow::Result<bool> {
    Ok(last_round(round)?.is_some_and(|last| is_jump(&last, &here(round.now))))
}

/// As the last round has left it in the tick's own lock, else in the database.
fn last_round(round: &Round) -> anyhow::Result<Option<RoundMark>> {
    let marked = round.lock.map_or_else(|| round.world.site.last_round(), RoundMark::read);
    if marked.is_some() {
        return Ok(marked);
    }
    let last = round.store.view().last_tick()?;
    Ok(last.map(|last| RoundMark { round: last, gap: Duration::ZERO }))
}

/// At the beginning of the round: whatever becomes of it and of the database, the next one is not the first after a jump.
pub fn remember(lock: Option<&File>, last: Option<RoundMark>, here: TickMark) {
    let gap =
        last.map_or(Duration::ZERO, |last| passed(&last.round, &here).unwrap_or_else(|| here.at.since(last.round.at)));
    let mark = RoundMark { round: here, gap };
    if let Some(Err(error)) = lock.map(|lock| mark.write(lock)) {
        tracing::debug!(%error, "cannot write the mark of the round");
    }
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
    TickMark { at: now, since_boot: clock::since_boot(), boot_id: boot_id().unwrap_or_default() }
}

pub fn is_jump(last: &RoundMark, here: &TickMark) -> bool {
    let silence = SILENCE.max((last.gap * 2).min(RAREST));
    let last = &last.round;
    here.at.since(last.at) >= silence || here.at < last.at || was_set(last, here)
}

/// Whether the wall clock was set between the two moments, as far as that can be told within one boot.
pub fn was_set(last: &TickMark, here: &TickMark) -> bool {
    let on_wall = u64::try_from(here.at.0.saturating_sub(last.at.0)).unwrap_or(0);
    passed(last, here).is_some_and(|passed| Duration::from_millis(on_wall).abs_diff(passed) > DRIFT)
}

/// The time between two moments of one boot.
fn passed(last: &TickMark, here: &TickMark) -> Option<Duration> {
    let same_boot = last.boot_id == here.boot_id && !here.boot_id.is_empty();
    same_boot.then(|| here.since_boot.saturating_sub(last.since_boot))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(at_s: i64, boot_s: u64, boot: &str) -> TickMark {
        TickMark { at: Stamp(at_s * 1000), since_boot: Duration::from_secs(boot_s), boot_id: boot.into() }
    }

    fn jump(last: TickMark, here: &TickMark) -> bool {
        is_jump(&RoundMark { round: last, gap: Duration::ZERO }, here)
    }

    #[test]
    fn a_minute_between_ticks_is_no_jump() {
        assert!(!jump(mark(1000, 50, "a"), &mark(1060, 110, "a")));
        assert!(!jump(mark(1000, 50, "a"), &mark(1060, 3, "b")));
    }

    #[test]
    fn a_clock_that_was_set_and_a_long_silence_are() {
        assert!(jump(mark(1000, 50, "a"), &mark(1300, 110, "a")));
        assert!(jump(mark(1000, 50, "a"), &mark(900, 110, "a")));
        assert!(jump(mark(1000, 50, "a"), &mark(1700, 750, "a")));
    }

    #[test]
    fn who_ticks_each_quarter_of_an_hour_is_not_silent() {
        let quarter = |gap| RoundMark { round: mark(1000, 50, "a"), gap: Duration::from_secs(gap) };
        assert!(is_jump(&quarter(60), &mark(1900, 950, "a")));
        assert!(!is_jump(&quarter(900), &mark(1900, 950, "a")));
        assert!(is_jump(&quarter(900), &mark(2800, 1850, "a")));
    }
}
