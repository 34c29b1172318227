//! `pressroom request`: a fresh file first, then the job's row, then exactly one new row. It never forks and never runs an
//! exporter: it may be running inside a web server's worker.
//!
//! The protocol. A fresh file is served without the database. Polls are plain reads and take no lock. Whoever has to write
//! first looks without the lock, so that refusals cost nobody a wait, and once more under the write lock of the database,
//! the only lock here: in between, another process may have queued the same file, or a run may have published it and
//! deleted its row (a run publishes first and deletes second, so file and row are never both absent by its doing).
//! The row and everything that is queued with it are one transaction: a crash before its commit leaves nothing, a crash
//! after it leaves a queued job, and only the doorbell has not been rung, so the next round comes by cron instead. What is
//! told about the job is read after the commit and can fail without consequence.

mod admit;
mod answer;
mod ask;
mod enqueue;
mod estimate;
pub mod fit;
mod health;
mod look;
mod name;
pub mod output;
mod scene;
mod standing;
mod wait;

pub use self::{
    answer::ready,
    ask::{Ask, AskError, pair, source_of},
    enqueue::SourceState,
    health::{breaker_of, disk_is_low, disk_is_low_with},
    look::Look,
    name::download as download_name,
    wait::until_settled,
};

use std::time::Duration;

use self::standing::Standing;
use super::{
    cli::{Format, Global, RequestArgs},
    context::{By, Context, explained},
    exit::Failure,
    logging,
    model::{
        age::Freshness,
        answer::{Answer, State},
        clock::Stamp,
        failpoint,
    },
    store::{Decision, Enqueued, Store, StoreError},
};

/// That somebody has asked is written down at most so often.
const ASKED: Duration = Duration::from_secs(30);

/// Who asks, as given: an address or a name. It is asked for only when a row is to be written.
pub type Client<'a> = &'a dyn Fn() -> Option<Vec<u8>>;

/// Answers one request on stdout, with the exit code of its state.
pub fn run(global: &Global, args: &RequestArgs) -> Result<(), Failure> {
    match find_answer(global, args) {
        Ok(answer) => output::out(&answer, args.format),
        Err(failure) => Err(output::failure(explained(failure, global, By::Group), args.format)),
    }
}

fn find_answer(global: &Global, args: &RequestArgs) -> Result<Answer, Failure> {
    let context = Context::load(global)?;
    let ask = match Ask::read(&context.config, args) {
        Ok(ask) => ask,
        Err(error) => return error.answer(),
    };
    let first = answer(&context, &ask, &|| args.client.clone().map(String::into_bytes))?;
    warn(&first, args.format);
    match args.wait {
        Some(limit) => wait::until_settled(&context, &ask, first, limit),
        None => Ok(first),
    }
}

/// What delays a queued job, and what became of an earlier one, is said on stderr as well, for callers that read only the
/// state.
fn warn(answer: &Answer, format: Format) {
    if let (State::Queued | State::Absent, Format::Text) = (answer.state, format) {
        answer.reason.iter().chain(&answer.dropped).for_each(logging::diagnostic_line);
    }
}

/// The answer to one parsed request, for the command line and for the web: cached? ▸ validate ▸ open ▸ standing? ▸ admit? ▸
/// enqueue once ▸ describe.
///
/// # Errors
/// The database cannot be used, and there is no old file to serve either.
pub fn answer(context: &Context, ask: &Ask, client: Client) -> Result<Answer, Failure> {
    if let Some(ready) = cached(context, ask)? {
        return Ok(ready);
    }
    match ask.validate(&context.config) {
        Ok(()) => ask_queue(context, ask, client),
        Err(error) => error.answer(),
    }
}

/// The answer of a fresh file, if that is all that is asked for. No database is opened.
fn cached(context: &Context, ask: &Ask) -> Result<Option<Answer>, Failure> {
    let now = Stamp::now();
    let found = if ask.after.is_none() { ask.cached(context) } else { Ok(None) };
    let found = found.map_err(|error| context.instead(error.into(), Some(&ask.exporter.name)))?;
    let fresh = found.filter(|cached| ask.age(cached, now) == Freshness::Fresh);
    Ok(fresh.map(|cached| ready(ask, &cached, now)))
}

/// The answer to one who only looks once more, with values that were validated before.
fn look_up(context: &Context, ask: &Ask) -> Result<Answer, Failure> {
    cached(context, ask)?.map_or_else(|| ask_queue(context, ask, &|| None), Ok)
}

/// The answer of the database, or an old file where that has nothing better.
fn ask_queue(context: &Context, ask: &Ask, client: Client) -> Result<Answer, Failure> {
    let now = Stamp::now();
    failpoint::at("request-looked-at-file");
    let answer = in_database(context, ask, client, now).or_else(try_later);
    match answer.map_err(|failure| context.instead(failure, Some(&ask.exporter.name))) {
        Ok(answer) if answer.state == State::Ready => Ok(answer),
        Ok(answer) => Ok(stale(context, ask, now).unwrap_or(answer)),
        // Whatever is wrong with the database: an old file serves better than no answer, and the admin has to know.
        Err(failure) => stale(context, ask, now).inspect(|_| complain(&failure)).ok_or(failure),
    }
}

/// While a new file is made, or cannot be, the old one is served for as long as `stale` says.
fn stale(context: &Context, ask: &Ask, now: Stamp) -> Option<Answer> {
    let cached = ask.cached(context).ok().flatten().filter(|_| ask.after.is_none())?;
    (ask.age(&cached, now) == Freshness::Stale).then(|| ready(ask, &cached, now))
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

fn in_database(context: &Context, ask: &Ask, client: Client, now: Stamp) -> Result<Answer, Failure> {
    let mut store = context.open_store_for_request()?;
    let view = store.view();
    let look = Look { context, view: &view, now };
    let missing = match look.standing(ask)? {
        Standing::Missing(old) => old,
        found => {
            let answer = look.answer(ask, &found)?;
            note_asked(&mut store, ask, &answer, now);
            return Ok(answer);
        }
    };
    let ask = &ask.named(&view, client, context.config.client_names)?;
    // A job that has its place in the queue takes nobody else's.
    if missing.is_none_or(|old| old.status.is_failed())
        && let Some(refusal) = look.refusal(ask)?
    {
        return Ok(look.refused(&refusal)?);
    }
    failpoint::at("request-before-write");
    let found = enqueue_once(context, &mut store, ask, now)?;
    context.site.ring();
    Ok(look_again(context, &store, ask, &found, now)?)
}

/// The second look is the first one once more, under the write lock: another process may have queued or made the file since.
/// Nothing is estimated here, for others wait for the lock.
fn enqueue_once(context: &Context, store: &mut Store, ask: &Ask, now: Stamp) -> anyhow::Result<Standing> {
    let found = store.enqueue_once(now, |view| {
        let look = Look { context, view, now };
        Ok(match look.standing(ask)? {
            Standing::Missing(old) => match look.plan(ask, old)? {
                Ok(steps) => Decision::Write(steps),
                Err(refusal) => Decision::Settled(Standing::Refused(refusal)),
            },
            found => Decision::Settled(found),
        })
    })?;
    Ok(match found {
        Enqueued::Settled(found) => found,
        Enqueued::Job(job) => Standing::of(job),
    })
}

/// What is queued is queued, whatever becomes of its description: where the database tells no more, the state and nothing
/// else.
fn look_again(context: &Context, store: &Store, ask: &Ask, found: &Standing, now: Stamp) -> anyhow::Result<Answer> {
    let view = store.view();
    let answer = Look { context, view: &view, now }.answer(ask, found);
    answer.or_else(|error| match found.pending() {
        Some(state) => {
            tracing::warn!(%error, "cannot describe the job");
            Ok(ask.answer(state))
        }
        None => Err(error),
    })
}

/// Somebody still waits for a queued job, which matters where jobs are given up. Failing in this fails nothing.
fn note_asked(store: &mut Store, ask: &Ask, answer: &Answer, now: Stamp) {
    let matters = answer.state == State::Queued && !ask.speculative && ask.exporter.abandon_after.is_some();
    if matters && let Err(error) = store.note_asked(&ask.filename, now, ASKED) {
        tracing::debug!(filename = ask.filename, %error, "cannot note that somebody asked");
    }
}
