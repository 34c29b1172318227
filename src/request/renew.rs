//! The source of a derived job when its turn comes: it may have been pruned, refreshed or dropped since it was queued.

use super::{
    Ask,
    chain::{ChainEntry, Source, ensure, source_of},
};
use crate::{
    context::Context,
    model::{
        age::{Freshness, freshness},
        answer::State,
        clock::Stamp,
        job::Job,
        status::Outcome,
    },
    store::{Tx, View},
};

/// How the source of a job that is about to be claimed stands.
pub enum SourceState {
    /// It is made from nothing else.
    None,
    /// The file is there; the start that counts for it.
    Ready(Stamp),
    Pending,
    /// With the result of its last attempt and a sentence for the visitor.
    Failed(Outcome, String),
    /// It cannot be queued just now.
    Later,
}

/// Looks at the source once more when the job's turn comes: it may have expired or been replaced since it was queued.
pub fn renew_source(context: &Context, tx: &Tx, ask: &Ask, job: &Job, now: Stamp) -> anyhow::Result<SourceState> {
    let Some(source) = source_of(&context.config, ask)? else { return Ok(SourceState::None) };
    let source = Ask { after: job.source_after, priority: job.priority, ..source };
    if let Some(began) = usable(context, tx, &source, job, now)? {
        return Ok(SourceState::Ready(began));
    }
    Ok(match ensure(context, tx, &source, now, ChainEntry::Owed)? {
        Source::Ready => SourceState::Later,
        Source::Pending => SourceState::Pending,
        Source::Refused(answer) => match answer.state {
            State::FailedTimeout => SourceState::Failed(Outcome::Timeout, answer.message.unwrap_or_default()),
            State::FailedUnknown => SourceState::Failed(Outcome::Spawn, answer.message.unwrap_or_default()),
            _ => SourceState::Later,
        },
    })
}

/// When the source's making began, if its file may be used: it is fresh, or was made since the job could have been
/// started (one that waits for a seat longer than the ttl must not have its source made again and again).
fn usable(context: &Context, view: &View, source: &Ask, job: &Job, now: Stamp) -> anyhow::Result<Option<Stamp>> {
    let Some(cached) = context.cache.look(&source.filename)? else { return Ok(None) };
    let fresh = freshness(cached.made, now, source.exporter.ttl, source.exporter.stale) == Freshness::Fresh;
    if !fresh && cached.made < job.submitted.max(job.run_after) {
        return Ok(None);
    }
    let began = view.latest_ok(&source.filename)?.map_or(cached.made, |attempt| attempt.counts_from);
    Ok(source.after.is_none_or(|after| began >= after).then_some(began))
}
