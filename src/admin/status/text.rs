//! The status for people: what is wrong first.

use super::report::{Report, RunningJob};
use crate::{
    admin::jobs::list::TextTable,
    model::{
        format,
        status::{Outcome, Status},
    },
    output::Output,
    site::Sight,
};

/// Prints the report.
pub fn print(report: &Report, paper: &mut Output) {
    paper.line(report.worst().map_or("well", super::Level::name));
    for finding in &report.findings {
        paper.line(format!("{}: {}", finding.level.name(), finding.text));
    }
    queues(report, paper);
    line(paper, RUNNING, &slots(report));
    report.running.iter().for_each(|running| paper.line(format!("  {}", run(running))));
    for (name, text) in facts(report) {
        line(paper, name, &text);
    }
}

/// The name under which [`slots`] is told.
pub const RUNNING: &str = "running";

/// How many of the slots are used.
pub fn slots(report: &Report) -> String {
    format!("{} of {}", report.running.len(), report.max_running)
}

/// All that has a name and a value, in the order in which it is told.
pub fn facts(report: &Report) -> Vec<(&'static str, String)> {
    let held = report.held_back.iter().map(|reason| ("held back", reason.clone()));
    let rest = [
        ("oldest queued", oldest(report)),
        ("last tick", tick(report)),
        ("last hour", last_hour(report)),
        ("cache", cache(report)),
        ("disk", disk(report)),
        ("database", database(report)),
    ];
    held.chain(rest).collect()
}

fn line(paper: &mut Output, name: &str, text: &str) {
    paper.line(format!("{name:<14} {text}"));
}

fn queues(report: &Report, paper: &mut Output) {
    let mut table = TextTable::new(["QUEUE", "MODE", "QUEUED", "DELAYED", "STARTED", "TIMED OUT", "FAILED"]);
    for queue in &report.queues {
        let failed = |status| report.failed_in(&queue.name, status).to_string();
        let cells = [
            queue.name.clone(),
            queue.state.mode.name().to_owned(),
            format!("{} of {}", queue.state.due(), queue.max_queued),
            queue.state.delayed.to_string(),
            format!("{} of {}", queue.running, queue.max_running),
            failed(Status::FailedTimeout),
            failed(Status::FailedUnknown),
        ];
        table.row(paper, cells);
    }
    table.finish(paper);
}

fn oldest(report: &Report) -> String {
    let Some((job, since)) = &report.oldest else { return "none".to_owned() };
    format!("job {} ({}) for {}", job.id, job.filename, format::duration(report.now.since(*since)))
}

/// One started job, in a line.
pub fn run(running: &RunningJob) -> String {
    let job = &running.job;
    let allowed = running.timeout.map_or_else(String::new, |timeout| format!(" of {}", format::duration(timeout)));
    let percent = job.percent.map_or_else(String::new, |percent| format!(", {percent} %"));
    let sight = match running.sight {
        Sight::Alive => "",
        Sight::Free | Sight::Missing => ", its run has died",
        Sight::Unverified => ", unverified: its lock cannot be opened by this user",
    };
    let cancel = if job.cancel { ", is being cancelled" } else { "" };
    let elapsed = format::duration(running.elapsed);
    format!("job {} ({}) for {elapsed}{allowed}{percent}{cancel}{sight}", job.id, job.filename)
}

fn tick(report: &Report) -> String {
    let Some(last) = &report.last_tick else { return "never".to_owned() };
    format!("{} ({} ago)", format::time(last.at), format::duration(report.now.since(last.at)))
}

fn last_hour(report: &Report) -> String {
    let failures: Vec<_> = report.failures().map(|(outcome, count)| format!("{} {count}", outcome.name())).collect();
    let ended = report.last_hour.iter().filter(|(outcome, _)| *outcome != Outcome::Dropped);
    let ended: u64 = ended.map(|(_, count)| count).sum();
    let dropped: u64 = report.dropped.iter().map(|(_, count)| count).sum();
    let dropped = if dropped > 0 { format!("; {} dropped", format::count(dropped, "job")) } else { String::new() };
    let failures = if failures.is_empty() { "no failures".to_owned() } else { failures.join(", ") };
    format!("{failures}, of {} that ended{dropped}", format::count(ended, "attempt"))
}

fn cache(report: &Report) -> String {
    let cache = &report.cache;
    let (size, most) = (format::bytes(cache.size), format::size(cache.max_size));
    format!("{}, {size} of {most}", format::count(cache.files, "file"))
}

fn disk(report: &Report) -> String {
    let free = report.disk.free.map_or_else(|| "?".to_owned(), format::bytes);
    format!("{free} free, at least {} wanted", format::size(report.disk.min_free))
}

fn database(report: &Report) -> String {
    format!("{}, its log {}", format::bytes(report.disk.database), format::bytes(report.disk.wal))
}
