//! Each newly failed job is reported once: on stderr, which cron mails, and to `notify.command`.

use std::time::Duration;

use super::{Round, notify, slices::end};
use crate::{
    logging,
    model::{attempt::Attempt, clock::since_boot, job::Job, point, retry::PERMANENT, status::Outcome},
};

/// More failures than this in one round are only counted.
const MOST: usize = 20;
/// So many are looked at and marked at a time.
const BATCH: u32 = 500;

/// Tells about failures that nobody has been told about.
pub fn failures(round: &mut Round) -> anyhow::Result<()> {
    let end = end();
    let (mut told, mut rest, mut is_more) = (Vec::new(), 0, true);
    while is_more && told.len() < MOST {
        let jobs = round.store.view().unreported(BATCH)?;
        if jobs.is_empty() {
            is_more = false;
            break;
        }
        is_more = jobs.len() == BATCH as usize && since_boot() < end;
        let mut failed = worth_telling(round, &jobs)?;
        let beyond = failed.split_off(failed.len().min(MOST - told.len()));
        for (job, last) in &failed {
            logging::diagnostic_line(sentence(job, last.as_ref()));
        }
        point::at("report-told");
        told.extend(failed);
        rest += beyond.len() as u64;
        // These and no others: a run may have recorded a failure meanwhile.
        round.in_slices(&jobs, Duration::MAX, |tx, job| Ok(tx.set_reported(&[job.id])?))?;
    }
    if is_more {
        rest += pass_over(round, end)?;
    }
    if rest > 0 {
        logging::diagnostic_line(format!("{rest} more jobs have failed"));
    }
    notify::failures(round, &told, rest);
    Ok(())
}

/// Takes the rest for told, in a flood too, and says how many of them were worth telling.
fn pass_over(round: &mut Round, end: Duration) -> anyhow::Result<u64> {
    let mut rest = 0;
    let most = if round.light { Duration::ZERO } else { end };
    round.repeat(most, |tx| {
        let (count, worth) = tx.pass_over_unreported(PERMANENT, BATCH)?;
        rest += worth;
        Ok(count == BATCH as usize)
    })?;
    Ok(rest)
}

/// A job with its last attempt.
pub type Failed = (Job, Option<Attempt>);

/// Bad input is the visitor's matter, and what was cancelled the admin's own: both are recorded and not mailed.
fn worth_telling(round: &Round, jobs: &[Job]) -> anyhow::Result<Vec<Failed>> {
    let mut failed = Vec::new();
    let cancelled = Some(Outcome::Cancelled.name());
    for job in jobs.iter().filter(|job| job.result.as_deref() != cancelled) {
        let last = last_attempt(round, job)?;
        let record = last.as_ref().and_then(|attempt| attempt.record.as_ref());
        if record.is_none_or(|record| record.exit_code != Some(PERMANENT)) {
            failed.push((job.clone(), last));
        }
    }
    Ok(failed)
}

/// Tells `notify.command` what was made since the last round, if it wants to hear of it.
pub fn successes(round: &mut Round) -> anyhow::Result<()> {
    if !notify::wants_successes(round) || !round.store.view().has_news()? {
        return Ok(());
    }
    let (made, all) = round.store.immediate(|tx| Ok(tx.take_news(u32::try_from(MOST)?)?))?;
    notify::successes(round, &made, all.saturating_sub(made.len() as u64));
    Ok(())
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

/// One line about a failed job, for the admin.
fn sentence(job: &Job, last: Option<&Attempt>) -> String {
    let result = job.result.as_deref().unwrap_or(job.status.name());
    let mut line = format!("job {} ({}) failed: {result}", job.id, job.filename);
    if let Some(source) = failed_source(job) {
        return line + &format!(", since {source} could not be made");
    }
    let Some(attempt) = last else { return line };
    if let Some(record) = &attempt.record {
        line.extend(record.exit_code.filter(|code| *code != 0).map(|code| format!(", exit status {code}")));
        line.extend(record.signal.map(|signal| format!(", signal {signal}")));
        line.extend(record.detail.as_ref().map(|detail| format!(", {detail}")));
    }
    line + &format!(", attempt {} of it, log/{}.log", attempt.number, attempt.id)
}
