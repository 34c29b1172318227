//! What the past tells: how long the runs of one exporter take, by its successes, and when the next ticks come. Nothing else
//! starts jobs.

use std::time::Duration;

use super::{ms, scaled};
use crate::model::clock::Stamp;

/// What an exporter says of itself is believed between these: at first it is too coarse, and many say 99 for long.
const BELIEVED: std::ops::RangeInclusive<u8> = 5..=95;
/// So many past runs that took longer tell something of a run that is going on.
const FEW: usize = 4;
/// A run is longer than usual when it is beyond the usual by more than the times are exact.
const EXACT: Duration = Duration::from_secs(1);

/// The lengths of past runs, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pace(Vec<u64>);

impl Pace {
    pub fn new(durations: Vec<Duration>) -> Self {
        let mut lengths: Vec<u64> = durations.into_iter().map(ms).collect();
        lengths.sort_unstable();
        Self(lengths)
    }

    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The length that so many per cent of the runs do not exceed. `None`: there were no runs.
    pub fn percentile(&self, percent: usize) -> Option<Duration> {
        let rank = (self.0.len() * percent).div_ceil(100).max(1);
        self.0.get(rank - 1).map(|&length| Duration::from_millis(length))
    }

    /// Whether a run that has lasted so long is beyond the 95th percentile.
    pub fn is_longer_than_usual(&self, elapsed: Duration) -> bool {
        self.percentile(95).is_some_and(|usual| elapsed > usual + EXACT)
    }

    /// A length at this part of all of them, from 0 to 1.
    pub(super) fn length(&self, part: f64) -> Option<u64> {
        at(&self.0, part)
    }

    /// What is left of a run at this part of the possible ones. `None`: it is beyond what is known.
    pub(super) fn left(&self, elapsed: Duration, percent: Option<u8>, part: f64) -> Option<u64> {
        let spent = ms(elapsed);
        if self.percentile(95).is_some_and(|usual| elapsed > usual) {
            return None;
        }
        let longer = &self.0[self.0.partition_point(|length| *length <= spent)..];
        let least = longer.first()? - spent;
        if let Some(percent) = percent.filter(|percent| BELIEVED.contains(percent)) {
            // It may say what it likes: a run that is nearly as short as the shortest has not been seen.
            let told = scaled(spent, f64::from(100 - percent) / f64::from(percent));
            return Some(scaled(told.max(least), 0.8 + 0.4 * part));
        }
        let is_few = longer.len() < FEW && longer.len() * 4 < self.0.len();
        if is_few { None } else { at(longer, part).map(|length| length - spent) }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "a place in a short list"
)]
fn at(lengths: &[u64], part: f64) -> Option<u64> {
    lengths.get((lengths.len() as f64 * part) as usize).or(lengths.last()).copied()
}

/// What the ticks have written down of themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticks {
    /// When the last one began its first round.
    pub begun: Stamp,
    /// Until when it stays and starts jobs as soon as they are there; when it began, if it does not stay.
    pub until: Stamp,
    /// The time between the beginnings of the last two. Zero: not known.
    pub every: Duration,
}

/// Without a tick for so long, whoever waits or looks is told: cron ticks each minute, and may just be late. Where ticks
/// come more seldom, it takes longer.
pub const NO_TICK: Duration = Duration::from_mins(3);
/// Where nothing else is known, cron's rhythm.
const CRON: Duration = Duration::from_mins(1);
/// A tick may be so late and still be on its way.
const LATE: Duration = Duration::from_secs(10);
const AT_ANY_MOMENT: Duration = Duration::from_secs(1);

impl Ticks {
    /// When the next one is expected.
    pub fn next(&self) -> Stamp {
        self.begun.plus(self.distance()).max(self.until)
    }

    /// The time between two beginnings.
    pub const fn distance(&self) -> Duration {
        if self.every.is_zero() { CRON } else { self.every }
    }
}

/// The moments at which jobs are started: as long as the last tick stays, and from each beginning on for as long as
/// that one stays. Milliseconds, from now on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rhythm {
    stays_yet: u64,
    next: u64,
    stays: u64,
    every: u64,
}

impl Rhythm {
    /// `None`: the next tick is overdue, so that nobody knows when it will come.
    pub fn of(ticks: &Ticks, now: Stamp) -> Option<Self> {
        let every = ticks.distance();
        let late = now.since(ticks.next());
        if late > LATE.max(every / 10) {
            return None;
        }
        // One that is a little late comes at any moment.
        let next = if late.is_zero() { ticks.next().since(now) } else { AT_ANY_MOMENT };
        let (stays_yet, stays) = (ticks.until.since(now), ticks.until.since(ticks.begun));
        Some(Self { stays_yet: ms(stays_yet), next: ms(next), stays: ms(stays), every: ms(every).max(1) })
    }

    /// The time until jobs are started next.
    pub fn next_round(&self) -> Duration {
        Duration::from_millis(self.next(0))
    }

    /// The first moment from `at` on at which jobs are started.
    pub(super) fn next(&self, at: u64) -> u64 {
        if at < self.stays_yet {
            return at;
        }
        let Some(since) = at.checked_sub(self.next) else { return self.next };
        let into = since % self.every;
        if into == 0 || into < self.stays { at } else { at.saturating_add(self.every - into) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(lengths: impl IntoIterator<Item = u64>) -> Pace {
        Pace::new(lengths.into_iter().map(Duration::from_secs).collect())
    }

    #[test]
    fn percentiles_are_lengths_that_were_seen() {
        let pace = seconds((1..=20).rev());
        let of = |percent| pace.percentile(percent).map(|length| length.as_secs());
        assert_eq!([of(50), of(80), of(95), of(100)], [Some(10), Some(16), Some(19), Some(20)]);
        assert_eq!((seconds([7]).percentile(80), seconds([]).percentile(80)), (Some(Duration::from_secs(7)), None));
    }

    #[test]
    fn a_run_beyond_the_95th_percentile_is_longer_than_usual_and_nothing_is_left_to_know() {
        let pace = seconds(1..=20);
        let longer = |secs| pace.is_longer_than_usual(Duration::from_secs(secs));
        assert_eq!([longer(19), longer(21)], [false, true]);
        assert_eq!(pace.left(Duration::from_secs(21), Some(50), 0.5), None);
        assert!(!seconds([]).is_longer_than_usual(Duration::from_hours(9)));
    }

    #[test]
    fn what_is_left_comes_from_the_runs_that_took_longer_or_from_the_percentage() {
        let pace = seconds([2, 2, 2, 60, 60, 60, 60]);
        assert_eq!(pace.left(Duration::from_secs(1), None, 0.0), Some(1000));
        assert_eq!(pace.left(Duration::from_secs(10), None, 0.0), Some(50_000));
        assert_eq!(seconds([10, 100]).left(Duration::from_secs(5), Some(25), 0.5), Some(15_000));
        assert_eq!(seconds([60; 9]).left(Duration::from_secs(5), Some(95), 0.5), Some(55_000), "no run was so short");
        assert_eq!(seconds([60; 9]).left(Duration::from_secs(5), Some(99), 0.5), Some(55_000), "99 is not believed");
    }
}

#[cfg(test)]
mod rhythm_tests {
    use super::*;

    fn ticks(until_s: i64, every_s: u64) -> Ticks {
        Ticks { begun: Stamp(0), until: Stamp(until_s * 1000), every: Duration::from_secs(every_s) }
    }

    fn next(ticks: Ticks, now_s: i64, at_s: u64) -> Option<u64> {
        Rhythm::of(&ticks, Stamp(now_s * 1000)).map(|rhythm| rhythm.next(at_s * 1000) / 1000)
    }

    #[test]
    fn a_plain_crontab_starts_jobs_each_minute() {
        assert_eq!(next(ticks(0, 60), 5, 0), Some(55));
        assert_eq!(next(ticks(0, 60), 5, 55), Some(55));
        assert_eq!(next(ticks(0, 60), 5, 56), Some(115));
        assert_eq!(next(ticks(0, 0), 5, 0), Some(55), "unknown: cron's own rhythm");
        assert_eq!(next(ticks(0, 900), 300, 0), Some(600));
    }

    #[test]
    fn a_tick_that_stays_starts_them_at_once_and_the_next_one_after_it() {
        assert_eq!(next(ticks(50, 60), 5, 0), Some(0));
        assert_eq!(next(ticks(50, 60), 5, 44), Some(44));
        assert_eq!(next(ticks(50, 60), 5, 46), Some(55));
        assert_eq!(next(ticks(50, 60), 5, 60), Some(60));
        assert_eq!(next(ticks(60, 60), 59, 500), Some(500));
    }

    #[test]
    fn a_late_tick_may_come_at_any_moment_and_one_that_is_overdue_at_none() {
        assert_eq!(next(ticks(0, 60), 63, 0), Some(1));
        assert_eq!(next(ticks(0, 60), 75, 0), None);
        assert_eq!(next(ticks(60, 0), 65, 0), Some(1));
    }
}
