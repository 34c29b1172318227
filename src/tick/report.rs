//! What a round has to tell of others: each newly failed job once on stderr, which cron mails, and in a note for
//! `notify.command`; the actions of administrators in the activity log, which the web user cannot write; with `-v` the
//! attempts that have ended, since a run has no stderr but the log of its exporter.

use std::{
    collections::BTreeSet,
    sync::atomic::{AtomicI64, Ordering},
    time::Duration,
};

use super::{
    notify,
    round::{Round, step_end},
};
use crate::{
    logging,
    model::{
        clock::{Stamp, since_boot},
        failpoint,
        job::{Attempt, Job},
        retry::PERMANENT,
        status::Outcome,
    },
    site::ActivityEvent,
    store::{Action, AttemptOrder, AttemptQuery, JobFilter, Notice},
};

/// More failures than this in one round are only counted.
const MOST: usize = 20;
/// So many are looked at and marked at a time.
const BATCH: u32 = 500;

/// Tells about failures that nobody has been told about.
pub fn failures(round: &mut Round) -> anyhow::Result<()> {
    let end = step_end();
    let (mut told, mut rest, mut is_more) = (Vec::new(), 0, true);
    let is_noted = notify::wants_failures(round);
    while is_more && told.len() < MOST {
        let jobs = round.store.view().unreported(BATCH)?;
        if jobs.is_empty() {
            is_more = false;
            break;
        }
        is_more = jobs.len() == BATCH as usize && since_boot() < end;
        let mut failed = worth_telling(round, &jobs)?;
        let beyond: Vec<_> =
            failed.split_off(failed.len().min(MOST - told.len())).iter().map(|(job, _)| job.id).collect();
        for (job, last) in &failed {
            logging::diagnostic_line(sentence(&job.into(), last.as_ref()));
        }
        failpoint::at("report-told");
        told.extend(failed);
        rest += beyond.len() as u64;
        // These and no others: a run may have recorded a failure meanwhile.
        let worth: BTreeSet<_> = told.iter().map(|(job, _)| job.id).chain(beyond).collect();
        round.store.mark_reported(&jobs, |job| is_noted && worth.contains(&job.id))?;
    }
    if is_more {
        rest += pass_over(round, end, is_noted)?;
    }
    rest += vanished(round, MOST - told.len(), is_noted)?;
    if rest > 0 {
        logging::diagnostic_line(format!("{rest} more jobs have failed"));
    }
    Ok(())
}

/// Failures whose rows were queued again or deleted before they were reported: at most so many are told; the result is
/// how many more there were.
fn vanished(round: &mut Round, most: usize, is_noted: bool) -> anyhow::Result<u64> {
    let (end, mut left, mut rest) = (step_end(), most, 0);
    while round.store.view().has_notices()? && since_boot() < end {
        let found = round.store.view().unmailed(BATCH)?;
        let mut done: Vec<_> = found.unreadable.iter().map(|id| (*id, false)).collect();
        for notice in &found.readable {
            let last = notify::last_attempt(round, notice)?;
            let is_worth = is_worth_telling(notice.result, last.as_ref());
            if is_worth && left > 0 {
                left -= 1;
                logging::diagnostic_line(sentence(&notice.into(), last.as_ref()));
            } else {
                rest += u64::from(is_worth);
            }
            done.push((notice.id, is_worth && is_noted));
        }
        let is_more = done.len() == BATCH as usize;
        round.store.mark_mailed(&done)?;
        if !is_more {
            break;
        }
    }
    Ok(rest)
}

/// Takes the rest for told, in a flood too, and says how many of them were worth telling.
fn pass_over(round: &mut Round, end: Duration, is_noted: bool) -> anyhow::Result<u64> {
    let end = if round.is_light() { Duration::ZERO } else { end };
    round.store.pass_over_unreported(PERMANENT, is_noted, BATCH, end)
}

/// A job with its last attempt.
pub type Failed = (Job, Option<Attempt>);

/// Bad input is the visitor's matter, and what was cancelled the admin's own: both are recorded and not mailed.
fn worth_telling(round: &Round, jobs: &[Job]) -> anyhow::Result<Vec<Failed>> {
    let mut failed = Vec::new();
    for job in jobs {
        let last = last_attempt(round, job)?;
        let result = job.result.as_deref().and_then(Outcome::from_name);
        if result.is_none_or(|result| is_worth_telling(result, last.as_ref())) {
            failed.push((job.clone(), last));
        }
    }
    Ok(failed)
}

fn is_worth_telling(result: Outcome, last: Option<&Attempt>) -> bool {
    let record = last.and_then(|attempt| attempt.record.as_ref());
    result != Outcome::Cancelled && record.is_none_or(|record| record.exit_code != Some(PERMANENT))
}

/// Notes what was made since the last round, if somebody wants to hear of it, and hands over what is noted.
pub fn successes(round: &mut Round) -> anyhow::Result<()> {
    if notify::wants_successes(round) && round.store.view().has_news()? {
        round.store.note_news(BATCH, step_end())?;
    }
    notify::hand_over(round)
}

/// Its own, or its source's if it has failed with that.
fn last_attempt(round: &Round, job: &Job) -> anyhow::Result<Option<Attempt>> {
    let view = round.store.view();
    match failed_source(job) {
        None => Ok(job.attempt.as_ref().map(|id| view.attempt(id)).transpose()?.flatten()),
        Some(source) => match view.job(source)? {
            Some(source) => last_attempt(round, &source),
            None => Ok(view.attempts_of(source, 1)?.pop()),
        },
    }
}

/// A job that failed without having been started has failed with its source.
fn failed_source(job: &Job) -> Option<&str> {
    job.source.as_deref().filter(|_| job.started.is_none())
}

/// What the line about a failed job is made of.
struct FailureLine<'a> {
    id: i64,
    filename: &'a str,
    result: &'a str,
    /// With which it has failed.
    source: Option<&'a str>,
    /// Why it failed without an attempt.
    message: Option<&'a str>,
}

impl<'a> From<&'a Job> for FailureLine<'a> {
    fn from(job: &'a Job) -> Self {
        let result = job.result.as_deref().unwrap_or(job.status.name());
        Self {
            id: job.id,
            filename: &job.filename,
            result,
            source: failed_source(job),
            message: job.message.as_deref(),
        }
    }
}

impl<'a> From<&'a Notice> for FailureLine<'a> {
    fn from(notice: &'a Notice) -> Self {
        let (filename, result) = (&notice.filename, notice.result.name());
        Self { id: notice.job, filename, result, source: notice.source.as_deref(), message: None }
    }
}

/// One line about a failed job, for the admin.
fn sentence(job: &FailureLine, last: Option<&Attempt>) -> String {
    let mut line = format!("job {} ({}) failed: {}", job.id, job.filename, job.result);
    if let Some(source) = job.source {
        return line + &format!(", since {source} could not be made");
    }
    let Some(attempt) = last else {
        line.extend(job.message.map(|message| format!(", {message}")));
        return line;
    };
    if let Some(record) = &attempt.record {
        line.extend(record.exit_code.filter(|code| *code != 0).map(|code| format!(", exit status {code}")));
        line.extend(record.signal.map(|signal| format!(", signal {signal}")));
        line.extend(record.detail.as_ref().map(|detail| format!(", {detail}")));
    }
    line + &format!(", attempt {} of it, log/{}.log", attempt.number, attempt.id)
}

/// So many in a round.
const MOST_ACTIONS: u32 = 1000;

/// Written first and marked then: what a crash interrupts is written twice rather than never.
pub fn actions(round: &mut Round) -> anyhow::Result<()> {
    let new = round.store.view().unlogged_actions(MOST_ACTIONS)?;
    let Some(last) = new.last().map(|action| action.id) else { return Ok(()) };
    let event =
        |action: Action| ActivityEvent::new("action", action.at).with("by", action.who).with("what", action.what);
    let events: Vec<_> = new.into_iter().map(event).collect();
    round.context.tell(&events);
    round.store.actions_logged(last)
}

/// At most so many in a round.
const MOST_ENDINGS: u32 = 100;

/// Shows what has ended since this process looked last, or since the last round.
pub fn endings(round: &mut Round) -> anyhow::Result<()> {
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
        tell_ending(attempt);
        next = next.max(attempt.record.as_ref().map_or(next, |record| record.ended.plus_ms(1)));
        true
    })?;
    NEXT.store(next.0, Ordering::Relaxed);
    Ok(())
}

fn ended_since(since: Stamp) -> AttemptQuery {
    let about = JobFilter { since: Some(since), ..JobFilter::default() };
    let (order, limit) = (AttemptOrder::Ended, Some(MOST_ENDINGS));
    AttemptQuery { about, outcomes: Vec::new(), order, reverse: false, limit, below: None }
}

fn tell_ending(attempt: &Attempt) {
    if let Some(record) = &attempt.record {
        let (job, id, filename) = (attempt.job, attempt.id.as_str(), &attempt.filename);
        let (result, duration) = (record.outcome.name(), record.duration.as_secs_f64());
        tracing::info!(job, attempt = id, filename, result, duration, "ended");
    }
}
