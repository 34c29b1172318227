//! What one more request changes about a job that is queued already: when it may start, and how new its source must be.

use super::Ask;
use crate::{
    model::{clock::Stamp, job::Job},
    store::{Store, Tx},
};

/// A job that is to start so soon is left alone: `--after` may lie as far ahead.
const SOON_MS: i64 = 6_000;
/// That somebody has asked is written down at most so often.
const ASKED_MS: i64 = 30_000;

/// Whether the request wants the queued job otherwise than it is.
pub fn wants_change(ask: &Ask, job: &Job, now: Stamp) -> bool {
    later(ask, job, now) || newer_source(ask, job) || sooner(ask, job, now)
}

/// Changes it so. A job that is retried keeps its delay.
pub fn adjust(tx: &Tx, ask: &Ask, job: &Job, now: Stamp) -> anyhow::Result<()> {
    if sooner(ask, job, now) {
        tx.hasten(job, wanted(ask, now), now)?;
    }
    if let Some(after) = ask.after {
        tx.delay(job, after, now)?;
    }
    Ok(())
}

/// Only what starts then or later counts for the request.
fn later(ask: &Ask, job: &Job, now: Stamp) -> bool {
    ask.after.is_some_and(|after| after > now && after > job.run_after)
}

fn newer_source(ask: &Ask, job: &Job) -> bool {
    job.source.is_some() && ask.after > job.source_after
}

/// It was to be delayed for somebody else's sake.
fn sooner(ask: &Ask, job: &Job, now: Stamp) -> bool {
    job.attempts == 0 && wanted(ask, now).plus_ms(SOON_MS) < job.run_after
}

fn wanted(ask: &Ask, now: Stamp) -> Stamp {
    ask.after.max(ask.not_before).unwrap_or(now).max(now)
}

/// Writes down that somebody still waits for a queued job, where that matters. Failing in this fails nothing.
pub fn note_asked(store: &mut Store, ask: &Ask, now: Stamp) {
    if ask.exporter.abandon_after.is_some()
        && let Err(error) = touch(store, ask, now)
    {
        tracing::debug!(filename = ask.filename, %error, "cannot note that somebody asked");
    }
}

fn touch(store: &mut Store, ask: &Ask, now: Stamp) -> anyhow::Result<()> {
    let due = |job: &Job| now >= job.last_asked.plus_ms(ASKED_MS);
    if let Some(job) = store.view().job(&ask.filename)?.filter(due) {
        store.immediate(|tx| Ok(tx.touch_asked(&job, now)?))?;
    }
    Ok(())
}
