//! One job, or a file that there were attempts at: its row, its attempts with their limits, and the end of each log.

use minijinja::{Value, context};

use super::{StatusHandler, form, html, refusal::StatusRefusal, shown};
use crate::{
    admin::jobs::{cancel, find, show},
    exit::{Exit, Failure},
    model::{attempt::Attempt, format, job::Job},
    store::View,
    web::response::Response,
};

/// So many attempts are shown.
const ATTEMPTS: u32 = 20;

pub(super) fn page(visit: &StatusHandler, view: &View) -> Result<Response, StatusRefusal> {
    let page = show::gather(visit.context, view, subject(visit, view)?, ATTEMPTS)?;
    let job = page.subject.job.as_ref();
    let ended = page.subject.ended.as_ref();
    let id = job.map(|job| job.id).or(ended.map(|newest| newest.job));
    let title = id.map_or_else(|| "File".to_owned(), |id| format!("Job {id}"));
    let values = context! {
        facts => show::facts(&page).iter().map(fact).collect::<Value>(),
        attempts => page.attempts.iter().map(attempt).collect::<Value>(),
        most => (page.attempts.len() == ATTEMPTS as usize).then_some(ATTEMPTS),
        ended => ended.map(|newest| shown::line(&find::how_it_ended(newest))),
        form => form::values(visit, view)?,
        job => job.map(|job| job.id),
        deeds => job.map_or_else(Vec::new, deeds),
    };
    html::page(visit, view, &title, "job.html", values)
}

/// The job by its id; when it has gone, the file.
fn subject(visit: &StatusHandler, view: &View) -> Result<find::FoundFile, Failure> {
    let word = |name: &str| visit.asked.get(name).map_err(|refusal| Failure::because(Exit::Usage, refusal.sentence));
    let file = word("file")?;
    match word("job")?.map(|job| find::subject(view, &job)) {
        Some(Err(failure)) if failure.exit != Exit::Absent || file.is_none() => Err(failure),
        Some(Ok(subject)) => Ok(subject),
        _ => find::subject(view, &file.unwrap_or_default()),
    }
}

/// A name and a value.
pub(super) fn fact((name, text): &(&'static str, String)) -> Value {
    context! { name => *name, text => shown::line(text) }
}

/// What can be done with it.
fn deeds(job: &Job) -> Vec<&'static str> {
    let failed = if job.status.is_failed() { vec!["retry", "dismiss"] } else { Vec::new() };
    let cancel = cancel::fits(job).then_some("cancel");
    failed.into_iter().chain(cancel).collect()
}

fn attempt(attempt: &Attempt) -> Value {
    let log = attempt.record.as_ref().map_or("", |record| &record.log_tail);
    context! {
        id => &*attempt.id,
        number => attempt.number,
        job => attempt.job,
        how => show::how(attempt),
        started => format::time(attempt.started),
        time => show::time_used(attempt),
        used => show::used(attempt).iter().map(fact).collect::<Value>(),
        notes => show::notes(attempt).iter().map(fact).collect::<Value>(),
        log => shown::log(log),
    }
}
