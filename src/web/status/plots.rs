//! The plots of the overview: queue length, wait and run time, failures; each with a sentence that tells the same.

use std::time::Duration;

use minijinja::{Value, context};

use super::{
    asked::StatusRefusal,
    draw::{Chart, FIRST, SECOND, Series, SeriesKind},
    pace::{self, PlotSpan, Stretch},
};
use crate::{
    model::{clock::Stamp, format, status::Outcome},
    store::{PastRun, Sample, View},
};

/// Of more attempts only the newest are drawn.
const ATTEMPTS: u32 = 100_000;

/// A plot, or the sentence that stands in its place.
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
    let stretches = pace::stretches(&ended, span, now);
    let plots =
        [queue(&samples, span, now)?, times(&ended, &stretches, span, now)?, failures(&ended, &stretches, span, now)?];
    Ok(plots.into_iter().map(values).collect())
}

fn values(plot: Plot) -> Value {
    context! { title => plot.title, keys => plot.keys.to_vec(), text => plot.text, svg => plot.svg }
}

fn queue(samples: &[Sample], span: PlotSpan, now: Stamp) -> anyhow::Result<Plot> {
    let (title, keys): (_, &[_]) = ("Queue length", &["queued", "running"]);
    let Some(last) = samples.last() else {
        let text = "Nothing is known yet: ticks take a sample once a minute.".to_owned();
        return Ok(Plot { title, keys: &[], text, svg: None });
    };
    let most = |count: fn(&Sample) -> u64| samples.iter().map(count).max().unwrap_or_default();
    let line = |colour, count: fn(&Sample) -> u64| Series {
        colour,
        points: samples.iter().map(|sample| (sample.at, float(count(sample)))).collect(),
    };
    let text = format!(
        "Queued: {} at last, {} at most. Running: {} at last, {} at most.",
        last.queued,
        most(|sample| sample.queued),
        last.started,
        most(|sample| sample.started)
    );
    let lines = vec![line(FIRST, |sample| sample.queued), line(SECOND, |sample| sample.started)];
    let svg = Some(Chart::new(span, now, SeriesKind::Lines, lines, &count).draw()?);
    Ok(Plot { title, keys, text, svg })
}

fn times(ended: &[PastRun], stretches: &[Stretch], span: PlotSpan, now: Stamp) -> anyhow::Result<Plot> {
    let (title, keys): (_, &[_]) = ("Mean wait and run time", &["wait", "run"]);
    if ended.is_empty() {
        return Ok(Plot { title, keys: &[], text: "No attempt has ended.".to_owned(), svg: None });
    }
    let (wait, run) =
        (pace::mean(ended.iter().filter_map(|one| one.waited)), pace::mean(ended.iter().map(|one| one.ran)));
    let tell = |what: &str, mean: pace::Mean| {
        let value = mean.value().map_or_else(|| "nothing is known".to_owned(), format::duration);
        format!("{what}: {value} on average, {} at most.", format::duration(mean.most))
    };
    let text = format!("{} {} {}", of(ended), tell("Wait", wait), tell("Run", run));
    let line = |colour, mean: fn(&Stretch) -> pace::Mean| Series {
        colour,
        points: stretches.iter().filter_map(|one| Some((one.at, mean(one).value()?.as_secs_f64()))).collect(),
    };
    let lines = vec![line(FIRST, |one| one.wait), line(SECOND, |one| one.run)];
    let svg = Some(Chart::new(span, now, SeriesKind::Lines, lines, &seconds).draw()?);
    Ok(Plot { title, keys, text, svg })
}

fn failures(ended: &[PastRun], stretches: &[Stretch], span: PlotSpan, now: Stamp) -> anyhow::Result<Plot> {
    let (title, keys): (_, &[_]) = ("Failures", &["failed attempts"]);
    let failed: Vec<_> = Outcome::ALL.into_iter().filter(|outcome| outcome.is_failure()).collect();
    let count_of = |outcome: Outcome| ended.iter().filter(|one| one.outcome == outcome).count();
    let named = |outcome: Outcome| Some((outcome.name(), count_of(outcome))).filter(|(_, count)| *count > 0);
    let list: Vec<_> = failed.into_iter().filter_map(named).map(|(name, count)| format!("{name} {count}")).collect();
    if list.is_empty() {
        return Ok(Plot { title, keys: &[], text: format!("{} None failed.", of(ended)), svg: None });
    }
    let text = format!("{} Failed: {}.", of(ended), list.join(", "));
    let points = stretches.iter().map(|one| (one.at, float(one.failed))).collect();
    let lines = vec![Series { colour: FIRST, points }];
    let svg = Some(Chart::new(span, now, SeriesKind::Bars, lines, &count).draw()?);
    Ok(Plot { title, keys, text, svg })
}

/// How many attempts it is about.
fn of(ended: &[PastRun]) -> String {
    let more = if ended.len() < ATTEMPTS as usize { "" } else { ", the newest of more" };
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
