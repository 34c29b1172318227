//! The wall clock against the clock that cannot be set (invariant 11).

use std::{fs::File, time::Duration};

use super::{
    database, notify,
    round::{Round, RoundKind, WallClock, step_end},
};
use crate::{
    logging,
    model::{
        clock::{self, Belief, DRIFT, Doubt, Stamp, TickMark, judge, passed},
        estimate::Ticks,
        format,
    },
    site::{RoundMark, boot_id},
    supervise::clock_is_synchronised,
};

/// Without a tick for so long, or for twice as long as there was between the last two, whatever expired in between gets
/// one more round.
const SILENCE: Duration = Duration::from_mins(10);
/// Who ticks more seldom than once a day has each round after a silence.
const RAREST: Duration = Duration::from_hours(48);
/// A retry may be so much further ahead than its longest delay: a request can have put it off for as long.
const TOLERANCE: Duration = Duration::from_mins(1);
/// Ticks that begin sooner after each other are somebody's at a keyboard.
const SHORTEST: Duration = Duration::from_secs(5);

/// Notes whether the clock was set, cannot be believed, or nobody has ticked for long. Stamps that lie ahead are set back
/// to now, unless the clock is not believed: then nothing is rewritten.
pub fn look(round: &mut Round) -> anyhow::Result<()> {
    let last = last_round(round)?; // first: healing sets the last tick back as well
    let here = here(round.now);
    let clock = WallClock::found(believe(round, last.as_ref(), &here), last.as_ref(), &here);
    round.clock = clock.clone();
    if !round.is_light() {
        put_right(round, &clock, last, here)?;
    }
    // Looked at first: the write lock is not for a round that finds nothing to heal.
    if clock.doubt().is_none()
        && round.store.view().ahead(round.now)?
        && let Err(error) = round.store.heal_stamps(round.now, step_end())
    {
        round.problem(format!("cannot set back stamps that lie ahead: {error:#}"));
    }
    Ok(())
}

/// Tells what was found, corrects what a clock that was wrong has stamped, and notes the round.
fn put_right(round: &mut Round, clock: &WallClock, last: Option<RoundMark>, here: TickMark) -> anyhow::Result<()> {
    let was_doubted = last.as_ref().is_some_and(|last| last.doubt.is_some());
    if !round.is_plan() {
        tell(was_doubted, clock, round.now);
    }
    if let WallClock::Righted(from, to) = *clock {
        lift(round, from, to)?; // before the mark: whoever is killed in between does it again
    }
    let mark = remember(round.lock, last, here, clock);
    if (was_doubted || mark.doubt.is_some())
        && round.lock.is_some()
        && let Err(error) = round.context.site.show_doubt(&mark)
    {
        tracing::debug!(%error, "cannot show the status page that the clock is not believed");
    }
    hurry_retries(round, clock)
}

impl WallClock {
    fn found(belief: Belief, last: Option<&RoundMark>, here: &TickMark) -> Self {
        match belief {
            Belief::Good if last.is_some_and(|last| is_jump(last, here)) => Self::Jumped,
            Belief::Good => Self::Trusted,
            Belief::Back(from, to) => Self::Righted(from, to),
            Belief::Accepted => {
                Self::Accepted { leapt_from: last.and_then(|last| last.doubt.as_ref()).map(|doubt| doubt.right) }
            }
            Belief::Doubted(doubt) => Self::Doubted(doubt),
        }
    }
}

/// What to make of the clock. In a full round the admin's word counts, if there is one.
fn believe(round: &Round, last: Option<&RoundMark>, here: &TickMark) -> Belief {
    let belief = last.map_or(Belief::Good, |last| judged(last, here));
    if round.is_light() || round.lock.is_none() {
        return belief;
    }
    let accepted = round.context.site.take_accepted_clock();
    let is_this_clock = |mark: RoundMark| judge(&mark.round, None, here, false) == Belief::Good;
    match belief {
        Belief::Doubted(_) if accepted.is_some_and(is_this_clock) => Belief::Accepted,
        belief => belief,
    }
}

/// What the last round and the kernel tell about the clock.
pub fn judged(last: &RoundMark, here: &TickMark) -> Belief {
    judge(&last.round, last.doubt.as_ref(), here, clock_is_synchronised())
}

/// Once, when the doubt begins, and once when it ends: cron mails it.
fn tell(was_doubted: bool, clock: &WallClock, now: Stamp) {
    match clock {
        WallClock::Doubted(doubt) if !was_doubted => logging::diagnostic_line(doubt_sentence(doubt, now)),
        WallClock::Righted(..) => logging::diagnostic_line("the clock is right again"),
        WallClock::Accepted { leapt_from: Some(_) } => {
            let now = now.rfc3339();
            logging::diagnostic_line(format!("the clock is believed from now on: it says {now}"));
        }
        _ => {}
    }
}

/// For cron's mail and for `status`.
pub fn doubt_sentence(doubt: &Doubt, now: Stamp) -> String {
    let right = if doubt.is_exact { "it should say" } else { "it should say at least" };
    let (says, should) = (seconds(now).rfc3339(), seconds(doubt.right).rfc3339());
    let left = format::duration(doubt.left(now, clock_is_synchronised()));
    format!(
        "the clock says {says}, but by the last rounds {right} {should}: nothing expires until it is set right or has \
         gone on for {left} more; if it is right, run `pressroom tick --accept-clock`"
    )
}

fn seconds(stamp: Stamp) -> Stamp {
    Stamp(stamp.0.div_euclid(1000) * 1000)
}

/// What a clock that was behind has stamped would expire at once now that it is right.
fn lift(round: &mut Round, from: Stamp, to: Stamp) -> anyhow::Result<()> {
    let now = round.now;
    if to >= now.minus(DRIFT) {
        return Ok(()); // it was ahead, which healing sees
    }
    round.store.lift_stamps(now, from, to)
}

/// After the clock was set back, a retry may lie further ahead than it ever waits. While the clock is not believed, a retry
/// is started when it has waited for so long by the clock that nobody sets.
fn hurry_retries(round: &mut Round, clock: &WallClock) -> anyhow::Result<()> {
    if !round.store.view().has_late_retries(round.now.plus(TOLERANCE))? {
        return Ok(());
    }
    for (name, exporter) in &round.context.config.exporters {
        let (now, most) = (round.now, exporter.retry_max_delay);
        let latest = match clock {
            WallClock::Doubted(doubt) if doubt.steady < most => continue,
            WallClock::Doubted(_) => now,
            _ => now.plus(most),
        };
        let limit = now.plus(most).plus(TOLERANCE);
        round.store.hurry_retries(name, limit, latest)?;
    }
    Ok(())
}

/// Jobs of an exporter that wait for their next attempt longer than they may.
pub fn late_retries(view: &crate::store::View, exporter: &crate::config::Exporter, now: Stamp) -> anyhow::Result<u64> {
    Ok(view.late_retries(&exporter.name, now.plus(exporter.retry_max_delay).plus(TOLERANCE))?)
}

/// For a round that has no database: notes it, and tells whether the clock is trusted.
pub fn look_without_database(lock: &File, now: Stamp) -> bool {
    let (last, here) = (RoundMark::read(lock), here(now));
    let belief = last.as_ref().map_or(Belief::Good, |last| judged(last, &here));
    let clock = WallClock::found(belief, last.as_ref(), &here);
    // What the clock has stamped wrongly is left to a round that can put it right.
    if !matches!(clock, WallClock::Righted(..)) {
        remember(Some(lock), last, here, &clock);
    }
    clock.is_trusted()
}

/// As the last round has left it in the tick's own lock, else in the database.
fn last_round(round: &Round) -> anyhow::Result<Option<RoundMark>> {
    let marked = round.lock.map_or_else(|| round.context.site.last_round(), RoundMark::read);
    if marked.is_some() {
        return Ok(marked);
    }
    let last = round.store.view().last_tick()?;
    Ok(last.map(RoundMark::first))
}

/// At the beginning of the round: whatever becomes of it and of the database, the next one is not the first after a jump.
fn remember(lock: Option<&File>, last: Option<RoundMark>, here: TickMark, clock: &WallClock) -> RoundMark {
    let last = last.unwrap_or_else(|| RoundMark::first(here.clone()));
    let gap = passed(&last.round, &here).unwrap_or_else(|| here.at.since(last.round.at));
    let mark = RoundMark { round: here, gap, doubt: clock.doubt().cloned(), ..last };
    if let Some(Err(error)) = lock.map(|lock| mark.write(lock)) {
        tracing::debug!(%error, "cannot write the mark of the round");
    }
    mark
}

/// The round is over: `request` and `status` can tell that somebody ticks.
pub fn mark(round: &mut Round) -> anyhow::Result<()> {
    let mark = here(round.now);
    let keep_news = notify::wants_successes(round);
    let stays = if let RoundKind::First { stays } = round.kind { Some(stays) } else { None };
    round.store.mark_round(&mark, keep_news, |known| stays.map(|stays| ticks(known, mark.at, mark.at.plus(stays))))?;
    database::remember(round)
}

/// When ticks come, after one has begun now. A distance that no crontab has is not taken for one.
fn ticks(last: Option<Ticks>, now: Stamp, until: Stamp) -> Ticks {
    let every = last.map_or(Duration::ZERO, |last| match now.since(last.begun) {
        seen if (SHORTEST..=RAREST).contains(&seen) => seen,
        _ => last.every,
    });
    Ticks { begun: now, until, every }
}

/// This moment on all clocks.
pub fn here(now: Stamp) -> TickMark {
    TickMark { at: now, since_boot: clock::since_boot(), boot_id: boot_id().unwrap_or_default() }
}

fn is_jump(last: &RoundMark, here: &TickMark) -> bool {
    let silence = SILENCE.max((last.gap * 2).min(RAREST));
    let last = &last.round;
    here.at.since(last.at) >= silence || here.at < last.at || was_set(last, here)
}

/// Whether the wall clock was set between the two moments, as far as that can be told within one boot.
pub fn was_set(last: &TickMark, here: &TickMark) -> bool {
    let on_wall = u64::try_from(here.at.0.saturating_sub(last.at.0)).unwrap_or(0);
    passed(last, here).is_some_and(|passed| Duration::from_millis(on_wall).abs_diff(passed) > DRIFT)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(at_s: i64, boot_s: u64, boot: &str) -> TickMark {
        TickMark { at: Stamp(at_s * 1000), since_boot: Duration::from_secs(boot_s), boot_id: boot.into() }
    }

    fn jump(last: TickMark, here: &TickMark) -> bool {
        is_jump(&RoundMark::first(last), here)
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
    fn the_rhythm_is_the_distance_of_the_last_two_beginnings() {
        let first = ticks(None, Stamp(1000), Stamp(1000));
        assert_eq!((first.every, first.until), (Duration::ZERO, Stamp(1000)));
        let second = ticks(Some(first), Stamp(61_000), Stamp(111_000));
        assert_eq!((second.begun, second.until, second.every), (Stamp(61_000), Stamp(111_000), Duration::from_mins(1)));
        assert_eq!(ticks(Some(second), Stamp(62_000), Stamp(62_000)).every, Duration::from_mins(1), "one by hand");
        assert_eq!(ticks(Some(second), Stamp(9), Stamp(9)).every, Duration::from_mins(1), "the clock was set back");
    }

    #[test]
    fn who_ticks_each_quarter_of_an_hour_is_not_silent() {
        let quarter = |gap| RoundMark { gap: Duration::from_secs(gap), ..RoundMark::first(mark(1000, 50, "a")) };
        assert!(is_jump(&quarter(60), &mark(1900, 950, "a")));
        assert!(!is_jump(&quarter(900), &mark(1900, 950, "a")));
        assert!(is_jump(&quarter(900), &mark(2800, 1850, "a")));
    }
}
