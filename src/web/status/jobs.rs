//! The table of jobs, newest first, and that of past attempts, the last to end first, a page at a time; and one job, or a
//! file that has had attempts: its row, its attempts with their limits, and the end of each log.

use clap::ValueEnum;
use minijinja::{Value, context};

use super::{StatusHandler, actions, html, request::StatusRefusal};
use crate::{
    admin::{
        jobs::{actions::can_be_cancelled, filter, find, history, list, show},
        queues,
    },
    cli::{Filters, StatusWord, Which},
    exit::{Exit, Failure},
    model::{
        format,
        job::{Attempt, Job},
        status::Outcome,
    },
    store::{AttemptCursor, AttemptOrder, AttemptQuery, JobOrder, JobQuery, LOOK_BACK, View},
    web::{response::Response, url},
};

/// Rows of a page.
const ROWS: u32 = 50;

/// The fields of the filter form beside the status or the result: name, label and hint.
const FIELDS: [(&str, &str, &str); 6] = [
    ("exporter", "Exporter", ""),
    ("queue", "Queue", ""),
    ("client", "Client", "name or hash"),
    ("param", "Parameter", "NAME=VALUE"),
    ("since", "Since", "2h, or 2026-03-01"),
    ("until", "Until", "1h, or 2026-03-02"),
];

pub(super) fn jobs_page(handler: &StatusHandler, view: &View) -> Result<Response, StatusRefusal> {
    let mut ids = view.job_ids(&job_query(handler, view)?)?;
    let older = cut(&mut ids).map(|id| link(handler, &id.to_string()));
    // A job that has ended since it was found is left out.
    let jobs: Vec<Job> = ids
        .into_iter()
        .filter_map(|id| view.look_at(id).map(|job| job.and_then(Result::ok)).transpose())
        .collect::<Result<_, _>>()?;
    let values = context! {
        rows => jobs.iter().map(|job| job_row(handler, job)).collect::<Value>(),
        choice => choice(handler, "status", "Status", StatusWord::value_variants().iter().copied().map(word).collect())?,
        older,
        ..list_values(handler, view)?
    };
    html::page(handler, view, "Jobs", "jobs.html", values)
}

/// The rows of one page of those found. The last of them, if there are more.
fn cut<T>(rows: &mut Vec<T>) -> Option<&T> {
    let more = rows.len() > ROWS as usize;
    rows.truncate(ROWS as usize);
    rows.last().filter(|_| more)
}

/// What both tables have: the fields of the filter form and the link back to the first page.
fn list_values(handler: &StatusHandler, view: &View) -> Result<Value, StatusRefusal> {
    let newest = handler.request.get("below")?.map(|_| link(handler, ""));
    Ok(context! { fields => fields(handler, view)?, newest })
}

/// Asks for one row more than a page has, to know whether there are more.
fn job_query(handler: &StatusHandler, view: &View) -> Result<JobQuery, StatusRefusal> {
    let below = handler.request.get("below")?;
    let bad = |_| StatusRefusal::new(400, "below must be the ID of a job");
    Ok(JobQuery {
        about: filter::about(view, &filters(handler)?)?,
        statuses: filter::statuses(&statuses(handler)?),
        order: JobOrder::Id,
        reverse: true,
        limit: Some(ROWS + 1),
        below: below.map(|id| id.parse()).transpose().map_err(bad)?,
    })
}

/// What the filter form says.
fn filters(handler: &StatusHandler) -> Result<Filters, StatusRefusal> {
    let get = |name| handler.request.get(name);
    let which = Which {
        exporter: get("exporter")?,
        params: get("param")?.into_iter().collect(),
        since: get("since")?,
        until: get("until")?,
    };
    Ok(Filters { which, queue: get("queue")?, client: get("client")? })
}

/// The status to filter by, if any.
fn statuses(handler: &StatusHandler) -> Result<Vec<StatusWord>, StatusRefusal> {
    let asked = handler.request.get("status")?;
    let read = |text: String| {
        StatusWord::from_str(&text, false).map_err(|_| StatusRefusal::new(400, "there is no such status"))
    };
    Ok(asked.map(read).transpose()?.into_iter().collect())
}

fn word(status: StatusWord) -> String {
    status.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
}

/// Another page of the same list.
fn link(handler: &StatusHandler, below: &str) -> String {
    format!("?{}", handler.request.link(&[("below", below), ("notice", ""), ("notice_token", "")]))
}

/// The fields of the filter form as they were filled in, with suggestions.
fn fields(handler: &StatusHandler, view: &View) -> Result<Value, StatusRefusal> {
    let field = |(name, label, hint): (&str, &str, &str)| -> Result<Value, StatusRefusal> {
        let value = handler.request.get(name)?.unwrap_or_default();
        Ok(context! { name, label, hint, value, known => known(handler, view, name)? })
    };
    FIELDS.into_iter().map(field).collect::<Result<Vec<_>, _>>().map(Value::from)
}

fn known(handler: &StatusHandler, view: &View, name: &str) -> Result<Vec<String>, StatusRefusal> {
    Ok(match name {
        "exporter" => handler.context.config.exporters.keys().cloned().collect(),
        "queue" => queues::all(handler.context, view)?
            .into_iter()
            .filter(|queue| queue.is_configured)
            .map(|queue| queue.name)
            .collect(),
        _ => Vec::new(),
    })
}

/// A list to choose from; nothing need be chosen.
fn choice(handler: &StatusHandler, name: &str, label: &str, words: Vec<String>) -> Result<Value, StatusRefusal> {
    Ok(context! { name, label, value => handler.request.get(name)?.unwrap_or_default(), words })
}

fn job_row(handler: &StatusHandler, job: &Job) -> Value {
    let [id, status, queue, age, tries, filename, note] =
        list::cells(&handler.context.config, job, handler.now).map(|cell| html::line(&cell));
    context! { id, status, queue, age, tries, filename, note, url => url(Some(job.id), &job.filename) }
}

/// The link to the page of a job or, when the job has ended, of its file.
pub(super) fn url(id: Option<i64>, filename: &str) -> String {
    let id = id.map(|id| id.to_string());
    let job = id.iter().map(|id| ("job", &**id));
    format!("?{}", url::encode([("page", "job")].into_iter().chain(job).chain([("file", filename)])))
}

/// How many attempts a page shows.
const ATTEMPTS: u32 = 20;

pub(super) fn job_page(handler: &StatusHandler, view: &View) -> Result<Response, StatusRefusal> {
    let page = show::gather(handler.context, view, subject(handler, view)?, ATTEMPTS)?;
    let job = page.subject.job.as_ref();
    let ended = page.subject.ended.as_ref();
    let id = job.map(|job| job.id).or(ended.map(|newest| newest.job));
    let title = id.map_or_else(|| "File".to_owned(), |id| format!("Job {id}"));
    let values = context! {
        facts => show::facts(&page).iter().map(fact).collect::<Value>(),
        attempts => page.attempts.iter().map(attempt).collect::<Value>(),
        most => (page.attempts.len() == ATTEMPTS as usize).then_some(ATTEMPTS),
        ended => ended.map(|newest| html::line(&find::how_it_ended(newest))),
        form => actions::form_fields(handler, view)?,
        job => job.map(|job| job.id),
        actions => job.map_or_else(Vec::new, possible_actions),
    };
    html::page(handler, view, &title, "job.html", values)
}

/// The job by its ID or, when the job has ended, the file.
fn subject(handler: &StatusHandler, view: &View) -> Result<find::FoundFile, Failure> {
    let word =
        |name: &str| handler.request.get(name).map_err(|refusal| Failure::because(Exit::Usage, refusal.sentence));
    let file = word("file")?;
    match word("job")?.map(|job| find::subject(view, &job)) {
        Some(Err(failure)) if failure.exit != Exit::Absent || file.is_none() => Err(failure),
        Some(Ok(subject)) => Ok(subject),
        _ => find::subject(view, &file.unwrap_or_default()),
    }
}

/// A name and a value.
pub(super) fn fact((name, text): &(&'static str, String)) -> Value {
    context! { name => *name, text => html::line(text) }
}

/// The actions that the status of the job allows.
fn possible_actions(job: &Job) -> Vec<&'static str> {
    let failed = if job.status.is_failed() { vec!["retry", "dismiss"] } else { Vec::new() };
    let cancel = can_be_cancelled(job).then_some("cancel");
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
        log => html::log(log),
    }
}

pub(super) fn history_page(handler: &StatusHandler, view: &View) -> Result<Response, StatusRefusal> {
    let mut found = Vec::new();
    let are_older = view.each_attempt(&attempt_query(handler, view)?, |cursor, attempt| {
        found.push((cursor, attempt.clone()));
        true
    })?;
    let older = cut(&mut found).and_then(|(cursor, attempt)| {
        attempt.record.as_ref()?;
        Some(link(handler, &cursor.to_string()))
    });
    let values = context! {
        rows => found.iter().map(|(_, attempt)| attempt_row(attempt)).collect::<Value>(),
        choice => choice(handler, "result", "Result", Outcome::ALL.map(|outcome| outcome.name().to_owned()).to_vec())?,
        look_back => are_older.then_some(LOOK_BACK),
        older,
        ..list_values(handler, view)?
    };
    html::page(handler, view, "History", "history.html", values)
}

/// Asks for one row more than a page has, to know whether there are more.
fn attempt_query(handler: &StatusHandler, view: &View) -> Result<AttemptQuery, StatusRefusal> {
    Ok(AttemptQuery {
        about: filter::about(view, &filters(handler)?)?,
        outcomes: filter::outcomes(&result(handler)?, &statuses(handler)?)?,
        order: AttemptOrder::Ended,
        reverse: true,
        limit: Some(ROWS + 1),
        below: handler.request.get("below")?.map(|word| cursor(&word)).transpose()?,
    })
}

fn result(handler: &StatusHandler) -> Result<Vec<Outcome>, StatusRefusal> {
    let asked = handler.request.get("result")?;
    let read =
        |text: String| Outcome::from_name(&text).ok_or_else(|| StatusRefusal::new(400, "there is no such result"));
    Ok(asked.map(read).transpose()?.into_iter().collect())
}

fn cursor(word: &str) -> Result<AttemptCursor, StatusRefusal> {
    word.parse().map_err(|()| StatusRefusal::new(400, "below must be a position in the history"))
}

fn attempt_row(attempt: &Attempt) -> Value {
    let [ended, result, took, memory, cpu, number, _, filename] = history::cells(attempt).map(|cell| html::line(&cell));
    context! { ended, result, took, memory, cpu, number, filename, url => url(None, &attempt.filename) }
}
