//! The status for programs. Times are RFC 3339, durations seconds, sizes bytes.

use serde_json::{Value, json};

use super::report::{Report, RunningJob};
use crate::{
    admin::{jobs::json as rows, queues},
    model::{breaker::Breaker, status::Status},
    site::Sight,
};

/// The report as one object.
pub fn object(report: &Report) -> Value {
    json!({
        "state": report.worst().map_or("well", super::Level::name),
        "findings": report.findings.iter().map(|finding| json!({
            "level": finding.level.name(), "code": finding.code, "text": finding.text,
        })).collect::<Value>(),
        "now": report.now.rfc3339(),
        "queues": report.queues.iter().map(|queue| with_failed(report, queue)).collect::<Value>(),
        "running": report.running.len(),
        "max_running": report.max_running,
        "started": report.running.iter().map(started).collect::<Value>(),
        "held_back": report.held_back,
        "oldest_queued": report.oldest.as_ref().map(|(job, since)| json!({
            "job": rows::job(job), "since": since.rfc3339(), "age": report.now.since(*since).as_secs_f64(),
        })),
        "last_tick": report.last_tick.as_ref().map(|last| last.at.rfc3339()),
        "last_tick_age": report.clock.quiet.map(|quiet| quiet.as_secs_f64()),
        "cache": { "files": report.cache.files, "size": report.cache.size, "max_size": report.cache.max_size },
        "disk": {
            "free": report.disk.free, "min_free": report.disk.min_free, "free_inodes": report.disk.free_inodes,
            "database": report.disk.database, "wal": report.disk.wal,
        },
        "last_hour": counts(report.last_hour.iter().map(|(outcome, count)| (outcome.name(), *count))),
        "dropped": counts(report.dropped.iter().map(|(reason, count)| (reason.name(), *count))),
        "failures": counts(report.failures().map(|(outcome, count)| (outcome.name(), count))),
        "breakers": report.breakers.iter().map(breaker).collect::<Value>(),
        "held": report.held.iter().map(|(exporter, jobs)| json!({ "exporter": exporter, "jobs": jobs })).collect::<Value>(),
        "database_writer": report.writer,
    })
}

/// When there is nothing to look at, for this reason.
pub fn broken(reason: &str) -> Value {
    json!({ "state": "critical", "findings": [{ "level": "critical", "code": "broken", "text": reason }] })
}

fn counts(pairs: impl Iterator<Item = (&'static str, u64)>) -> Value {
    Value::Object(pairs.map(|(name, count)| (name.to_owned(), count.into())).collect())
}

fn with_failed(report: &Report, queue: &queues::Queue) -> Value {
    let mut object = queues::as_json(queue);
    for status in Status::ALL.into_iter().filter(|status| status.is_failed()) {
        object[status.name()] = report.failed_in(&queue.name, status).into();
    }
    object
}

fn started(running: &RunningJob) -> Value {
    let sight = match running.sight {
        Sight::Alive => "alive",
        Sight::Free | Sight::Missing => "dead",
        Sight::Unverified => "unverified",
    };
    json!({
        "job": rows::job(&running.job),
        "run": sight,
        "elapsed": running.elapsed.as_secs_f64(),
        "timeout": running.timeout.map(|timeout| timeout.as_secs_f64()),
        "overdue": running.is_overdue,
    })
}

fn breaker((exporter, state): &(String, Breaker)) -> Value {
    let until = match state {
        Breaker::Open { until } => Some(until.rfc3339()),
        Breaker::Trial | Breaker::Closed => None,
    };
    json!({ "exporter": exporter, "open_until": until })
}
