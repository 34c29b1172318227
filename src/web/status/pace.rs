//! What the plots tell: how long back they look, and the figures of each stretch of that time.

use std::time::Duration;

use crate::{
    model::clock::{Stamp, millis},
    store::PastRun,
};

/// How long back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PlotSpan {
    Hour,
    Day,
}

impl PlotSpan {
    pub(super) const ALL: [Self; 2] = [Self::Hour, Self::Day];

    /// The last hour, unless the day is named.
    pub(super) fn named(name: Option<&str>) -> Self {
        Self::ALL.into_iter().find(|span| Some(span.name()) == name).unwrap_or(Self::Hour)
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Hour => "hour",
            Self::Day => "day",
        }
    }

    pub(super) const fn title(self) -> &'static str {
        match self {
            Self::Hour => "The last hour",
            Self::Day => "The last day",
        }
    }

    pub(super) const fn length(self) -> Duration {
        match self {
            Self::Hour => Duration::from_hours(1),
            Self::Day => Duration::from_hours(24),
        }
    }

    /// Attempts that ended within so long are one point.
    pub(super) const fn stretch(self) -> Duration {
        match self {
            Self::Hour => Duration::from_mins(2),
            Self::Day => Duration::from_mins(30),
        }
    }

    /// From one time that is written below the plot to the next.
    pub(super) const fn mark(self) -> Duration {
        match self {
            Self::Hour => Duration::from_mins(15),
            Self::Day => Duration::from_hours(6),
        }
    }
}

/// The attempts of one stretch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Stretch {
    pub(super) at: Stamp,
    pub(super) failed: u64,
    pub(super) wait: Mean,
    pub(super) run: Mean,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Mean {
    count: u32,
    sum: Duration,
    pub(super) most: Duration,
}

impl Mean {
    fn add(&mut self, duration: Duration) {
        self.count += 1;
        self.sum += duration;
        self.most = self.most.max(duration);
    }

    /// `None`: of nothing.
    pub(super) fn value(&self) -> Option<Duration> {
        self.sum.checked_div(self.count)
    }
}

/// Every stretch of the span, the first at its beginning, named by its middle. What lies ahead after the clock was set is
/// left out.
pub(super) fn stretches(ended: &[PastRun], span: PlotSpan, now: Stamp) -> Vec<Stretch> {
    let (start, width) = (now.minus(span.length()), millis(span.stretch()));
    let many = span.length().as_millis() / span.stretch().as_millis();
    let at = |place: i64| start.plus_ms(place * width + width / 2);
    let mut all: Vec<_> =
        (0..).take(many as usize).map(|place| Stretch { at: at(place), ..Stretch::default() }).collect();
    for one in ended {
        let place = usize::try_from((one.at.0 - start.0).div_euclid(width));
        if let Some(stretch) = place.ok().and_then(|place| all.get_mut(place)) {
            stretch.failed += u64::from(one.outcome.is_failure());
            stretch.run.add(one.ran);
            one.waited.iter().for_each(|waited| stretch.wait.add(*waited));
        }
    }
    all
}

/// The mean of them all and the longest.
pub(super) fn mean(durations: impl Iterator<Item = Duration>) -> Mean {
    let mut mean = Mean::default();
    durations.for_each(|duration| mean.add(duration));
    mean
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::status::Outcome;

    const NOW: Stamp = Stamp(1_772_366_400_000);

    fn ended(minutes: i64, outcome: Outcome, waited: Option<u64>) -> PastRun {
        let waited = waited.map(Duration::from_secs);
        PastRun { at: NOW.plus_ms(minutes * 60_000), outcome, ran: Duration::from_secs(9), waited }
    }

    #[test]
    fn attempts_are_counted_where_they_ended() {
        let ended = [
            ended(5, Outcome::Exit, None), // ahead
            ended(-1, Outcome::Ok, Some(4)),
            ended(-1, Outcome::Exit, Some(8)),
            ended(-59, Outcome::Cancelled, None),
            ended(-61, Outcome::Exit, None),
        ];
        let all = stretches(&ended, PlotSpan::Hour, NOW);
        assert_eq!(all.len(), 30);
        assert_eq!(all[29].at, NOW.plus_ms(-60_000));
        assert_eq!((all[29].failed, all[29].wait.value()), (1, Some(Duration::from_secs(6))));
        assert_eq!((all[29].wait.most, all[29].run.value()), (Duration::from_secs(8), Some(Duration::from_secs(9))));
        assert_eq!((all[0].failed, all[0].run.value().is_some(), all[0].wait.value()), (0, true, None));
        assert_eq!(all.iter().map(|stretch| stretch.failed).sum::<u64>(), 1);
        assert_eq!(stretches(&ended, PlotSpan::Day, NOW).len(), 48);
    }
}
