//! With `-v`: the attempts that have ended since the last look. Their runs are processes of their own, which have no
//! stderr but the log of their exporter.

use std::sync::atomic::{AtomicI64, Ordering};

use super::Round;
use crate::{
    model::{clock::Stamp, job::Attempt},
    store::{AttemptOrder, AttemptQuery, JobFilter},
};

/// At most so many in a round.
const MOST: u32 = 100;

/// Shows what has ended since this process looked last, or since the last round.
pub fn show(round: &mut Round) -> anyhow::Result<()> {
    static NEXT: AtomicI64 = AtomicI64::new(i64::MIN);
    if !tracing::enabled!(tracing::Level::INFO) {
        return Ok(());
    }
    let view = round.store.view();
    let since = match NEXT.load(Ordering::Relaxed) {
        i64::MIN => view.last_tick()?.map_or(round.now, |tick| tick.at),
        next => Stamp(next),
    };
    let mut next = since;
    view.each_attempt(&ended_since(since), |_, attempt| {
        tell(attempt);
        next = next.max(attempt.record.as_ref().map_or(next, |record| record.ended.plus_ms(1)));
        true
    })?;
    NEXT.store(next.0, Ordering::Relaxed);
    Ok(())
}

fn ended_since(since: Stamp) -> AttemptQuery {
    let about = JobFilter { since: Some(since), ..JobFilter::default() };
    let (order, limit) = (AttemptOrder::Ended, Some(MOST));
    AttemptQuery { about, outcomes: Vec::new(), order, reverse: false, limit, below: None }
}

fn tell(attempt: &Attempt) {
    if let Some(record) = &attempt.record {
        let (job, id, filename) = (attempt.job, attempt.id.as_str(), &attempt.filename);
        let (result, duration) = (record.outcome.name(), record.duration.as_secs_f64());
        tracing::info!(job, attempt = id, filename, result, duration, "ended");
    }
}
