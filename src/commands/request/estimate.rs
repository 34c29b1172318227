//! Where a job stands in its queue and how long it will take, from what past attempts took.

use std::time::Duration;

use crate::{
    commands::world::World,
    config::Exporter,
    model::{answer::Answer, clock::Stamp, job::Job, status::Status},
    store::View,
};

/// How many past attempts the expected time is taken from.
const SAMPLE: u32 = 21;
/// Seconds until there is room, when no past attempt tells.
const UNKNOWN: u64 = 60;
/// The position that means "more than a thousand".
const MORE: u32 = 1001;
/// Without a tick for so long, whoever waits is told.
const SILENCE: Duration = Duration::from_mins(3);

/// Position, percent, expected time and the time to ask again of a job that is queued or started.
pub fn fill(
    world: &World,
    view: &View,
    exporter: &Exporter,
    job: &Job,
    now: Stamp,
    answer: &mut Answer,
) -> anyhow::Result<()> {
    let left = left(world, view, exporter, job, now)?;
    answer.eta_seconds = left.map(|left| left.as_secs().max(1));
    if job.status == Status::Started {
        answer.percent = job.percent;
        answer.message.clone_from(&job.message);
    } else {
        answer.position = Some(position(world, view, job)?);
        answer.reason = silence(view, job, now)?;
    }
    answer.retry_after = Some(answer.eta_seconds.unwrap_or(10).clamp(2, 30));
    Ok(())
}

/// A job that waits for its source stands behind it, and behind whatever its own queue has before it.
fn position(world: &World, view: &View, job: &Job) -> anyhow::Result<u32> {
    let own = view.position(job)?;
    let source = source_of(world, view, job)?.filter(|source| source.status == Status::Queued);
    let Some(source) = source else { return Ok(own) };
    let before = position(world, view, &source)?;
    let both = if source.queue == job.queue { own.max(before + 1) } else { own + before };
    Ok(both.min(MORE))
}

/// The job that makes the file which this one waits for: of the exporter that the configuration says, which has no
/// circles. Rows may wait for each other in one.
fn source_of(world: &World, view: &View, job: &Job) -> anyhow::Result<Option<Job>> {
    let configured = world.config.exporters.get(&job.exporter).and_then(|exporter| exporter.source.as_ref());
    let source = job.source.as_ref().filter(|_| job.waits_for_source);
    let source = source.map(|source| view.job(source)).transpose()?.flatten();
    Ok(source.filter(|source| !source.status.is_failed() && Some(&source.exporter) == configured))
}

/// The time until the job has probably ended. `None`: no past attempts tell.
fn left(world: &World, view: &View, exporter: &Exporter, job: &Job, now: Stamp) -> anyhow::Result<Option<Duration>> {
    let Some(typical) = typical(view, exporter)? else { return Ok(None) };
    if job.status == Status::Started {
        let spent = job.started.map_or(Duration::ZERO, |started| now.since(started));
        return Ok(Some(typical.saturating_sub(spent)));
    }
    let turn = turn_comes(world, job, view.position(job)?, typical, now);
    let Some(source) = source_of(world, view, job)? else { return Ok(Some(turn.saturating_add(typical))) };
    let Some(exporter) = world.config.exporters.get(&source.exporter) else { return Ok(None) };
    let made = left(world, view, exporter, &source, now)?;
    Ok(made.map(|made| made.max(turn).saturating_add(typical)))
}

/// The median of the exporter's last successes.
fn typical(view: &View, exporter: &Exporter) -> anyhow::Result<Option<Duration>> {
    let mut durations = view.ok_durations(&exporter.name, SAMPLE)?;
    durations.sort_unstable();
    Ok(durations.get(durations.len() / 2).copied())
}

/// The rounds that those before it need.
fn turn_comes(world: &World, job: &Job, position: u32, typical: Duration, now: Stamp) -> Duration {
    let seats = world.config.queues.get(&job.queue).map_or(1, |queue| queue.max_running.max(1));
    let rounds = position.saturating_sub(1) / seats;
    typical.saturating_mul(rounds).max(job.run_after.since(now))
}

/// The seconds until one of `these` jobs of a queue has probably gone, if they are spread evenly in it.
pub fn relief(world: &World, view: &View, exporter: &Exporter, queue: &str, these: u64) -> anyhow::Result<u64> {
    let Some(typical) = typical(view, exporter)? else { return Ok(UNKNOWN) };
    let seats = world.config.queues.get(queue).map_or(1, |queue| queue.max_running.max(1));
    let queued = view.queue(queue)?.due().max(1);
    let seconds = typical.as_secs().saturating_mul(queued) / u64::from(seats).saturating_mul(these.max(1));
    Ok(seconds.clamp(5, 600))
}

/// A queue that nobody serves is no secret.
pub fn silence(view: &View, job: &Job, now: Stamp) -> anyhow::Result<Option<String>> {
    let quiet = match view.last_tick()? {
        Some(tick) => now.since(tick.at),
        None => now.since(job.submitted),
    };
    Ok((quiet >= SILENCE).then(|| format!("no tick has run for {} minutes", quiet.as_secs() / 60)))
}
