//! Placing a job, and before it the source that it is made from: an EPUB once, the PDF from it.

use anyhow::{Context as _, anyhow};

use super::{
    Ask, admit, patience,
    pipeline::{Standing, describe, is_pending, named},
};
use crate::{
    config::{
        Config, Exporter,
        params::{self, Values},
    },
    context::Context,
    model::{
        answer::{Answer, State},
        clock::Stamp,
        job::Job,
        misfit::Misfit,
        status::Status,
    },
    store::{NewJob, Tx, View},
};

/// What became of a job that was to be queued.
pub enum Placed {
    Job(Job),
    Refused(Answer),
}

/// How the source of a derived file stands.
pub(super) enum Source {
    /// There is none to wait for.
    Ready,
    /// It is being made, or was queued just now.
    Pending,
    Refused(Answer),
}

/// Whether a job counts as new work of its client, and whether a source that has to be made for it is subject to the
/// limits of queues and clients.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ChainEntry {
    /// Both: it is part of a request.
    Asked,
    /// Only the limits: a schedule or the admin wants it.
    Ours,
    /// Neither: what it is for has been admitted, and must not be held up by a queue that is full of its like.
    Owed,
}

/// Queues the job: a new row, or the old failure's once more. It is not counted as new work of its client.
pub fn enqueue(context: &Context, tx: &Tx, ask: &Ask, old: Option<&Job>, now: Stamp) -> anyhow::Result<Placed> {
    put(context, tx, ask, old, now, ChainEntry::Ours)
}

/// The same for a request: the job, and each source that is queued with it, is counted in its own queue.
pub(super) fn enqueue_asked(
    context: &Context,
    tx: &Tx,
    ask: &Ask,
    old: Option<&Job>,
    now: Stamp,
) -> anyhow::Result<Placed> {
    put(context, tx, ask, old, now, ChainEntry::Asked)
}

fn put(
    context: &Context,
    tx: &Tx,
    ask: &Ask,
    old: Option<&Job>,
    now: Stamp,
    entry: ChainEntry,
) -> anyhow::Result<Placed> {
    let source_ask = source_of(&context.config, ask)?;
    let run_after = ask.after.max(ask.not_before).unwrap_or(now);
    // What is to start later has its source made then, or the source would be old by then.
    let source_now = source_ask.as_ref().filter(|_| run_after <= now);
    let waits = match source_now.map(|source| ensure(context, tx, source, now, entry)).transpose()? {
        Some(Source::Refused(answer)) => return Ok(Placed::Refused(as_ours(answer, ask))),
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
        run_after,
        source: source_ask.map(|source| source.filename),
        source_after: ask.after,
        waits_for_source: waits,
        is_new_work: entry == ChainEntry::Asked && admit::has_rate(context, ask),
    };
    let job = match old {
        Some(old) => tx.requeue(old, &new)?.context("the failed job has changed under its lock")?,
        None => tx.insert(&new)?,
    };
    tracing::info!(job = job.id, filename = job.filename, "queued");
    Ok(Placed::Job(job))
}

/// The source's failure is the answer to who asked for what is made from it.
fn as_ours(answer: Answer, ask: &Ask) -> Answer {
    let Answer { state, message, retry_after, bad_input, reason, .. } = answer;
    Answer { message, retry_after, bad_input, reason, ..named(ask, state) }
}

/// The request for the source of a derived file: its exporter, for those of the parameters that it has.
pub fn source_of<'a>(config: &'a Config, ask: &Ask) -> anyhow::Result<Option<Ask<'a>>> {
    let exporter = ask.exporter.source.as_ref().and_then(|source| config.exporters.get(source));
    let Some(exporter) = exporter else { return Ok(None) };
    let values = source_values(exporter, &ask.values).map_err(|sentence| anyhow!(sentence))?;
    let (client, priority, after) = (ask.client.clone(), ask.priority, ask.after);
    Ok(Some(Ask { client, priority, after, ..Ask::of(exporter, values) }))
}

/// How many sources would be queued with it, in the same queue.
pub(super) fn sources_to_place(context: &Context, view: &View, ask: &Ask, now: Stamp) -> anyhow::Result<u64> {
    let queue = params::lane(ask.exporter, &ask.values);
    let later = ask.after.max(ask.not_before).is_some_and(|moment| moment > now);
    let (mut count, mut source) = (0, if later { None } else { source_of(&context.config, ask)? });
    while let Some(ask) = source {
        if is_pending(view, &ask)? || super::pipeline::settled(context, view, &ask, now)?.is_some() {
            break;
        }
        count += u64::from(params::lane(ask.exporter, &ask.values) == queue);
        source = source_of(&context.config, &ask)?;
    }
    Ok(count)
}

/// Those of the values that the source has, by its own rules.
pub fn source_values(source: &Exporter, values: &Values) -> Result<Values, Misfit> {
    let has = |name: &str| source.params.iter().any(|param| param.name == name);
    let pairs = values.iter().filter(|(name, _)| has(name));
    let pairs: Vec<_> = pairs.map(|(name, value)| (name.into(), value.into())).collect();
    params::check(source, &pairs)
}

/// Sees to it that the source is there or is being made.
pub(super) fn ensure(
    context: &Context,
    tx: &Tx,
    source: &Ask,
    now: Stamp,
    entry: ChainEntry,
) -> anyhow::Result<Source> {
    let settled = super::pipeline::settled(context, tx, source, now)?;
    let answer = match settled {
        Some(Standing::Job(job)) if !job.status.is_failed() => return Ok(Source::Pending),
        Some(Standing::Job(job)) => describe(context, tx, source, &job, now)?,
        Some(Standing::Answer(answer)) => answer,
        None => match tx.job(&source.filename)? {
            Some(job) if job.status == Status::Started => {
                tx.note_again(&job, source.after.unwrap_or(now))?;
                named(source, State::Started)
            }
            Some(job) if job.status == Status::Queued => {
                patience::adjust(tx, source, &job, now)?;
                named(source, State::Queued)
            }
            old => place(context, tx, source, old.as_ref(), now, entry)?,
        },
    };
    Ok(match answer.state {
        State::Ready => Source::Ready,
        State::Queued | State::Started => Source::Pending,
        _ => Source::Refused(answer),
    })
}

fn place(
    context: &Context,
    tx: &Tx,
    source: &Ask,
    old: Option<&Job>,
    now: Stamp,
    entry: ChainEntry,
) -> anyhow::Result<Answer> {
    if entry != ChainEntry::Owed
        && let Some(refusal) = admit::refusal_of_source(context, tx, source, now)?
    {
        return Ok(refusal);
    }
    match put(context, tx, source, old, now, entry)? {
        Placed::Job(_) => Ok(named(source, State::Queued)),
        Placed::Refused(answer) => Ok(answer),
    }
}
