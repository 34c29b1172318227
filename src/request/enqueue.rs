//! What has to be written for a request: its job, and before it the source that it is made from: an EPUB once, the PDF from
//! it. Decided by reading alone; the store takes the steps.

use super::{
    ask::{Ask, source_of},
    look::{Look, Refusal},
    standing::Standing,
};
use crate::{
    config::params,
    model::{
        age::Freshness,
        answer::{Answer, State},
        clock::Stamp,
        job::Job,
        status::{Outcome, Status},
    },
    store::{NewJob, QueueStep},
};

/// The steps, or why there are none.
pub type Steps = Result<Vec<QueueStep>, Refusal>;

/// Whether a job counts as new work of its client, and whether a source that has to be made for it is subject to the
/// limits of queues and clients.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ChainEntry {
    /// Both: it is part of a request.
    Asked,
    /// Only the limits: a schedule or the admin wants it.
    Ours,
    /// Neither: what it is for has been admitted, and must not be held up by a queue that is full of its like.
    Owed,
}

/// How the source of a derived file stands.
enum Source {
    /// There is none to wait for.
    Ready,
    /// It is being made, or will be by these steps.
    Pending(Vec<QueueStep>),
    Refused(Refusal),
}

/// How the source of a job that is about to be claimed stands.
pub enum SourceState {
    /// It is made from nothing else.
    None,
    /// The file is there; the start that counts for it.
    Ready(Stamp),
    /// It is being made, or will be by these steps.
    Pending(Vec<QueueStep>),
    /// With the result of its last attempt and a sentence for the visitor.
    Failed(Outcome, String),
    /// It cannot be queued just now.
    Later,
}

impl Look<'_> {
    /// What a request needs that misses its file; `old` is the row that there is.
    pub fn plan(&self, ask: &Ask, old: Option<Job>) -> anyhow::Result<Steps> {
        match old {
            Some(job) if !job.status.is_failed() => Ok(Ok(self.adjust(ask, job))),
            old => match self.refusal(ask)? {
                Some(refusal) => Ok(Err(refusal)),
                None => self.place(ask, old, ChainEntry::Asked),
            },
        }
    }

    /// The same for a schedule or the admin: a new row, or the old failure's once more. It is not counted as new work of its
    /// client.
    pub fn plan_ours(&self, ask: &Ask, old: Option<Job>) -> anyhow::Result<Steps> {
        self.place(ask, old, ChainEntry::Ours)
    }

    /// A queued job is brought to what one more request wants; one that is retried keeps its delay. A started job is made
    /// once more.
    fn adjust(&self, ask: &Ask, job: Job) -> Vec<QueueStep> {
        if job.status == Status::Started {
            return vec![QueueStep::NoteAgain(job, ask.after.unwrap_or(self.now))];
        }
        let sooner = ask.wants_sooner(&job, self.now);
        let sooner = sooner.then(|| QueueStep::Hasten(job.clone(), ask.wanted(self.now)));
        let later = ask.after.map(|after| QueueStep::Delay(job, after));
        sooner.into_iter().chain(later).collect()
    }

    fn place(&self, ask: &Ask, old: Option<Job>, entry: ChainEntry) -> anyhow::Result<Steps> {
        let source = source_of(&self.context.config, ask)?;
        let run_after = ask.run_after(self.now);
        // What is to start later has its source made then, or the source would be old by then.
        let source_now = source.as_ref().filter(|_| run_after <= self.now);
        let (mut steps, waits) = match source_now.map(|source| self.ensure(source, entry)).transpose()? {
            Some(Source::Refused(refusal)) => return Ok(Err(refusal.of_source(ask))),
            Some(Source::Pending(steps)) => (steps, true),
            Some(Source::Ready) | None => (Vec::new(), false),
        };
        let new = NewJob {
            filename: ask.filename.clone(),
            exporter: ask.exporter.name.clone(),
            params: ask.values.to_json(),
            queue: params::lane(ask.exporter, &ask.values).to_owned(),
            priority: ask.priority,
            client: ask.client.clone(),
            now: self.now,
            run_after,
            source: source.map(|source| source.filename),
            source_after: ask.after,
            waits_for_source: waits,
            is_new_work: entry == ChainEntry::Asked && self.has_rate(ask),
        };
        steps.push(match old {
            Some(old) => QueueStep::Requeue(old, new),
            None => QueueStep::Insert(new),
        });
        Ok(Ok(steps))
    }

    /// What it takes that the source is there or is being made.
    fn ensure(&self, source: &Ask, entry: ChainEntry) -> anyhow::Result<Source> {
        let old = match self.standing(source)? {
            Standing::Ready(_) => return Ok(Source::Ready),
            Standing::Queued(_) | Standing::Running(_) => return Ok(Source::Pending(Vec::new())),
            Standing::Missing(Some(job)) if !job.status.is_failed() => {
                return Ok(Source::Pending(self.adjust(source, job)));
            }
            Standing::Missing(old) => old,
            failed => return Ok(Source::Refused(self.answer(source, &failed)?.into())),
        };
        if entry != ChainEntry::Owed
            && let Some(refusal) = self.refusal_of_source(source)?
        {
            return Ok(Source::Refused(refusal));
        }
        Ok(self.place(source, old, entry)?.map_or_else(Source::Refused, Source::Pending))
    }

    /// The source of a job whose turn has come: it may have been pruned, refreshed or dropped since it was queued.
    pub fn renew_source(&self, ask: &Ask, job: &Job) -> anyhow::Result<SourceState> {
        let Some(source) = source_of(&self.context.config, ask)? else { return Ok(SourceState::None) };
        let source = Ask { after: job.source_after, priority: job.priority, ..source };
        if let Some(began) = self.usable(&source, job)? {
            return Ok(SourceState::Ready(began));
        }
        Ok(match self.ensure(&source, ChainEntry::Owed)? {
            Source::Ready => SourceState::Later,
            Source::Pending(steps) => SourceState::Pending(steps),
            Source::Refused(refusal) => failed(refusal.into_answer()),
        })
    }

    /// When the source's making began, if its file may be used: it is fresh, or was made since the job could have been
    /// started (one that waits for a seat longer than the ttl must not have its source made again and again).
    fn usable(&self, source: &Ask, job: &Job) -> anyhow::Result<Option<Stamp>> {
        let Some(cached) = self.context.cache.look(&source.filename)? else { return Ok(None) };
        let fresh = source.age(&cached, self.now) == Freshness::Fresh;
        if !fresh && cached.made < job.submitted.max(job.run_after) {
            return Ok(None);
        }
        let began = self.view.latest_ok(&source.filename)?.map_or(cached.made, |attempt| attempt.counts_from);
        Ok(source.after.is_none_or(|after| began >= after).then_some(began))
    }
}

fn failed(answer: Answer) -> SourceState {
    let outcome = match answer.state {
        State::FailedTimeout => Outcome::Timeout,
        State::FailedUnknown => Outcome::Spawn,
        _ => return SourceState::Later,
    };
    SourceState::Failed(outcome, answer.message.unwrap_or_default())
}
