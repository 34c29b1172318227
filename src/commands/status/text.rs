//! The status for people: what is wrong first.

use super::{gather::Report, running::Running};
use crate::{
    commands::{jobs::table::Table, paper::Paper, words},
    model::status::Status,
    site::Sight,
};

/// Prints the report.
pub fn print(report: &Report, paper: &mut Paper) {
    paper.line(report.worst().map_or("well", super::Level::name));
    for finding in &report.findings {
        paper.line(format!("{}: {}", finding.level.name(), finding.text));
    }
    queues(report, paper);
    jobs(report, paper);
    tick(report, paper);
    rooms(report, paper);
}

fn line(paper: &mut Paper, name: &str, text: &str) {
    paper.line(format!("{name:<14} {text}"));
}

fn queues(report: &Report, paper: &mut Paper) {
    let mut table = Table::new(["QUEUE", "MODE", "QUEUED", "STARTED", "TIMED OUT", "FAILED"]);
    for queue in &report.queues {
        let failed = |status| report.failed_in(&queue.name, status).to_string();
        let cells = [
            queue.name.clone(),
            queue.state.mode.name().to_owned(),
            format!("{} of {}", queue.state.queued, queue.max_queued),
            format!("{} of {}", queue.running, queue.max_running),
            failed(Status::FailedTimeout),
            failed(Status::FailedUnknown),
        ];
        table.row(paper, cells);
    }
    table.finish(paper);
}

fn jobs(report: &Report, paper: &mut Paper) {
    line(paper, "running", &format!("{} of {}", report.running.len(), report.max_running));
    for running in &report.running {
        paper.line(format!("  {}", run(running)));
    }
    for reason in &report.held_back {
        line(paper, "held back", reason);
    }
    let oldest = report.oldest.as_ref().map_or_else(
        || "none".to_owned(),
        |(job, since)| {
            let age = words::duration(report.now.since(*since));
            format!("job {} ({}) for {age}", job.id, job.filename)
        },
    );
    line(paper, "oldest queued", &oldest);
}

fn run(running: &Running) -> String {
    let job = &running.job;
    let allowed = running.timeout.map_or_else(String::new, |timeout| format!(" of {}", words::duration(timeout)));
    let percent = job.percent.map_or_else(String::new, |percent| format!(", {percent} %"));
    let sight = match running.sight {
        Sight::Alive => "",
        Sight::Free | Sight::Missing => ", its run has died",
        Sight::Unverified => ", unverified: its lock cannot be opened by this user",
    };
    let cancel = if job.cancel { ", is being cancelled" } else { "" };
    let elapsed = words::duration(running.elapsed);
    format!("job {} ({}) for {elapsed}{allowed}{percent}{cancel}{sight}", job.id, job.filename)
}

fn tick(report: &Report, paper: &mut Paper) {
    let text = report.last_tick.as_ref().map_or_else(
        || "never".to_owned(),
        |last| format!("{} ({} ago)", words::time(last.at), words::duration(report.now.since(last.at))),
    );
    line(paper, "last tick", &text);
    let failures: Vec<_> = report.failures().map(|(outcome, count)| format!("{} {count}", outcome.name())).collect();
    let ended: u64 = report.last_hour.iter().map(|(_, count)| count).sum();
    let failures = if failures.is_empty() { "no failures".to_owned() } else { failures.join(", ") };
    line(paper, "last hour", &format!("{failures}, of {} that ended", words::count(ended, "attempt")));
}

fn rooms(report: &Report, paper: &mut Paper) {
    let (cache, disk) = (&report.cache, &report.disk);
    let (size, most) = (words::bytes(cache.size), words::bytes(cache.max_size));
    line(paper, "cache", &format!("{}, {size} of {most}", words::count(cache.files, "file")));
    let free = disk.free.map_or_else(|| "?".to_owned(), words::bytes);
    line(paper, "disk", &format!("{free} free, at least {} wanted", words::bytes(disk.min_free)));
    line(paper, "database", &format!("{}, its log {}", words::bytes(disk.database), words::bytes(disk.wal)));
}
