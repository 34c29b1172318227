//! The table of past attempts, the last that ended first, a page at a time.

use minijinja::{Value, context};

use super::{
    StatusHandler,
    asked::StatusRefusal,
    html,
    jobs::{self, ROWS},
};
use crate::{
    admin::jobs::{filter, history},
    model::{clock::Stamp, job::Attempt, status::Outcome},
    store::{AttemptOrder, AttemptQuery, LOOK_BACK, View},
    web::response::Response,
};

pub(super) fn page(visit: &StatusHandler, view: &View) -> Result<Response, StatusRefusal> {
    let mut found = Vec::new();
    let are_older = view.each_attempt(&wanted(visit, view)?, |row, attempt| {
        found.push((row, attempt.clone()));
        true
    })?;
    let more = found.len() > ROWS as usize;
    found.truncate(ROWS as usize);
    let older = found.last().filter(|_| more).and_then(|(row, attempt)| {
        let ended = attempt.record.as_ref()?.ended;
        Some(jobs::link(visit, &format!("{}.{row}", ended.0)))
    });
    let values = context! {
        rows => found.iter().map(|(_, attempt)| line(attempt)).collect::<Value>(),
        fields => jobs::fields(visit, view)?,
        choice => jobs::choice(visit, "result", "Result", Outcome::ALL.map(|outcome| outcome.name().to_owned()).to_vec())?,
        look_back => are_older.then_some(LOOK_BACK),
        older,
        newest => visit.asked.get("below")?.map(|_| jobs::link(visit, "")),
    };
    html::page(visit, view, "History", "history.html", values)
}

/// One more than is shown, to know whether there are more.
fn wanted(visit: &StatusHandler, view: &View) -> Result<AttemptQuery, StatusRefusal> {
    Ok(AttemptQuery {
        about: filter::about(view, &jobs::filters(visit)?)?,
        outcomes: filter::outcomes(&result(visit)?, &jobs::statuses(visit)?)?,
        order: AttemptOrder::Ended,
        reverse: true,
        limit: Some(ROWS + 1),
        below: visit.asked.get("below")?.map(|text| place(&text)).transpose()?,
    })
}

fn result(visit: &StatusHandler) -> Result<Vec<Outcome>, StatusRefusal> {
    let asked = visit.asked.get("result")?;
    let read =
        |text: String| Outcome::from_name(&text).ok_or_else(|| StatusRefusal::new(400, "there is no such result"));
    Ok(asked.map(read).transpose()?.into_iter().collect())
}

/// An end in milliseconds and a row.
fn place(text: &str) -> Result<(Stamp, i64), StatusRefusal> {
    let numbers = text.split_once('.').and_then(|(ended, row)| Some((ended.parse().ok()?, row.parse().ok()?)));
    numbers
        .map(|(ended, row)| (Stamp(ended), row))
        .ok_or_else(|| StatusRefusal::new(400, "below is no place in the history"))
}

fn line(attempt: &Attempt) -> Value {
    let [ended, result, took, memory, cpu, number, _, filename] = history::cells(attempt).map(|cell| html::line(&cell));
    context! { ended, result, took, memory, cpu, number, filename, url => jobs::url(None, &attempt.filename) }
}
