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
    let typical = typical(view, exporter)?;
    if job.status == Status::Started {
        answer.percent = job.percent;
        answer.message.clone_from(&job.message);
        answer.eta_seconds = typical.map(|typical| left(typical, job, now));
    } else {
        let position = position(view, job)?;
        answer.position = Some(position);
        answer.eta_seconds = typical.map(|typical| turn_comes(world, job, position, typical, now));
        answer.reason = silence(view, job, now)?;
    }
    answer.retry_after = Some(answer.eta_seconds.unwrap_or(10).clamp(2, 30));
    Ok(())
}

/// A job that waits for its source stands where the source stands.
fn position(view: &View, job: &Job) -> anyhow::Result<u32> {
    let source = job.source.as_ref().filter(|_| job.waits_for_source);
    match source.map(|source| view.job(source)).transpose()?.flatten() {
        Some(source) if source.status == Status::Queued => position(view, &source),
        Some(_) => Ok(1),
        None => Ok(view.position(job)?),
    }
}

/// The median of the exporter's last successes.
fn typical(view: &View, exporter: &Exporter) -> anyhow::Result<Option<Duration>> {
    let mut durations = view.ok_durations(&exporter.name, SAMPLE)?;
    durations.sort_unstable();
    Ok(durations.get(durations.len() / 2).copied())
}

fn left(typical: Duration, job: &Job, now: Stamp) -> u64 {
    let spent = job.started.map_or(Duration::ZERO, |started| now.since(started));
    typical.saturating_sub(spent).as_secs().max(1)
}

/// Its own time after the rounds that those before it need.
fn turn_comes(world: &World, job: &Job, position: u32, typical: Duration, now: Stamp) -> u64 {
    let seats = world.config.queues.get(&job.queue).map_or(1, |queue| queue.max_running.max(1));
    let rounds = position.div_ceil(seats);
    let wait = job.run_after.since(now);
    (typical.saturating_mul(rounds) + wait).as_secs().max(1)
}

/// A queue that nobody serves is no secret.
pub fn silence(view: &View, job: &Job, now: Stamp) -> anyhow::Result<Option<String>> {
    let quiet = match view.last_tick()? {
        Some(tick) => now.since(tick.at),
        None => now.since(job.submitted),
    };
    Ok((quiet >= SILENCE).then(|| format!("no tick has run for {} minutes", quiet.as_secs() / 60)))
}
