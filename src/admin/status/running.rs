//! Started jobs as they are seen from outside, and whoever holds up the database.

use std::{
    fs,
    path::Path,
    thread::sleep,
    time::{Duration, Instant},
};

use crate::{
    context::Context,
    model::{
        clock::{self, Stamp},
        job::Job,
    },
    site::{Sight, boot_id},
    store::{Store, View},
};

/// An attempt may outlive its time-out and its `kill_after` by so much before it is overdue.
const PATIENCE: Duration = Duration::from_mins(1);
/// Who holds the write lock for so long is stuck; a commit takes milliseconds.
const STUCK: Duration = Duration::from_secs(1);

/// A started job.
pub struct RunningJob {
    pub job: Job,
    /// Whether its run holds its lock.
    pub sight: Sight,
    pub elapsed: Duration,
    /// What it is allowed; `None` if the attempt's row has gone.
    pub timeout: Option<Duration>,
    /// It should have been ended long ago.
    pub is_overdue: bool,
}

/// All started jobs, the oldest first.
pub fn all(context: &Context, view: &View, now: Stamp) -> anyhow::Result<Vec<RunningJob>> {
    Ok(view.started()?.into_iter().map(|job| one(context, view, job, now)).collect())
}

fn one(context: &Context, view: &View, job: Job, now: Stamp) -> RunningJob {
    // An attempt's row that cannot be read is as good as gone.
    let attempt = job.attempt.as_ref().and_then(|id| view.attempt(id).ok()).flatten();
    let limits = attempt.map(|attempt| attempt.limits);
    let sight = job.attempt.as_ref().map_or(Sight::Missing, |id| context.site.peek(id));
    let elapsed = elapsed(context, &job, now);
    let allowed =
        limits.as_ref().map(|limits| limits.timeout.saturating_add(limits.kill_after).saturating_add(PATIENCE));
    let is_overdue = sight == Sight::Alive && allowed.is_some_and(|allowed| elapsed > allowed);
    RunningJob { job, sight, elapsed, timeout: limits.map(|limits| limits.timeout), is_overdue }
}

/// What the exporter has taken: by the clock of the limits, if its run has noted it and we may read it; else by the wall clock.
fn elapsed(context: &Context, job: &Job, now: Stamp) -> Duration {
    let note = job.attempt.as_ref().and_then(|id| context.site.lock_metadata(id).ok());
    match note.filter(|note| boot_id().is_ok_and(|boot| note.boot_id == boot)) {
        Some(note) => note.ended.unwrap_or_else(clock::since_boot).saturating_sub(note.since_boot),
        None => job.started.map_or(Duration::ZERO, |started| now.since(started)),
    }
}

/// A process that has held the database's write lock for as long as we looked: its number and name.
pub fn stuck_writer(database: &Path) -> Option<String> {
    let first = Store::writer(database)?;
    let end = Instant::now() + STUCK;
    while Instant::now() < end {
        sleep(Duration::from_millis(20));
        if Store::writer(database) != Some(first) {
            return None;
        }
    }
    let name = fs::read_to_string(format!("/proc/{first}/comm")).unwrap_or_default();
    Some(format!("process {first} ({})", name.trim()))
}
