//! When ticks come: jobs are started by nothing else.

use std::time::Duration;

use super::ms;
use crate::model::clock::Stamp;

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
