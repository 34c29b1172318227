//! Rows that have had their time: jobs that could not be started, failures that were kept long enough or are too many,
//! arrivals that no rate counts any more.

use std::time::Duration;

use super::{Round, slices::end};
use crate::{
    config::Exporter,
    model::{
        clock::{Stamp, since_boot},
        job::Job,
    },
    store::{Tx, View},
};

/// So many rows of one kind and exporter are looked up at a time.
const BATCH: u32 = 500;
/// For rows of an exporter that is no longer configured.
const UNKNOWN_KEEP: Duration = Duration::from_hours(24);
/// So many failed jobs are kept, whatever their `failure_keep`: more than anybody reads, and 10 MB of database. A
/// failure that is forgotten is not the answer any more, so the next request tries again.
const MOST_FAILURES: u32 = 10_000;
/// So many arrivals are forgotten under one lock.
const ARRIVALS: u32 = 1000;

/// Deletes them all, as far as the time of a round goes.
pub fn rows(round: &mut Round) -> anyhow::Result<()> {
    let end = end();
    while !round.calm && since_boot() < end {
        let gone = expired(round)?;
        if gone.is_empty() {
            break;
        }
        round.in_slices(&gone, end, |tx, (job, why)| drop_row(tx, job, why))?;
    }
    while since_boot() < end {
        let gone = round.store.view().failures_beyond(MOST_FAILURES, BATCH)?;
        if gone.is_empty() {
            break;
        }
        round.in_slices(&gone, end, |tx, job| drop_row(tx, job, "too many have failed"))?;
    }
    arrivals(round, end)
}

fn drop_row(tx: &Tx, job: &Job, why: &str) -> anyhow::Result<()> {
    if tx.delete(job.id, job.status)? {
        tracing::info!(job = job.id, filename = job.filename, why, "dropped");
    }
    Ok(())
}

/// Forgets when clients queued new work, as soon as no queue's rate looks back so far.
fn arrivals(round: &mut Round, end: Duration) -> anyhow::Result<()> {
    let rates = round.world.config.queues.values().filter_map(|queue| queue.new_per_client);
    let window = rates.map(|rate| rate.window).max().unwrap_or_default();
    let (before, now) = (round.now.minus(window), round.now);
    round.repeat(end, |tx| Ok(tx.trim_arrivals(before, now, ARRIVALS)? >= ARRIVALS as usize))
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
