//! From how a request stands to its answer.

use super::{
    ask::Ask,
    estimate,
    look::{Look, Refusal},
    name,
    standing::Standing,
};
use crate::{
    cache::Cached,
    model::{
        age::Freshness,
        answer::{Answer, State},
        clock::Stamp,
        job::Job,
        retry::PERMANENT,
        status::{Outcome, Status},
    },
    store::StoreError,
};

/// The answer that a file gives.
pub fn ready(ask: &Ask, cached: &Cached, now: Stamp) -> Answer {
    let expires = ask.exporter.ttl.map(|ttl| cached.made.plus(ttl));
    Answer {
        path: Some(cached.path.clone()),
        title: Some(name::download(ask.exporter, &ask.values)),
        content_type: ask.exporter.file().map(|file| file.content_type.clone()),
        size: Some(cached.size),
        made_at: Some(cached.made),
        expires_at: expires,
        stale: ask.age(cached, now) != Freshness::Fresh,
        ..ask.answer(State::Ready)
    }
}

impl Look<'_> {
    /// The answer to a request that stands like this.
    pub fn answer(&self, ask: &Ask, found: &Standing) -> anyhow::Result<Answer> {
        match found {
            Standing::Ready(cached) => Ok(ready(ask, cached, self.now)),
            Standing::Queued(job) => self.pending(ask, job, State::Queued),
            Standing::Running(job) => self.pending(ask, job, State::Started),
            Standing::Failed(job) => self.failed(ask, job),
            Standing::Absent | Standing::Missing(_) => {
                Ok(Answer { dropped: self.dropped(ask)?, ..ask.answer(State::Absent) })
            }
            Standing::Refused(refusal) => self.refused(refusal),
        }
    }

    /// The answer of a refusal, with the time after which it may be over.
    pub fn refused(&self, refusal: &Refusal) -> anyhow::Result<Answer> {
        let relief = refusal.relief.as_ref().map(|relief| estimate::relief(self, relief)).transpose()?;
        Ok(Answer { retry_after: relief.or(refusal.answer.retry_after), ..refusal.answer.clone() })
    }

    fn pending(&self, ask: &Ask, job: &Job, state: State) -> anyhow::Result<Answer> {
        let mut answer = Answer { attempts: Some(job.attempts), ..ask.answer(state) };
        if state == State::Queued && job.attempts == 0 {
            answer.dropped = self.dropped(ask)?;
        }
        estimate::fill(self, ask, job, &mut answer)?;
        Ok(answer)
    }

    fn failed(&self, ask: &Ask, job: &Job) -> anyhow::Result<Answer> {
        let (state, plain) = match job.status {
            Status::FailedTimeout => (State::FailedTimeout, "it took too long"),
            _ => (State::FailedUnknown, "the export failed"),
        };
        let until = job.failed.unwrap_or(self.now).plus(ask.exporter.failure_ttl);
        Ok(Answer {
            attempts: Some(job.attempts),
            message: Some(job.message.clone().unwrap_or_else(|| plain.to_owned())),
            retry_after: Some(until.since(self.now).as_secs() + 1),
            bad_input: self.is_bad_input(job)?,
            ..ask.answer(state)
        })
    }

    /// Whether the last attempt ended with the status by which an exporter says that its input is bad.
    fn is_bad_input(&self, job: &Job) -> anyhow::Result<bool> {
        let Some(id) = job.attempt.as_ref().filter(|_| job.result.as_deref() == Some(Outcome::Exit.name())) else {
            return Ok(false);
        };
        let record = self.view.attempt(id)?.and_then(|attempt| attempt.record);
        Ok(record.is_some_and(|record| record.exit_code == Some(PERMANENT)))
    }

    /// A sentence about an earlier request for the same file that was dropped while it was queued, for as long as a failure
    /// would be the answer. The newest entry of the file in the history tells; what cannot be read tells nothing.
    fn dropped(&self, ask: &Ask) -> anyhow::Result<Option<String>> {
        let newest = match self.view.attempts_of(&ask.filename, 1) {
            Err(StoreError::Unreadable(_) | StoreError::TooBig) => return Ok(None),
            read => read?.pop(),
        };
        let record = newest.and_then(|attempt| attempt.record).filter(|record| record.outcome == Outcome::Dropped);
        let recent = record.filter(|record| self.now < record.ended.plus(ask.exporter.failure_ttl));
        let why = |message: String| format!("an earlier request for this file was dropped: {message}");
        Ok(recent.and_then(|record| record.message).map(why))
    }
}
