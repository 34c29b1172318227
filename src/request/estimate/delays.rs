//! What keeps a job from its file just now.

use std::time::Duration;

use super::{links::Link, scene::Setting};
use crate::{
    model::{answer::Delay, breaker::Breaker, clock::Stamp, job::Job, status::Status},
    request::{breaker_of, disk_is_low},
    store::Mode,
};

/// Without a tick for so long, whoever waits is told;
const SILENCE: Duration = Duration::from_mins(3);
/// where ticks come less often, when the next one is late by so much.
const LATE: Duration = Duration::from_mins(2);
/// A job that is to start so soon is as good as ready: `--after` may lie as far ahead.
const SOON: Duration = Duration::from_secs(6);

/// The first thing that delays the job, or what it is made from.
pub fn of(setting: &mut Setting, links: &[Link]) -> anyhow::Result<Option<Delay>> {
    for link in links {
        let delay = match link.job.status {
            Status::Started => longer(setting, &link.job)?,
            _ => before_start(setting, &link.job)?,
        };
        if delay.is_some() {
            return Ok(delay);
        }
    }
    Ok(None)
}

fn longer(setting: &mut Setting, job: &Job) -> anyhow::Result<Option<Delay>> {
    let elapsed = job.started.map_or(Duration::ZERO, |started| setting.now.since(started));
    let pace = setting.pace(&job.exporter)?;
    // A row may name an exporter that is not configured.
    Ok(setting.paces.get(pace).is_some_and(|pace| pace.is_longer_than_usual(elapsed)).then_some(Delay::Longer))
}

/// What a person has to end comes first, and what ends by itself last.
fn before_start(setting: &Setting, job: &Job) -> anyhow::Result<Option<Delay>> {
    let (context, view, now) = (setting.context, setting.view, setting.now);
    match view.queue(&job.queue)?.mode {
        Mode::Paused => return Ok(Some(Delay::Paused)),
        Mode::Draining => return Ok(Some(Delay::Draining)),
        Mode::Open => {}
    }
    let exporter = context.config.exporters.get(&job.exporter);
    let Some(exporter) = exporter.filter(|exporter| !context.config.broken().contains_key(&exporter.name)) else {
        return Ok(Some(Delay::Held));
    };
    if breaker_of(view, exporter, now)? != Breaker::Closed {
        return Ok(Some(Delay::Trouble));
    }
    if let Some(minutes) = silence(setting, job) {
        return Ok(Some(Delay::NoTick { minutes }));
    }
    if disk_is_low(context) {
        return Ok(Some(Delay::DiskLow));
    }
    if setting.is_memory_low && !setting.running.is_empty() {
        return Ok(Some(Delay::MemoryLow));
    }
    let is_later = job.run_after.since(now) > SOON;
    Ok(is_later.then(|| Delay::Until(whole_seconds(job.run_after))))
}

/// A queue that nobody serves is no secret: for how many minutes.
fn silence(setting: &Setting, job: &Job) -> Option<u64> {
    let (quiet, limit) = match &setting.ticks {
        Some((last, ticks)) => {
            // One that stays may have nothing to do for long.
            let until = if ticks.until > ticks.begun { *last.max(&ticks.until) } else { *last };
            (setting.now.since(until), SILENCE.max(ticks.distance() + LATE))
        }
        None => (setting.now.since(job.submitted), SILENCE),
    };
    (quiet >= limit).then_some(quiet.as_secs() / 60)
}

/// Rounded up, as it is for people.
fn whole_seconds(stamp: Stamp) -> Stamp {
    Stamp(stamp.0.saturating_add(999) / 1000 * 1000)
}
