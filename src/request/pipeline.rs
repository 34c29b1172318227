//! File first, row second, one new row third. Polls are plain reads; whoever has to write looks at both again (invariant 1).

use anyhow::Context as _;

use super::{Ask, admit, chain, dropped, estimate, name, patience};
use crate::{
    cache::Cached,
    context::Context,
    exit::Failure,
    logging,
    model::{
        age::{Freshness, freshness},
        answer::{Answer, State},
        clock::Stamp,
        failpoint,
        job::Job,
        retry::PERMANENT,
        status::{Outcome, Status},
    },
    store::{StoreError, Tx, View},
};

/// The answer of a fresh file, if that is all that is asked for. No database is opened.
pub fn at_once(context: &Context, ask: &Ask) -> Result<Option<Answer>, Failure> {
    let now = Stamp::now();
    let looked = if ask.after.is_none() { look(context, ask) } else { Ok(None) };
    let cached = looked.map_err(|error| context.instead(error.into(), Some(&ask.exporter.name)))?;
    let fresh = cached.filter(|cached| age(ask, cached, now) == Freshness::Fresh);
    Ok(fresh.map(|cached| ready(ask, &cached, now)))
}

/// The answer to one ask, and one row queued for it if that is what is missing.
pub fn answer(context: &Context, ask: &Ask) -> Result<Answer, Failure> {
    if let Some(ready) = at_once(context, ask)? {
        return Ok(ready);
    }
    let now = Stamp::now();
    failpoint::at("request-looked-at-file");
    let answer = in_database(context, ask, now).or_else(try_later);
    match answer.map_err(|failure| context.instead(failure, Some(&ask.exporter.name))) {
        Ok(answer) if answer.state == State::Ready => Ok(answer),
        Ok(answer) => Ok(stale(context, ask, now).unwrap_or(answer)),
        // Whatever is wrong with the database: an old file serves better than no answer, and the admin has to know.
        Err(failure) => match stale(context, ask, now) {
            Some(ready) => {
                complain(&failure);
                Ok(ready)
            }
            None => Err(failure),
        },
    }
}

fn complain(failure: &Failure) {
    if let Some(error) = &failure.error {
        logging::diagnostic_line(format_args!("{error:#}; the old file is served"));
    }
}

/// A database that is busy or cannot grow is no fault of the request: it may come again.
fn try_later(failure: Failure) -> Result<Answer, Failure> {
    let cause = failure.error.as_ref().and_then(|error| error.downcast_ref::<StoreError>());
    let reason = match cause {
        Some(StoreError::Busy) => "the database is busy",
        Some(StoreError::DiskFull) => "the disk is full",
        Some(StoreError::Older(_)) => "the queue is waiting to be upgraded",
        _ => return Err(failure),
    };
    Ok(Answer { retry_after: Some(30), ..Answer::because(State::Unavailable, reason) })
}

fn in_database(context: &Context, ask: &Ask, now: Stamp) -> Result<Answer, Failure> {
    let mut store = context.open_store_for_request()?;
    if let Some(found) = settled(context, &store.view(), ask, now)? {
        let answer = found.told(context, &store.view(), ask, now)?;
        if answer.state == State::Queued && !ask.speculative {
            patience::note_asked(&mut store, ask, now);
        }
        return Ok(answer);
    }
    // Only a job that is queued needs the client, and here the database is open.
    let ask = &ask.named(&store.view(), context.config.client_names)?;
    if !is_pending(&store.view(), ask)?
        && let Some(refusal) = admit::refusal(context, &store.view(), ask, now)?
    {
        return Ok(refusal);
    }
    failpoint::at("request-before-write");
    let found = store.immediate(|tx| {
        if let Some(found) = settled(context, tx, ask, now)? {
            return Ok(found);
        }
        let queued = queue(context, tx, ask, now);
        failpoint::at("request-before-commit");
        queued
    })?;
    context.site.ring();
    // Not under the write lock, which others wait for. What is queued is queued, whatever becomes of its description.
    Ok(found.told_in_any_case(context, &store.view(), ask, now))
}

/// What file and row say.
pub(super) enum Standing {
    Answer(Answer),
    /// A row, yet to be described.
    Job(Job),
}

impl Standing {
    fn told(self, context: &Context, view: &View, ask: &Ask, now: Stamp) -> anyhow::Result<Answer> {
        match self {
            Self::Answer(answer) => Ok(answer),
            Self::Job(job) => describe(context, view, ask, &job, now),
        }
    }

    /// Where the database tells no more, the state and nothing else.
    fn told_in_any_case(self, context: &Context, view: &View, ask: &Ask, now: Stamp) -> Answer {
        match self {
            Self::Answer(answer) => answer,
            Self::Job(job) => describe(context, view, ask, &job, now).unwrap_or_else(|error| {
                tracing::warn!(%error, "cannot describe the job");
                named(ask, state(job.status))
            }),
        }
    }
}

/// A job that has its place in the queue takes nobody else's.
pub(super) fn is_pending(view: &View, ask: &Ask) -> anyhow::Result<bool> {
    Ok(view.job(&ask.filename)?.is_some_and(|job| !job.status.is_failed()))
}

/// What file and row say already; `None` if something has to be written.
pub(super) fn settled(context: &Context, view: &View, ask: &Ask, now: Stamp) -> anyhow::Result<Option<Standing>> {
    if let Some(answer) = in_cache(context, view, ask, now)? {
        return Ok(Some(Standing::Answer(answer)));
    }
    failpoint::at("request-before-row");
    let Some(job) = view.job(&ask.filename)? else {
        let absent = ask.no_enqueue.then(|| absent(context, view, ask, now)).transpose()?;
        return Ok(absent.map(Standing::Answer));
    };
    let settled = ask.no_enqueue || !wants_write(view, ask, &job, now)?;
    Ok(settled.then_some(Standing::Job(job)))
}

/// The answer of a file that is fresh and was begun late enough.
fn in_cache(context: &Context, view: &View, ask: &Ask, now: Stamp) -> anyhow::Result<Option<Answer>> {
    let Some(cached) = look(context, ask)? else { return Ok(None) };
    Ok(counts(view, ask, &cached, now)?.then(|| ready(ask, &cached, now)))
}

/// Whoever only looks looks at the file once more: the row may have gone because the file came.
fn absent(context: &Context, view: &View, ask: &Ask, now: Stamp) -> anyhow::Result<Answer> {
    if let Some(ready) = in_cache(context, view, ask, now)? {
        return Ok(ready);
    }
    Ok(Answer { dropped: dropped::told(view, ask, now)?, ..named(ask, State::Absent) })
}

/// Whether a fresh file was begun late enough. The mtime alone can only say no.
fn counts(view: &View, ask: &Ask, cached: &Cached, now: Stamp) -> anyhow::Result<bool> {
    let fresh = age(ask, cached, now) == Freshness::Fresh;
    let Some(after) = ask.after.filter(|_| fresh) else { return Ok(fresh) };
    if cached.made < after {
        return Ok(false);
    }
    Ok(view.latest_ok(&ask.filename)?.is_some_and(|attempt| attempt.counts_from >= after))
}

fn wants_write(view: &View, ask: &Ask, job: &Job, now: Stamp) -> anyhow::Result<bool> {
    Ok(match job.status {
        Status::Queued => patience::wants_change(ask, job, now),
        Status::Started => wants_one_more(view, ask, job)?,
        Status::FailedTimeout | Status::FailedUnknown => !still_the_answer(view, ask, job, now)?,
    })
}

/// The attempt that is going on does not do: it began too early, or is being cancelled, which who asks now has not wanted.
fn wants_one_more(view: &View, ask: &Ask, job: &Job) -> anyhow::Result<bool> {
    if job.cancel && job.again.is_none() {
        return Ok(true);
    }
    let Some(after) = ask.after else {
        return Ok(ask.exporter.is_task() && job.again.is_none());
    };
    let too_old = began(view, job)?.is_none_or(|began| began < after);
    Ok(too_old && job.again.is_none_or(|again| again < after))
}

/// A failure is the answer for `failure_ttl`, and for `--after` only if it started since.
fn still_the_answer(view: &View, ask: &Ask, job: &Job, now: Stamp) -> anyhow::Result<bool> {
    let recent = job.failed.is_some_and(|failed| now < failed.plus(ask.exporter.failure_ttl));
    let Some(after) = ask.after.filter(|_| recent) else { return Ok(recent) };
    Ok(began(view, job)?.or(job.failed).is_some_and(|began| began >= after))
}

/// When the job's last attempt began to count.
fn began(view: &View, job: &Job) -> anyhow::Result<Option<Stamp>> {
    let Some(id) = &job.attempt else { return Ok(job.started) };
    Ok(view.attempt(id)?.map(|attempt| attempt.counts_from).or(job.started))
}

fn queue(context: &Context, tx: &Tx, ask: &Ask, now: Stamp) -> anyhow::Result<Standing> {
    let job = match tx.job(&ask.filename)? {
        Some(job) if job.status == Status::Queued => {
            patience::adjust(tx, ask, &job, now)?;
            tx.job_by_id(job.id)?.unwrap_or(job)
        }
        Some(job) if job.status == Status::Started => {
            tx.note_again(&job, ask.after.unwrap_or(now))?;
            job
        }
        old => match admit::refusal(context, tx, ask, now)? {
            Some(refusal) => return Ok(Standing::Answer(refusal)),
            None => match chain::enqueue_asked(context, tx, ask, old.as_ref(), now)? {
                chain::Placed::Job(job) => job,
                chain::Placed::Refused(answer) => return Ok(Standing::Answer(answer)),
            },
        },
    };
    Ok(Standing::Job(job))
}

/// The answer that a row gives.
pub fn describe(context: &Context, view: &View, ask: &Ask, job: &Job, now: Stamp) -> anyhow::Result<Answer> {
    let mut answer = named(ask, state(job.status));
    answer.attempts = Some(job.attempts);
    if job.status == Status::Queued && job.attempts == 0 {
        answer.dropped = dropped::told(view, ask, now)?;
    }
    match job.status {
        Status::Queued | Status::Started => estimate::fill(context, view, ask, job, now, &mut answer)?,
        Status::FailedTimeout | Status::FailedUnknown => fill_failure(view, ask, job, now, &mut answer)?,
    }
    Ok(answer)
}

const fn state(status: Status) -> State {
    match status {
        Status::Queued => State::Queued,
        Status::Started => State::Started,
        Status::FailedTimeout => State::FailedTimeout,
        Status::FailedUnknown => State::FailedUnknown,
    }
}

fn fill_failure(view: &View, ask: &Ask, job: &Job, now: Stamp, answer: &mut Answer) -> anyhow::Result<()> {
    let plain = match job.status {
        Status::FailedTimeout => "it took too long",
        _ => "the export failed",
    };
    answer.message = Some(job.message.clone().unwrap_or_else(|| plain.to_owned()));
    let until = job.failed.unwrap_or(now).plus(ask.exporter.failure_ttl);
    answer.retry_after = Some(until.since(now).as_secs() + 1);
    answer.bad_input = is_bad_input(view, job)?;
    Ok(())
}

/// Whether the last attempt ended with the status by which an exporter says that its input is bad.
fn is_bad_input(view: &View, job: &Job) -> anyhow::Result<bool> {
    let Some(id) = job.attempt.as_ref().filter(|_| job.result.as_deref() == Some(Outcome::Exit.name())) else {
        return Ok(false);
    };
    let record = view.attempt(id)?.and_then(|attempt| attempt.record);
    Ok(record.is_some_and(|record| record.exit_code == Some(PERMANENT)))
}

fn look(context: &Context, ask: &Ask) -> anyhow::Result<Option<Cached>> {
    if ask.exporter.is_task() {
        return Ok(None);
    }
    context.cache.look(&ask.filename).with_context(|| format!("cannot look at {}", ask.filename))
}

fn age(ask: &Ask, cached: &Cached, now: Stamp) -> Freshness {
    freshness(cached.made, now, ask.exporter.ttl, ask.exporter.stale)
}

pub fn named(ask: &Ask, state: State) -> Answer {
    Answer { filename: Some(ask.filename.clone()), ..Answer::new(state) }
}

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
        stale: age(ask, cached, now) != Freshness::Fresh,
        ..named(ask, State::Ready)
    }
}

/// While a new file is made, or cannot be, the old one is served for as long as `stale` says.
fn stale(context: &Context, ask: &Ask, now: Stamp) -> Option<Answer> {
    let cached = look(context, ask).ok().flatten().filter(|_| ask.after.is_none())?;
    (age(ask, &cached, now) == Freshness::Stale).then(|| ready(ask, &cached, now))
}
