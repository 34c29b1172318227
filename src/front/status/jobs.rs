//! The table of jobs, the newest first, a page at a time.

use clap::ValueEnum;
use minijinja::{Value, context};

use super::{Visit, html, refusal::Refusal, shown};
use crate::{
    cli::{Filters, StatusWord, Which},
    commands::{
        jobs::{filter, list},
        queues,
    },
    front::{query, response::Response},
    model::job::Job,
    store::{JobOrder, JobQuery, View},
};

/// Rows of a page.
pub(super) const ROWS: u32 = 50;

/// What one can filter by beside the status or the result, and what it is called.
const FIELDS: [(&str, &str, &str); 6] = [
    ("exporter", "Exporter", ""),
    ("queue", "Queue", ""),
    ("client", "Client", "name or hash"),
    ("param", "Parameter", "NAME=VALUE"),
    ("since", "Since", "2h, or 2026-03-01"),
    ("until", "Until", "1h, or 2026-03-02"),
];

pub(super) fn page(visit: &Visit, view: &View) -> Result<Response, Refusal> {
    let mut ids = view.job_ids(&wanted(visit, view)?)?;
    let more = ids.len() > ROWS as usize;
    ids.truncate(ROWS as usize);
    let older = ids.last().filter(|_| more).map(|id| link(visit, &id.to_string()));
    // One that has gone since it was found is left out.
    let jobs: Vec<Job> = ids
        .into_iter()
        .filter_map(|id| view.look_at(id).map(|job| job.and_then(Result::ok)).transpose())
        .collect::<Result<_, _>>()?;
    let values = context! {
        rows => jobs.iter().map(|job| row(visit, job)).collect::<Value>(),
        fields => fields(visit, view)?,
        choice => choice(visit, "status", "Status", StatusWord::value_variants().iter().copied().map(word).collect())?,
        older,
        newest => visit.asked.get("below")?.map(|_| link(visit, "")),
    };
    html::page(visit, view, "Jobs", "jobs.html", values)
}

/// One more than is shown, to know whether there are more.
fn wanted(visit: &Visit, view: &View) -> Result<JobQuery, Refusal> {
    let below = visit.asked.get("below")?;
    let bad = |_| Refusal::new(400, "below is the id of a job");
    Ok(JobQuery {
        about: filter::about(view, &filters(visit)?)?,
        statuses: filter::statuses(&statuses(visit)?),
        order: JobOrder::Id,
        reverse: true,
        limit: Some(ROWS + 1),
        below: below.map(|id| id.parse()).transpose().map_err(bad)?,
    })
}

/// What the fields of the form say.
pub(super) fn filters(visit: &Visit) -> Result<Filters, Refusal> {
    let get = |name| visit.asked.get(name);
    let which = Which {
        exporter: get("exporter")?,
        params: get("param")?.into_iter().collect(),
        since: get("since")?,
        until: get("until")?,
    };
    Ok(Filters { which, queue: get("queue")?, client: get("client")? })
}

/// The status that is asked for.
pub(super) fn statuses(visit: &Visit) -> Result<Vec<StatusWord>, Refusal> {
    let asked = visit.asked.get("status")?;
    let read =
        |text: String| StatusWord::from_str(&text, false).map_err(|_| Refusal::new(400, "there is no such status"));
    Ok(asked.map(read).transpose()?.into_iter().collect())
}

fn word(status: StatusWord) -> String {
    status.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
}

/// Another page of the same list.
pub(super) fn link(visit: &Visit, below: &str) -> String {
    format!("?{}", visit.asked.link(&[("below", below), ("said", ""), ("seal", "")]))
}

/// The fields of the form as they were filled in, and what is known for them.
pub(super) fn fields(visit: &Visit, view: &View) -> Result<Value, Refusal> {
    let field = |(name, label, hint): (&str, &str, &str)| -> Result<Value, Refusal> {
        let value = visit.asked.get(name)?.unwrap_or_default();
        Ok(context! { name, label, hint, value, known => known(visit, view, name)? })
    };
    FIELDS.into_iter().map(field).collect::<Result<Vec<_>, _>>().map(Value::from)
}

fn known(visit: &Visit, view: &View, name: &str) -> Result<Vec<String>, Refusal> {
    Ok(match name {
        "exporter" => visit.world.config.exporters.keys().cloned().collect(),
        "queue" => queues::all(visit.world, view)?
            .into_iter()
            .filter(|queue| queue.is_configured)
            .map(|queue| queue.name)
            .collect(),
        _ => Vec::new(),
    })
}

/// A list to choose from, or nothing of it.
pub(super) fn choice(visit: &Visit, name: &str, label: &str, words: Vec<String>) -> Result<Value, Refusal> {
    Ok(context! { name, label, value => visit.asked.get(name)?.unwrap_or_default(), words })
}

fn row(visit: &Visit, job: &Job) -> Value {
    let [id, status, queue, age, tries, filename, note] =
        list::cells(&visit.world.config, job, visit.now).map(|cell| shown::line(&cell));
    context! { id, status, queue, age, tries, filename, note, url => url(Some(job.id), &job.filename) }
}

/// The page of a job: when it is gone, of its file.
pub(super) fn url(id: Option<i64>, filename: &str) -> String {
    let id = id.map(|id| id.to_string());
    let job = id.iter().map(|id| ("job", &**id));
    format!("?{}", query::encode([("page", "job")].into_iter().chain(job).chain([("file", filename)])))
}
