//! What `notify.command` is told: one JSON object for a job, one summary for a burst.

use serde_json::{Value, json};

use super::{Round, messenger, report::Failed};
use crate::{
    config::Notify,
    model::attempt::{Attempt, Record},
};

/// Tells about a round's failures, of which the first are given and the rest are only counted.
pub fn failures(round: &mut Round, failed: &[Failed], rest: u64) {
    let wanted = |notify: &&Notify| notify.on_failed && !failed.is_empty();
    if let Some(notify) = round.world.config.notify.as_ref().filter(wanted) {
        let jobs = failed.iter().map(failure).collect();
        tell(round, notify, &folded("failed", jobs, rest));
    }
}

/// Whether somebody wants to hear of successes.
pub fn wants_successes(round: &Round) -> bool {
    round.world.config.notify.as_ref().is_some_and(|notify| notify.on_ok)
}

/// Tells about successes, of which the first are given and the rest are only counted.
pub fn successes(round: &mut Round, made: &[Attempt], rest: u64) {
    if let Some(notify) = round.world.config.notify.as_ref().filter(|notify| notify.on_ok && !made.is_empty()) {
        let jobs = made.iter().map(success).collect();
        tell(round, notify, &folded("ok", jobs, rest));
    }
}

fn tell(round: &mut Round, notify: &Notify, message: &Value) {
    if let Err(error) = messenger::send(&notify.command, &format!("{message}\n")) {
        round.problem(format!("notify.command: {error}"));
    }
}

/// Several jobs are one message, without their logs.
fn folded(event: &str, mut jobs: Vec<Value>, rest: u64) -> Value {
    if jobs.len() == 1 && rest == 0 {
        return jobs.remove(0);
    }
    for job in jobs.iter_mut().filter_map(Value::as_object_mut) {
        job.remove("log_tail");
    }
    json!({ "event": event, "count": jobs.len() as u64 + rest, "jobs": jobs })
}

fn failure((job, last): &Failed) -> Value {
    let record = last.as_ref().and_then(|attempt| attempt.record.as_ref());
    json!({
        "event": "failed",
        "job": job.id,
        "filename": job.filename,
        "exporter": job.exporter,
        "status": job.status.name(),
        "result": job.result,
        "attempt": job.attempt,
        "attempts": job.attempts,
        "exit_code": record.and_then(|record| record.exit_code),
        "signal": record.and_then(|record| record.signal),
        "detail": record.and_then(|record| record.detail.clone()),
        "log_tail": record.map(|record| record.log_tail.clone()),
    })
}

fn success(attempt: &Attempt) -> Value {
    let record = attempt.record.as_ref();
    json!({
        "event": "ok",
        "job": attempt.job,
        "filename": attempt.filename,
        "exporter": attempt.exporter,
        "result": "ok",
        "attempt": attempt.id,
        "attempts": attempt.number,
        "duration": record.map(|record| record.duration.as_secs_f64()),
        "size": record.and_then(|record: &Record| record.output_size),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_job_is_told_as_itself_and_a_burst_without_its_logs() {
        let job = || json!({ "event": "failed", "job": 1, "log_tail": "why" });
        assert_eq!(folded("failed", vec![job()], 0), job());
        let short = json!({ "event": "failed", "job": 1 });
        let burst = json!({ "event": "failed", "count": 5, "jobs": [short, short] });
        assert_eq!(folded("failed", vec![job(), job()], 3), burst);
    }
}
