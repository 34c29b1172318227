//! Rows that have had their time: jobs that could not be started, failures that were kept long enough, old history.

use std::time::Duration;

use super::Round;
use crate::{
    config::Exporter,
    model::{clock::Stamp, job::Job},
    store::{Tx, View},
};

/// So many rows of one kind and exporter go in one round.
const BATCH: u32 = 500;
/// So many are deleted under one lock: a commit each would be dear, and requests wait for a long one.
const TOGETHER: usize = 100;
/// For rows of an exporter that is no longer configured.
const UNKNOWN_KEEP: Duration = Duration::from_hours(24);

/// Deletes them all, a kind and an exporter at a time.
pub fn rows(round: &mut Round) -> anyhow::Result<()> {
    if round.calm {
        return Ok(());
    }
    for batch in expired(round)?.chunks(TOGETHER) {
        round.store.immediate(|tx| drop_all(tx, batch))?;
    }
    history(round)
}

fn drop_all(tx: &Tx, batch: &[(Job, &str)]) -> anyhow::Result<()> {
    for (job, why) in batch {
        if tx.delete(job.id, job.status)? {
            tracing::info!(job = job.id, filename = job.filename, why, "dropped");
        }
    }
    Ok(())
}

/// The rows that go, and why.
pub fn expired(round: &Round) -> anyhow::Result<Vec<(Job, &'static str)>> {
    let view = round.store.view();
    let mut found = Vec::new();
    for name in view.exporters()? {
        let exporter = round.world.config.exporters.get(&name);
        let keep = exporter.map_or(UNKNOWN_KEEP, |exporter| exporter.failure_keep);
        let failures = view.old_failures(&name, round.now.minus(keep), BATCH)?;
        found.extend(failures.into_iter().map(|job| (job, "failed long ago")));
        if let Some(exporter) = exporter {
            found.extend(waiting(&view, exporter, round.now)?);
        }
    }
    Ok(found)
}

fn waiting(view: &View, exporter: &Exporter, now: Stamp) -> anyhow::Result<Vec<(Job, &'static str)>> {
    let overdue = view.overdue_queued(&exporter.name, now.minus(exporter.queued_ttl), BATCH)?;
    let mut found: Vec<_> = overdue.into_iter().map(|job| (job, "could not be started for too long")).collect();
    if let Some(limit) = exporter.abandon_after {
        let abandoned = view.abandoned(&exporter.name, now.minus(limit), BATCH)?;
        found.extend(abandoned.into_iter().map(|job| (job, "nobody has asked about it")));
    }
    Ok(found)
}

fn history(round: &mut Round) -> anyhow::Result<()> {
    let keep = &round.world.config.history;
    let (old, old_ok) = (round.now.minus(keep.keep), round.now.minus(keep.keep_ok_logs));
    let site = &round.world.site;
    let mut problems = Vec::new();
    round.store.immediate(|tx| {
        let mut gone = tx.trim_attempts(old, BATCH)?;
        gone.extend(tx.trim_ok_logs(old_ok, BATCH)?);
        // Before the commit: a log that outlives its row would stay for ever.
        for attempt in gone {
            if let Err(error) = site.remove_log(&attempt) {
                problems.push(format!("cannot remove the log of attempt {attempt}: {error}"));
            }
        }
        Ok(())
    })?;
    round.problems.append(&mut problems);
    Ok(())
}
