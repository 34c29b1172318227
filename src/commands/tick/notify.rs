//! `notify.command`: one JSON object on its stdin, ten seconds at most.

use std::{
    io::Write,
    process::{Child, Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::{Round, report::Failed};
use crate::config::Notify;

const LIMIT: Duration = Duration::from_secs(10);

/// Tells about a round's failures: one job as itself, a burst as one summary.
pub fn failures(round: &mut Round, failed: &[Failed], rest: u64) {
    let Some(notify) = round.world.config.notify.as_ref().filter(|notify| notify.on_failed && !failed.is_empty())
    else {
        return;
    };
    let jobs: Vec<Value> = failed.iter().map(about).collect();
    let message = match &jobs[..] {
        [one] if rest == 0 => one.clone(),
        many => json!({ "event": "failed", "count": many.len() as u64 + rest, "jobs": many }),
    };
    if let Err(error) = send(notify, &message) {
        round.problem(format!("notify.command: {error}"));
    }
}

fn about((job, last): &Failed) -> Value {
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

fn send(notify: &Notify, message: &Value) -> std::io::Result<()> {
    let (program, args) = notify.command.split_first().ok_or_else(|| std::io::Error::other("it is empty"))?;
    let mut child = Command::new(program).args(args).stdin(Stdio::piped()).stdout(Stdio::null()).spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        // A command that does not read is no fault of the message: the pipe holds 64 KiB and is then closed.
        let text: String = format!("{message}\n").chars().take(60_000).collect();
        let _ = stdin.write_all(text.as_bytes());
    }
    wait(&mut child)
}

fn wait(child: &mut Child) -> std::io::Result<()> {
    let end = Instant::now() + LIMIT;
    while Instant::now() < end {
        if let Some(status) = child.try_wait()? {
            return if status.success() { Ok(()) } else { Err(std::io::Error::other(status.to_string())) };
        }
        sleep(Duration::from_millis(20));
    }
    child.kill()?;
    child.wait()?;
    Err(std::io::Error::other("it took more than 10 s and was ended"))
}
