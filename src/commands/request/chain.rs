//! Placing a job, and before it the source that it is made from: an EPUB once, the PDF from it.

use anyhow::{Context, anyhow};

use super::{
    Ask, admit,
    pipeline::{describe, named},
};
use crate::{
    commands::world::World,
    config::{
        Config, Exporter,
        params::{self, Values},
    },
    model::{
        answer::{Answer, State},
        clock::Stamp,
        job::Job,
        policy::{Freshness, freshness},
        status::Status,
    },
    store::{NewJob, Tx},
};

/// What became of a job that was to be queued.
pub enum Placed {
    Job(Job),
    Refused(Answer),
}

/// How the source of a derived file stands.
enum Source {
    /// There is none to wait for.
    Ready,
    /// It is being made, or was queued just now.
    Pending,
    Refused(Answer),
}

/// Queues the job: a new row, or the old failure's once more.
pub fn enqueue(world: &World, tx: &Tx, ask: &Ask, old: Option<&Job>, now: Stamp) -> anyhow::Result<Placed> {
    let source_ask = source_of(&world.config, ask)?;
    let waits = match source_ask.as_ref().map(|source| ensure(world, tx, source, now)).transpose()? {
        Some(Source::Refused(answer)) => return Ok(Placed::Refused(answer)),
        Some(Source::Pending) => true,
        Some(Source::Ready) | None => false,
    };
    let new = NewJob {
        filename: ask.filename.clone(),
        exporter: ask.exporter.name.clone(),
        params: ask.values.to_json(),
        queue: params::lane(ask.exporter, &ask.values).to_owned(),
        priority: ask.priority,
        client: ask.client.clone(),
        now,
        run_after: ask.after.max(ask.not_before).unwrap_or(now),
        source: source_ask.map(|source| source.filename),
        source_after: ask.after,
        waits_for_source: waits,
    };
    let job = match old {
        Some(old) => tx.requeue(old, &new)?.context("the failed job has changed under its lock")?,
        None => tx.insert(&new)?,
    };
    tracing::info!(job = job.id, filename = job.filename, "queued");
    Ok(Placed::Job(job))
}

/// The request for the source of a derived file: its exporter, for those of the parameters that it has.
pub fn source_of<'a>(config: &'a Config, ask: &Ask) -> anyhow::Result<Option<Ask<'a>>> {
    let exporter = ask.exporter.source.as_ref().and_then(|source| config.exporters.get(source));
    let Some(exporter) = exporter else { return Ok(None) };
    let values = source_values(exporter, &ask.values).map_err(|sentence| anyhow!(sentence))?;
    let (client, priority, after) = (ask.client.clone(), ask.priority, ask.after);
    Ok(Some(Ask { client, priority, after, ..Ask::of(exporter, values) }))
}

/// Those of the values that the source has, by its own rules.
pub fn source_values(source: &Exporter, values: &Values) -> Result<Values, String> {
    let has = |name: &str| source.params.iter().any(|param| param.name == name);
    let pairs = values.iter().filter(|(name, _)| has(name));
    let pairs: Vec<_> = pairs.map(|(name, value)| (name.into(), value.into())).collect();
    params::check(source, &pairs)
}

/// Sees to it that the source is there or is being made.
fn ensure(world: &World, tx: &Tx, source: &Ask, now: Stamp) -> anyhow::Result<Source> {
    let settled = super::pipeline::settled(world, tx, source, now)?;
    let answer = match settled {
        Some(answer) => answer,
        None => match tx.job(&source.filename)? {
            Some(job) if job.status == Status::Started => {
                tx.note_again(&job, source.after.unwrap_or(now))?;
                named(source, State::Started)
            }
            Some(job) if job.status == Status::Queued => {
                tx.delay(&job, source.after.unwrap_or(now), now)?;
                named(source, State::Queued)
            }
            old => place(world, tx, source, old.as_ref(), now)?,
        },
    };
    Ok(match answer.state {
        State::Ready => Source::Ready,
        State::Queued | State::Started => Source::Pending,
        _ => Source::Refused(answer),
    })
}

fn place(world: &World, tx: &Tx, source: &Ask, old: Option<&Job>, now: Stamp) -> anyhow::Result<Answer> {
    if let Some(refusal) = admit::refusal(world, tx, source, now)? {
        return Ok(refusal);
    }
    match enqueue(world, tx, source, old, now)? {
        Placed::Job(job) => describe(world, tx, source, &job, now),
        Placed::Refused(answer) => Ok(answer),
    }
}

/// How the source of a job that is about to be claimed stands.
pub enum SourceState {
    /// It is made from nothing else.
    None,
    /// The file is there; the start that counts for it.
    Ready(Stamp),
    Pending,
    /// With a sentence for the visitor.
    Failed(String),
    /// It cannot be queued just now.
    Later,
}

/// Looks at the source once more when the job's turn comes: it may have expired or been replaced since it was queued.
pub fn renew_source(world: &World, tx: &Tx, ask: &Ask, job: &Job, now: Stamp) -> anyhow::Result<SourceState> {
    let Some(source) = source_of(&world.config, ask)? else { return Ok(SourceState::None) };
    let source = Ask { after: job.source_after, ..source };
    if let Some(began) = usable(world, tx, &source, job, now)? {
        return Ok(SourceState::Ready(began));
    }
    Ok(match ensure(world, tx, &source, now)? {
        Source::Ready => SourceState::Later,
        Source::Pending => SourceState::Pending,
        Source::Refused(answer) => match answer.state {
            State::FailedTimeout | State::FailedUnknown => SourceState::Failed(answer.message.unwrap_or_default()),
            _ => SourceState::Later,
        },
    })
}

/// When the source's making began, if its file may be used: it is fresh, or was made since the job was queued (a job
/// that waits for a seat longer than the ttl must not have its source made again and again).
fn usable(world: &World, tx: &Tx, source: &Ask, job: &Job, now: Stamp) -> anyhow::Result<Option<Stamp>> {
    let Some(cached) = world.cache.look(&source.filename)? else { return Ok(None) };
    let fresh = freshness(cached.made, now, source.exporter.ttl, source.exporter.stale) == Freshness::Fresh;
    if !fresh && cached.made < job.submitted {
        return Ok(None);
    }
    let began = tx.latest_ok(&source.filename)?.map_or(cached.made, |attempt| attempt.counts_from);
    Ok(source.after.is_none_or(|after| began >= after).then_some(began))
}
