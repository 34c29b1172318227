//! The status in Prometheus' text format, for the textfile collector of `node_exporter`.

use std::collections::BTreeMap;

use super::report::Report;
use crate::{
    context::Context,
    model::status::Status,
    output::Output,
    store::{Measure, Mode, Tally},
};

/// Writes every metric.
pub fn print(context: &Context, report: &Report, paper: &mut Output) {
    up(true, paper);
    let level = report.worst().map_or(0, |level| level as u8 + 1);
    plain(paper, "pressroom_state", "How the site is: 0 well, 1 warning, 2 critical.", f64::from(level));
    findings(report, paper);
    queues(report, paper);
    jobs(report, paper);
    tick(report, paper);
    rooms(report, paper);
    breakers(context, report, paper);
    attempts(report, paper);
    drops(report, paper);
    histogram(report, Measure::Wait, "pressroom_wait_seconds", "From a job's submission to its first start.", paper);
    histogram(report, Measure::Run, "pressroom_run_seconds", "How long attempts ran.", paper);
}

/// Nothing can be told but that.
pub fn broken(paper: &mut Output) {
    up(false, paper);
    plain(paper, "pressroom_state", "How the site is: 0 well, 1 warning, 2 critical.", 2.0);
    head(paper, "pressroom_finding", "gauge", "What is wrong: 1 warning, 2 critical.");
    sample(paper, "pressroom_finding", &[("code", "broken")], 2.0);
}

fn up(up: bool, paper: &mut Output) {
    plain(paper, "pressroom_up", "Whether configuration, site and database can be read.", f64::from(u8::from(up)));
}

fn head(paper: &mut Output, name: &str, kind: &str, help: &str) {
    paper.line(format!("# HELP {name} {help}"));
    paper.line(format!("# TYPE {name} {kind}"));
}

fn plain(paper: &mut Output, name: &str, help: &str, value: f64) {
    head(paper, name, "gauge", help);
    paper.line(format!("{name} {value}"));
}

fn sample(paper: &mut Output, name: &str, labels: &[(&str, &str)], value: f64) {
    let labels: Vec<_> = labels.iter().map(|(label, text)| format!("{label}=\"{}\"", escaped(text))).collect();
    paper.line(format!("{name}{{{}}} {value}", labels.join(",")));
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[expect(clippy::cast_precision_loss, reason = "the format has no other numbers")]
fn number(number: u64) -> f64 {
    number as f64
}

fn findings(report: &Report, paper: &mut Output) {
    head(paper, "pressroom_finding", "gauge", "What is wrong: 1 warning, 2 critical.");
    let mut worst: BTreeMap<&str, u8> = BTreeMap::new();
    for finding in &report.findings {
        let level = finding.level as u8 + 1;
        worst.entry(finding.code).and_modify(|known| *known = level.max(*known)).or_insert(level);
    }
    for (code, level) in worst {
        sample(paper, "pressroom_finding", &[("code", code)], f64::from(level));
    }
}

fn queues(report: &Report, paper: &mut Output) {
    head(paper, "pressroom_queue_open", "gauge", "Whether jobs of the queue are started: 0 paused or draining.");
    for queue in &report.queues {
        let open = queue.state.mode == Mode::Open;
        sample(paper, "pressroom_queue_open", &[("queue", &queue.name)], f64::from(u8::from(open)));
    }
    head(paper, "pressroom_queue_slots", "gauge", "How many jobs of the queue may run at a time.");
    for queue in &report.queues {
        sample(paper, "pressroom_queue_slots", &[("queue", &queue.name)], f64::from(queue.max_running));
    }
    head(paper, "pressroom_queue_places", "gauge", "How many jobs may wait in the queue.");
    for queue in &report.queues {
        sample(paper, "pressroom_queue_places", &[("queue", &queue.name)], number(queue.max_queued));
    }
    head(paper, "pressroom_queue_delayed", "gauge", "Queued jobs whose time has not come, counted apart.");
    for queue in &report.queues {
        sample(paper, "pressroom_queue_delayed", &[("queue", &queue.name)], number(queue.state.delayed));
    }
}

fn jobs(report: &Report, paper: &mut Output) {
    head(paper, "pressroom_jobs", "gauge", "Jobs by queue and status.");
    for queue in &report.queues {
        for status in Status::ALL {
            let count = match status {
                Status::Queued => queue.state.queued,
                Status::Started => u64::from(queue.running),
                Status::FailedTimeout | Status::FailedUnknown => report.failed_in(&queue.name, status),
            };
            sample(paper, "pressroom_jobs", &[("queue", &queue.name), ("status", status.name())], number(count));
        }
    }
    plain(paper, "pressroom_slots", "How many jobs may run at a time on this machine.", f64::from(report.max_running));
    let age = report.oldest.as_ref().map_or(0.0, |(_, since)| report.now.since(*since).as_secs_f64());
    plain(
        paper,
        "pressroom_oldest_queued_age_seconds",
        "For how long the oldest queued job could have been started.",
        age,
    );
}

fn tick(report: &Report, paper: &mut Output) {
    #[expect(clippy::cast_precision_loss, reason = "the format has no other numbers")]
    let at = report.last_tick.as_ref().map_or(0.0, |last| last.at.0 as f64 / 1000.0);
    plain(paper, "pressroom_last_tick_timestamp_seconds", "When a tick ran last; 0 never.", at);
}

fn rooms(report: &Report, paper: &mut Output) {
    let (cache, disk) = (&report.cache, &report.disk);
    for (name, help, value) in [
        ("pressroom_cache_files", "Finished files.", cache.files),
        ("pressroom_cache_size_bytes", "Bytes of the finished files.", cache.size),
        ("pressroom_cache_max_size_bytes", "Bytes that the finished files may have.", cache.max_size),
        ("pressroom_disk_free_bytes", "Free bytes on the disk of the cache.", disk.free.unwrap_or(0)),
        ("pressroom_disk_min_free_bytes", "With fewer free bytes nothing is started.", disk.min_free),
        ("pressroom_database_size_bytes", "Bytes of the database.", disk.database),
        ("pressroom_database_log_size_bytes", "Bytes of the database's write-ahead log.", disk.wal),
    ] {
        plain(paper, name, help, number(value));
    }
}

fn breakers(context: &Context, report: &Report, paper: &mut Output) {
    head(paper, "pressroom_breaker_open", "gauge", "Whether the exporter is held back because it fails on every file.");
    for name in context.config.exporters.keys() {
        let open = report.breakers.iter().any(|(exporter, _)| exporter == name);
        sample(paper, "pressroom_breaker_open", &[("exporter", name)], f64::from(u8::from(open)));
    }
}

fn attempts(report: &Report, paper: &mut Output) {
    head(paper, "pressroom_attempts_total", "counter", "Ended attempts by exporter and result.");
    let mut counts: BTreeMap<(&str, &str), f64> = BTreeMap::new();
    for tally in report.tallies.iter().filter(|tally| tally.measure == Measure::Run) {
        *counts.entry((&tally.exporter, tally.outcome.name())).or_default() += number(tally.count);
    }
    for ((exporter, result), count) in counts {
        sample(paper, "pressroom_attempts_total", &[("exporter", exporter), ("result", result)], count);
    }
}

fn drops(report: &Report, paper: &mut Output) {
    head(paper, "pressroom_dropped_total", "counter", "Jobs that were given up while queued, by exporter and reason.");
    for (exporter, reason, count) in &report.drops {
        let labels = [("exporter", exporter.as_str()), ("reason", reason.name())];
        sample(paper, "pressroom_dropped_total", &labels, number(*count));
    }
    head(paper, "pressroom_notices_lost_total", "counter", "Notices that notify.command did not take within a day.");
    paper.line(format!("pressroom_notices_lost_total {}", report.lost_notices));
}

fn histogram(report: &Report, measure: Measure, name: &str, help: &str, paper: &mut Output) {
    head(paper, name, "histogram", help);
    let mut exporters: BTreeMap<&str, Vec<&Tally>> = BTreeMap::new();
    for tally in report.tallies.iter().filter(|tally| tally.measure == measure) {
        exporters.entry(&tally.exporter).or_default().push(tally);
    }
    for (exporter, tallies) in exporters {
        buckets(paper, name, exporter, &tallies);
    }
}

fn buckets(paper: &mut Output, name: &str, exporter: &str, tallies: &[&Tally]) {
    let (bucket, mut below) = (format!("{name}_bucket"), 0.0);
    for bound in Tally::BOUNDS_MS {
        below += tallies.iter().filter(|tally| tally.bound_ms == bound).map(|tally| number(tally.count)).sum::<f64>();
        let le = (number(bound) / 1000.0).to_string();
        sample(paper, &bucket, &[("exporter", exporter), ("le", &le)], below);
    }
    // As what is shown: integers of rows that are not ours could overflow.
    let count = tallies.iter().map(|tally| number(tally.count)).sum();
    let total: f64 = tallies.iter().map(|tally| number(tally.total_ms)).sum();
    sample(paper, &bucket, &[("exporter", exporter), ("le", "+Inf")], count);
    sample(paper, &format!("{name}_sum"), &[("exporter", exporter)], total / 1000.0);
    sample(paper, &format!("{name}_count"), &[("exporter", exporter)], count);
}
