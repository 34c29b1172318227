//! `jobs show`: everything about one job or file.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::{find, find::Subject, json, list};
use crate::{
    cache::Cached,
    cli::{Format, ShowArgs},
    commands::{paper::Paper, words, world::World},
    exit::Failure,
    model::{
        attempt::{Attempt, Record},
        clock::Stamp,
        job::Job,
        policy::{Freshness, freshness},
        status::Status,
    },
};

/// What there is to show.
struct Page {
    subject: Subject,
    attempts: Vec<Attempt>,
    file: Option<Cached>,
    freshness: Option<Freshness>,
    /// Among those of its queue that wait for nothing.
    position: Option<u32>,
}

/// Prints the row, the attempts with their limits and usage, and the end of the last log.
pub fn run(world: &World, args: &ShowArgs) -> Result<(), Failure> {
    let page = gather(world, args)?;
    let mut paper = Paper::new();
    match args.format {
        Format::Json => paper.json(&as_json(&page).into()),
        Format::Text => as_text(&page, &mut paper),
    }
    paper.close()
}

fn gather(world: &World, args: &ShowArgs) -> Result<Page, Failure> {
    let store = world.view_store()?;
    let view = store.view();
    let subject = find::subject(&view, &args.job)?;
    let attempts = subject.attempts(&view, args.attempts.max(1))?;
    let file = world.cache.look(&subject.filename).unwrap_or(None);
    let exporter = subject.filename.split_once('/').and_then(|(name, _)| world.config.exporters.get(name));
    let freshness = exporter
        .zip(file.as_ref())
        .map(|(exporter, file)| freshness(file.made, Stamp::now(), exporter.ttl, exporter.stale));
    let waiting = subject.job.as_ref().filter(|job| job.status == Status::Queued);
    let position = waiting.map(|job| view.position(job)).transpose().map_err(anyhow::Error::from)?;
    Ok(Page { subject, attempts, file, freshness, position })
}

fn as_json(page: &Page) -> Map<String, Value> {
    let mut fields = match &page.subject.job {
        Some(job) => json::job(job),
        None => Map::from_iter([
            ("id".to_owned(), json!(page.subject.ended.as_ref().map(|newest| newest.job))),
            ("filename".to_owned(), json!(page.subject.filename)),
            ("status".to_owned(), Value::Null),
        ]),
    };
    if let Some(newest) = page.attempts.first() {
        fields.extend(json::common(newest));
    }
    fields.insert("position".into(), json!(page.position));
    fields.insert("file".into(), file_json(page));
    fields.insert("history".into(), page.attempts.iter().map(attempt_json).collect());
    fields
}

fn attempt_json(attempt: &Attempt) -> Value {
    let mut fields = json::attempt(attempt);
    fields.insert("log_tail".into(), json!(attempt.record.as_ref().map(|record| &record.log_tail)));
    fields.into()
}

fn file_json(page: &Page) -> Value {
    let Some(file) = &page.file else { return Value::Null };
    json!({
        "path": file.path.display().to_string(),
        "size": file.size,
        "made_at": file.made.rfc3339(),
        "state": page.freshness.map(fresh_word),
    })
}

const fn fresh_word(freshness: Freshness) -> &'static str {
    match freshness {
        Freshness::Fresh => "fresh",
        Freshness::Stale => "stale",
        Freshness::Expired => "expired",
    }
}

fn as_text(page: &Page, paper: &mut Paper) {
    match &page.subject.job {
        Some(job) => job_text(job, page.position, paper),
        None => field(paper, "file", &page.subject.filename),
    }
    if let Some(newest) = &page.subject.ended {
        paper.line(find::how_it_ended(newest));
    }
    if let Some(file) = &page.file {
        let state = page.freshness.map_or("", fresh_word);
        let age = words::duration(Stamp::now().since(file.made));
        field(paper, "in cache", &format!("{state}, {}, made {age} ago", words::bytes(file.size)));
    }
    for attempt in &page.attempts {
        attempt_text(attempt, paper);
    }
    let tail = page.attempts.first().and_then(|attempt| attempt.record.as_ref()).map_or("", |record| &record.log_tail);
    if !tail.is_empty() {
        paper.line("end of the last log:");
        tail.lines().for_each(|line| paper.line(format!("  | {line}")));
    }
}

fn field(paper: &mut Paper, name: &str, value: &str) {
    paper.line(format!("{name:<11} {value}"));
}

fn job_text(job: &Job, position: Option<u32>, paper: &mut Paper) {
    let now = Stamp::now();
    field(paper, "job", &job.id.to_string());
    field(paper, "file", &job.filename);
    let note = list::note(job, now);
    let place = position.map(|place| format!("place {place} in its queue"));
    let notes = [place, Some(note).filter(|note| !note.is_empty())];
    let status = notes.into_iter().flatten().fold(job.status.name().to_owned(), |text, note| format!("{text}, {note}"));
    field(paper, "status", &status);
    field(paper, "exporter", &job.exporter);
    field(paper, "parameters", &job.params);
    field(paper, "queue", &format!("{}, priority {}", job.queue, job.priority));
    if let Some(client) = &job.client {
        field(paper, "client", client);
    }
    field(paper, "submitted", &moment(job.submitted, now));
    field(paper, "last asked", &moment(job.last_asked, now));
    for (name, stamp) in [("started", job.started), ("failed", job.failed), ("again", job.again)] {
        if let Some(stamp) = stamp {
            field(paper, name, &moment(stamp, now));
        }
    }
    if let Some(source) = &job.source {
        field(paper, "made from", source);
    }
    field(paper, "attempts", &job.attempts.to_string());
}

fn moment(stamp: Stamp, now: Stamp) -> String {
    let distance = if stamp > now {
        format!("in {}", words::duration(stamp.since(now)))
    } else {
        format!("{} ago", words::duration(now.since(stamp)))
    };
    format!("{} ({distance})", words::time(stamp))
}

fn attempt_text(attempt: &Attempt, paper: &mut Paper) {
    let how = attempt.record.as_ref().map_or_else(|| "is running".to_owned(), how);
    paper.line(format!("attempt {} ({} of job {}): {how}", attempt.id, attempt.number, attempt.job));
    let record = attempt.record.as_ref();
    let took = record.map_or_else(|| Stamp::now().since(attempt.started), |record| record.duration);
    let started = words::time(attempt.started);
    paper.line(format!(
        "  started {started}, {} of {}",
        words::duration(took),
        words::duration(attempt.limits.timeout)
    ));
    let memory =
        of(record.and_then(|record| record.peak_memory).map(words::bytes), attempt.limits.memory.map(words::bytes));
    let span = |duration: Option<Duration>| duration.map(words::duration);
    let cpu = of(span(record.and_then(|record| record.cpu_used)), span(attempt.limits.cpu));
    paper.line(format!("  memory {memory}, CPU {cpu}"));
    let size = record.and_then(|record| record.output_size);
    let texts = [
        size.map(|size| format!("file: {}", words::bytes(size))),
        record.and_then(|record| record.message.as_ref()).map(|text| format!("message: {text}")),
        record.and_then(|record| record.detail.as_ref()).map(|text| format!("detail: {text}")),
    ];
    texts.into_iter().flatten().for_each(|text| paper.line(format!("  {text}")));
}

/// What was used of what was allowed.
fn of(used: Option<String>, limit: Option<String>) -> String {
    let used = used.unwrap_or_else(|| "?".to_owned());
    limit.map_or_else(|| format!("{used} of any"), |limit| format!("{used} of {limit}"))
}

fn how(record: &Record) -> String {
    let mut text = record.outcome.name().to_owned();
    text.extend(record.exit_code.filter(|code| *code != 0).map(|code| format!(", exit status {code}")));
    text.extend(record.signal.map(|signal| format!(", signal {signal}")));
    text
}
