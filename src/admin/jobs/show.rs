//! `jobs show`: everything about one job or file.

use serde_json::{Map, Value, json};

use super::{
    find::{self, FoundFile},
    json, list,
};
use crate::{
    cache::Cached,
    cli::{Format, ShowArgs},
    context::Context,
    exit::Failure,
    model::{
        age::{Freshness, freshness},
        clock::Stamp,
        format,
        job::{Attempt, Job},
        status::Status,
    },
    output::Output,
    store::View,
    supervise,
};

/// What there is to show.
pub struct JobDetail {
    pub subject: FoundFile,
    /// The newest first.
    pub attempts: Vec<Attempt>,
    file: Option<Cached>,
    freshness: Option<Freshness>,
    /// Among those of its queue that wait for nothing.
    position: Option<u32>,
    /// Why the configuration holds it.
    held: Option<String>,
}

/// Prints the row, the attempts with their limits and usage, and the end of the last log.
pub fn run(context: &Context, args: &ShowArgs) -> Result<(), Failure> {
    let store = context.view_store()?;
    let view = store.view();
    let page = gather(context, &view, find::subject(&view, &args.job)?, args.attempts.max(1))?;
    let mut paper = Output::new();
    match args.format {
        Format::Json => paper.json(&as_json(&page).into()),
        Format::Text => as_text(&page, &mut paper),
    }
    paper.close()
}

/// Everything about it, with so many of its attempts.
pub fn gather(context: &Context, view: &View, subject: FoundFile, attempts: u32) -> anyhow::Result<JobDetail> {
    let attempts = subject.attempts(view, attempts)?;
    let file = context.cache.look(&subject.filename).unwrap_or(None);
    let exporter = subject.filename.split_once('/').and_then(|(name, _)| context.config.exporters.get(name));
    let freshness = exporter
        .zip(file.as_ref())
        .map(|(exporter, file)| freshness(file.made, Stamp::now(), exporter.ttl, exporter.stale));
    let waiting = subject.job.as_ref().filter(|job| job.status == Status::Queued);
    let position = waiting.map(|job| view.position(job)).transpose()?;
    let held = subject.job.as_ref().and_then(|job| list::held(&context.config, job));
    Ok(JobDetail { subject, attempts, file, freshness, position, held })
}

fn as_json(page: &JobDetail) -> Map<String, Value> {
    let mut fields = match &page.subject.job {
        Some(job) => json::held(job, page.held.as_deref()),
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

fn file_json(page: &JobDetail) -> Value {
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

fn as_text(page: &JobDetail, paper: &mut Output) {
    for (name, value) in facts(page) {
        paper.line(format!("{name:<11} {value}"));
    }
    if let Some(newest) = page.subject.ended.as_ref().filter(|newest| !newest.is_drop()) {
        paper.line(find::how_it_ended(newest));
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

/// All of the job and its file that has a name and a value.
pub fn facts(page: &JobDetail) -> Vec<(&'static str, String)> {
    let mut facts = match &page.subject.job {
        Some(job) => of_job(job, page),
        None => of_past(page),
    };
    facts.extend(page.file.as_ref().map(|file| ("in cache", in_cache(file, page.freshness))));
    facts
}

/// What the newest attempt tells of a job that has ended, or of a file.
fn of_past(page: &JobDetail) -> Vec<(&'static str, String)> {
    let file = ("file", page.subject.filename.clone());
    let Some(newest) = page.attempts.first() else { return vec![file] };
    let mut facts = vec![
        ("job", newest.job.to_string()),
        file,
        ("exporter", newest.exporter.clone()),
        ("parameters", newest.params.clone()),
        ("queue", newest.queue.clone()),
    ];
    facts.extend(newest.client.clone().map(|client| ("client", client)));
    facts
}

fn in_cache(file: &Cached, freshness: Option<Freshness>) -> String {
    let age = format::duration(Stamp::now().since(file.made));
    format!("{}, {}, made {age} ago", freshness.map_or("", fresh_word), format::bytes(file.size))
}

fn of_job(job: &Job, page: &JobDetail) -> Vec<(&'static str, String)> {
    let now = Stamp::now();
    let stamp = |name, stamp: Option<Stamp>| stamp.map(|stamp| (name, moment(stamp, now)));
    let facts = [
        Some(("job", job.id.to_string())),
        Some(("file", job.filename.clone())),
        Some(("status", status(job, page, now))),
        Some(("exporter", job.exporter.clone())),
        Some(("parameters", job.params.clone())),
        Some(("queue", format!("{}, priority {}", job.queue, job.priority))),
        job.client.clone().map(|client| ("client", client)),
        stamp("submitted", Some(job.submitted)),
        stamp("last asked", Some(job.last_asked)),
        stamp("started", job.started),
        stamp("failed", job.failed),
        stamp("again", job.again),
        job.source.clone().map(|source| ("made from", source)),
        Some(("attempts", job.attempts.to_string())),
    ];
    facts.into_iter().flatten().collect()
}

fn status(job: &Job, page: &JobDetail, now: Stamp) -> String {
    let note = list::note(job, page.held.as_deref(), now);
    let place = page.position.filter(|_| page.held.is_none()).map(|place| format!("place {place} in its queue"));
    let notes = [place, Some(note).filter(|note| !note.is_empty())];
    notes.into_iter().flatten().fold(job.status.name().to_owned(), |text, note| format!("{text}, {note}"))
}

fn moment(stamp: Stamp, now: Stamp) -> String {
    let distance = if stamp > now {
        format!("in {}", format::duration(stamp.since(now)))
    } else {
        format!("{} ago", format::duration(now.since(stamp)))
    };
    format!("{} ({distance})", format::time(stamp))
}

fn attempt_text(attempt: &Attempt, paper: &mut Output) {
    if let Some(record) = attempt.record.as_ref().filter(|_| attempt.is_drop()) {
        let why = record.detail.as_deref().unwrap_or("nobody knows why");
        return paper.line(format!("job {} was dropped at {}: {why}", attempt.job, format::time(record.ended)));
    }
    paper.line(format!("attempt {} ({} of job {}): {}", attempt.id, attempt.number, attempt.job, how(attempt)));
    paper.line(format!("  started {}, {}", format::time(attempt.started), time_used(attempt)));
    let used: Vec<_> = used(attempt).into_iter().map(|(name, used)| format!("{name} {used}")).collect();
    if !used.is_empty() {
        paper.line(format!("  {}", used.join(", ")));
    }
    for (name, text) in notes(attempt) {
        paper.line(format!("  {name}: {text}"));
    }
}

/// How long it ran, or has been running, of the time that it had.
pub fn time_used(attempt: &Attempt) -> String {
    if attempt.is_drop() {
        return "never started".to_owned();
    }
    let record = attempt.record.as_ref();
    let took = record.map_or_else(|| Stamp::now().since(attempt.started), |record| record.duration);
    format!("{} of {}", format::duration(took), format::duration(attempt.limits.timeout))
}

/// Memory and CPU time, used of what was allowed: at most, when it has ended, else just now. What was not measured, as of
/// an attempt that could not be started, is left out.
pub fn used(attempt: &Attempt) -> Vec<(&'static str, String)> {
    let limits = &attempt.limits;
    let (memory, cpu) = if let Some(record) = &attempt.record {
        (record.peak_memory, record.cpu_used)
    } else {
        let now = supervise::usage(&attempt.id);
        (now.map(|now| now.memory), now.map(|now| now.cpu))
    };
    let is_running = attempt.record.is_none();
    let told = |used: Option<String>, limit: Option<String>| {
        let used = used.or_else(|| is_running.then(|| "unknown".to_owned()))?;
        let now = if is_running { " now" } else { "" };
        Some(limit.map_or_else(|| format!("{used}{now}"), |limit| format!("{used}{now} of {limit}")))
    };
    let memory = told(memory.map(format::bytes), limits.memory.map(format::size));
    let cpu = told(cpu.map(format::duration), limits.cpu.map(format::duration));
    [("memory", memory), ("CPU", cpu)].into_iter().filter_map(|(name, used)| Some((name, used?))).collect()
}

/// The size of what it made and what was said about it.
pub fn notes(attempt: &Attempt) -> Vec<(&'static str, String)> {
    let Some(record) = &attempt.record else { return Vec::new() };
    let texts = [
        ("file", record.output_size.map(format::bytes)),
        ("message", record.message.clone()),
        ("detail", record.detail.clone()),
    ];
    texts.into_iter().filter_map(|(name, text)| Some((name, text?))).collect()
}

/// How it ended, if it has.
pub fn how(attempt: &Attempt) -> String {
    let Some(record) = &attempt.record else { return "is running".to_owned() };
    let mut text = record.outcome.name().to_owned();
    text.extend(record.exit_code.filter(|code| *code != 0).map(|code| format!(", exit status {code}")));
    text.extend(record.signal.map(|signal| format!(", signal {signal}")));
    text
}
