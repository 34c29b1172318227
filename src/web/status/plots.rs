//! The plots of the overview: queue length, wait and run time, failures; each with a sentence that gives the same figures.

use std::time::Duration;

use minijinja::{Value, context};

use super::{
    chart::{Chart, FIRST, PlotSpan, SECOND, Series, SeriesKind},
    request::StatusRefusal,
};
use crate::{
    model::{
        clock::{Stamp, millis},
        format,
        status::Outcome,
    },
    store::{PastRun, Sample, View},
};

/// How many attempts are drawn at most: the newest.
const ATTEMPTS: u32 = 100_000;

/// A plot, or only its sentence where there is nothing to draw.
struct Plot {
    title: &'static str,
    /// What each line shows, in the order of [`FIRST`] and [`SECOND`].
    keys: &'static [&'static str],
    text: String,
    svg: Option<String>,
}

/// All plots for this span.
pub(super) fn all(view: &View, span: PlotSpan, now: Stamp) -> Result<Value, StatusRefusal> {
    let since = now.minus(span.length());
    let samples: Vec<_> = view.samples_since(since)?.into_iter().filter(|sample| sample.at <= now).collect();
    let ended: Vec<_> = view.ended_since(since, ATTEMPTS)?.into_iter().filter(|one| one.at <= now).collect();
    let buckets = buckets(&ended, span, now);
    let plots =
        [queue(&samples, span, now)?, times(&ended, &buckets, span, now)?, failures(&ended, &buckets, span, now)?];
    Ok(plots.into_iter().map(values).collect())
}

fn values(plot: Plot) -> Value {
    context! { title => plot.title, keys => plot.keys.to_vec(), text => plot.text, svg => plot.svg }
}

fn queue(samples: &[Sample], span: PlotSpan, now: Stamp) -> anyhow::Result<Plot> {
    let (title, keys): (_, &[_]) = ("Queue length", &["queued", "running"]);
    let Some(last) = samples.last() else {
        let text = "No data yet: a tick takes a sample once a minute.".to_owned();
        return Ok(Plot { title, keys: &[], text, svg: None });
    };
    let most = |count: fn(&Sample) -> u64| samples.iter().map(count).max().unwrap_or_default();
    let line = |colour, count: fn(&Sample) -> u64| Series {
        colour,
        points: samples.iter().map(|sample| (sample.at, float(count(sample)))).collect(),
    };
    let text = format!(
        "Queued: {} now, {} at most. Running: {} now, {} at most.",
        last.queued,
        most(|sample| sample.queued),
        last.started,
        most(|sample| sample.started)
    );
    let lines = vec![line(FIRST, |sample| sample.queued), line(SECOND, |sample| sample.started)];
    let svg = Some(Chart::new(span, now, SeriesKind::Lines, lines, &count).draw()?);
    Ok(Plot { title, keys, text, svg })
}

fn times(ended: &[PastRun], buckets: &[Bucket], span: PlotSpan, now: Stamp) -> anyhow::Result<Plot> {
    let (title, keys): (_, &[_]) = ("Mean wait and run time", &["wait", "run"]);
    if ended.is_empty() {
        return Ok(Plot { title, keys: &[], text: "No attempt has ended in this time.".to_owned(), svg: None });
    }
    let (wait, run) = (mean(ended.iter().filter_map(|one| one.waited)), mean(ended.iter().map(|one| one.ran)));
    let tell = |what: &str, mean: Mean| {
        let value = mean.value().map_or_else(|| "no data".to_owned(), format::duration);
        format!("{what}: {value} on average, {} at most.", format::duration(mean.most))
    };
    let text = format!("{} {} {}", of(ended), tell("Wait", wait), tell("Run", run));
    let line = |colour, mean: fn(&Bucket) -> Mean| Series {
        colour,
        points: buckets.iter().filter_map(|one| Some((one.at, mean(one).value()?.as_secs_f64()))).collect(),
    };
    let lines = vec![line(FIRST, |one| one.wait), line(SECOND, |one| one.run)];
    let svg = Some(Chart::new(span, now, SeriesKind::Lines, lines, &seconds).draw()?);
    Ok(Plot { title, keys, text, svg })
}

fn failures(ended: &[PastRun], buckets: &[Bucket], span: PlotSpan, now: Stamp) -> anyhow::Result<Plot> {
    let (title, keys): (_, &[_]) = ("Failures", &["failed attempts"]);
    let failed: Vec<_> = Outcome::ALL.into_iter().filter(|outcome| outcome.is_failure()).collect();
    let count_of = |outcome: Outcome| ended.iter().filter(|one| one.outcome == outcome).count();
    let named = |outcome: Outcome| Some((outcome.name(), count_of(outcome))).filter(|(_, count)| *count > 0);
    let list: Vec<_> = failed.into_iter().filter_map(named).map(|(name, count)| format!("{name} {count}")).collect();
    if list.is_empty() {
        return Ok(Plot { title, keys: &[], text: format!("{} None failed.", of(ended)), svg: None });
    }
    let text = format!("{} Failed: {}.", of(ended), list.join(", "));
    let points = buckets.iter().map(|one| (one.at, float(one.failed))).collect();
    let lines = vec![Series { colour: FIRST, points }];
    let svg = Some(Chart::new(span, now, SeriesKind::Bars, lines, &count).draw()?);
    Ok(Plot { title, keys, text, svg })
}

/// How many attempts the figures are about.
fn of(ended: &[PastRun]) -> String {
    let more = if ended.len() < ATTEMPTS as usize { "" } else { ", not counting older ones" };
    format!("{} ended{more}.", format::count(ended.len() as u64, "attempt"))
}

#[expect(clippy::cast_precision_loss, reason = "a place in a picture")]
fn float(count: u64) -> f64 {
    count as f64
}

fn count(value: f64) -> String {
    if value.fract() == 0.0 { format!("{value:.0}") } else { String::new() }
}

fn seconds(value: f64) -> String {
    format::duration(Duration::try_from_secs_f64(value).unwrap_or_default())
}

/// The attempts that ended in one interval of a plot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Bucket {
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

    /// `None`: there was nothing to average.
    pub(super) fn value(&self) -> Option<Duration> {
        self.sum.checked_div(self.count)
    }
}

/// Every bucket of the span in order, each with its middle. Attempts in the future, from before the clock was set back,
/// are left out.
pub(super) fn buckets(ended: &[PastRun], span: PlotSpan, now: Stamp) -> Vec<Bucket> {
    let (start, width) = (now.minus(span.length()), millis(span.bucket()));
    let many = span.length().as_millis() / span.bucket().as_millis();
    let at = |place: i64| start.plus_ms(place * width + width / 2);
    let mut all: Vec<_> =
        (0..).take(many as usize).map(|place| Bucket { at: at(place), ..Bucket::default() }).collect();
    for one in ended {
        let place = usize::try_from((one.at.0 - start.0).div_euclid(width));
        if let Some(bucket) = place.ok().and_then(|place| all.get_mut(place)) {
            bucket.failed += u64::from(one.outcome.is_failure());
            bucket.run.add(one.ran);
            one.waited.iter().for_each(|waited| bucket.wait.add(*waited));
        }
    }
    all
}

/// Their mean, with the longest.
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
        let all = buckets(&ended, PlotSpan::Hour, NOW);
        assert_eq!(all.len(), 30);
        assert_eq!(all[29].at, NOW.plus_ms(-60_000));
        assert_eq!((all[29].failed, all[29].wait.value()), (1, Some(Duration::from_secs(6))));
        assert_eq!((all[29].wait.most, all[29].run.value()), (Duration::from_secs(8), Some(Duration::from_secs(9))));
        assert_eq!((all[0].failed, all[0].run.value().is_some(), all[0].wait.value()), (0, true, None));
        assert_eq!(all.iter().map(|bucket| bucket.failed).sum::<u64>(), 1);
        assert_eq!(buckets(&ended, PlotSpan::Day, NOW).len(), 48);
    }
}
