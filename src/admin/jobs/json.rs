//! Jobs and attempts as objects. Times are RFC 3339, durations seconds, sizes bytes.

use serde_json::{Map, Value, json};

use crate::model::{
    clock::Stamp,
    job::{Attempt, Job},
    limits::Limits,
    status::DropReason,
};

/// A job's row.
pub fn job(job: &Job) -> Map<String, Value> {
    object(json!({
        "id": job.id,
        "filename": job.filename,
        "exporter": job.exporter,
        "params": params(&job.params),
        "queue": job.queue,
        "priority": job.priority,
        "client": job.client,
        "status": job.status.name(),
        "submitted": job.submitted.rfc3339(),
        "run_after": job.run_after.rfc3339(),
        "last_asked": job.last_asked.rfc3339(),
        "started": time(job.started),
        "failed": time(job.failed),
        "attempt": job.attempt,
        "attempts": job.attempts,
        "percent": job.percent,
        "message": job.message,
        "result": job.result,
        "again": time(job.again),
        "cancel": job.cancel,
        "source": job.source,
        "waits_for_source": job.waits_for_source,
    }))
}

/// A job's row, and whether the configuration holds it, and why.
pub fn held(row: &Job, why: Option<&str>) -> Map<String, Value> {
    let mut fields = job(row);
    fields.insert("held".into(), json!(why.is_some()));
    fields.insert("reason".into(), json!(why));
    fields
}

/// The names that other software of this kind uses, of an attempt.
pub fn common(attempt: &Attempt) -> Map<String, Value> {
    let record = attempt.record.as_ref();
    object(json!({
        "memory_limit": attempt.limits.memory,
        "cpu_time_limit": attempt.limits.cpu.map(|cpu| cpu.as_secs_f64()),
        "result": record.map(|record| record.outcome.name()),
        "start_date": attempt.started.rfc3339(),
        "duration": record.map(|record| record.duration.as_secs_f64()),
    }))
}

/// An attempt without its log.
pub fn attempt(attempt: &Attempt) -> Map<String, Value> {
    let record = attempt.record.as_ref();
    let mut fields = object(json!({
        "attempt": attempt.id,
        "job": attempt.job,
        "filename": attempt.filename,
        "exporter": attempt.exporter,
        "params": params(&attempt.params),
        "queue": attempt.queue,
        "client": attempt.client,
        "number": attempt.number,
        "submitted": attempt.submitted.rfc3339(),
        "counts_from": attempt.counts_from.rfc3339(),
        "limits": limits(&attempt.limits),
        "ended": record.map(|record| record.ended.rfc3339()),
        "exit_code": record.and_then(|record| record.exit_code),
        "signal": record.and_then(|record| record.signal),
        "peak_memory": record.and_then(|record| record.peak_memory),
        "cpu_used": record.and_then(|record| record.cpu_used).map(|used| used.as_secs_f64()),
        "output_size": record.and_then(|record| record.output_size),
        "drop_reason": record.and_then(|record| record.drop_reason).map(DropReason::name),
        "message": record.and_then(|record| record.message.clone()),
        "detail": record.and_then(|record| record.detail.clone()),
    }));
    fields.extend(common(attempt));
    fields
}

fn limits(limits: &Limits) -> Value {
    serde_json::to_value(limits).unwrap_or_default()
}

fn params(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::from(text))
}

fn time(stamp: Option<Stamp>) -> Option<String> {
    stamp.map(Stamp::rfc3339)
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}
