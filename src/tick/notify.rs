//! What `notify.command` is given on its stdin: one JSON object for a job, one summary for several. A notice stays until the
//! command has taken it; one that it does not take within a day is given up. A command that does not read, or does not
//! end, holds up no tick for more than ten seconds.

use std::{
    io::{self, ErrorKind, Write},
    os::unix::process::CommandExt,
    process::{Child, ChildStdin, Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use nix::{
    fcntl::{FcntlArg, OFlag, fcntl},
    sys::signal::{Signal, killpg},
    unistd::Pid,
};
use serde_json::{Value, json};

use super::round::Round;
use crate::{
    logging,
    model::{
        client::ClientNames,
        clock::Stamp,
        job::{Attempt, Record},
    },
    store::{Notice, NoticeEvent},
    supervise::with_file_limit,
};

/// So many jobs are in one message. The others follow in later rounds.
const MOST: u32 = 20;
/// What the command has not taken after so long is given up.
const NOTICE_KEEP: Duration = Duration::from_hours(24);
/// The longest pause between two tries.
const LONGEST_PAUSE: Duration = Duration::from_hours(1);
/// So many notices are kept; beyond them the oldest are given up.
const MOST_KEPT: u32 = 10_000;
/// So many are given up at a time.
const BATCH: u32 = 500;

/// Whether somebody wants to hear of failures.
pub fn wants_failures(round: &Round) -> bool {
    round.context.config.notify.as_ref().is_some_and(|notify| notify.on_failed)
}

/// Whether somebody wants to hear of successes.
pub fn wants_successes(round: &Round) -> bool {
    round.context.config.notify.as_ref().is_some_and(|notify| notify.on_ok)
}

/// Tells what is noted: one message about failures and one about successes at most, so that no round takes long.
pub fn hand_over(round: &mut Round) -> anyhow::Result<()> {
    if !round.store.view().has_notices()? {
        return Ok(());
    }
    let wanted = [(NoticeEvent::Failed, wants_failures(round)), (NoticeEvent::Ok, wants_successes(round))];
    let mut is_well = true;
    for (event, wanted) in wanted {
        match wanted {
            // A command that fails is not tried twice in one round.
            true if is_well => is_well = tell(round, event)?,
            false if round.store.view().notices_waiting(event, 1)? > 0 => {
                round.store.forget_notices(event)?;
            }
            _ => {}
        }
    }
    if round.is_light() || !round.clock.is_trusted() { Ok(()) } else { give_up(round) }
}

/// `false`: the command has failed.
fn tell(round: &mut Round, event: NoticeEvent) -> anyhow::Result<bool> {
    let Some(notify) = round.context.config.notify.as_ref() else { return Ok(true) };
    let found = round.store.view().notices_due(event, round.now, MOST)?;
    round.store.remove_notices(&found.unreadable)?;
    let notices = found.readable;
    if notices.is_empty() {
        return Ok(true);
    }
    let message = message(round, event, &notices)?;
    let sent = send(&notify.command, &format!("{message}\n"));
    let now = Stamp::now();
    if sent.is_ok() {
        round.store.remove_notices(&notices.iter().map(|notice| notice.id).collect::<Vec<_>>())?;
    } else {
        let next = |notice: &Notice| (notice.id, now.plus(pause(notice.tries)));
        round.store.put_off_notices(&notices.iter().map(next).collect::<Vec<_>>())?;
    }
    if let Err(error) = &sent {
        let tries = notices.iter().map(|notice| notice.tries).min().unwrap_or(0);
        let again = crate::model::format::duration(pause(tries));
        round.problem(format!("notify.command: {error}; it is tried again in {again}"));
    }
    Ok(sent.is_ok())
}

/// The pause after one more failure.
fn pause(tries: u32) -> Duration {
    Duration::from_mins(1 << tries.min(6)).min(LONGEST_PAUSE)
}

fn give_up(round: &mut Round) -> anyhow::Result<()> {
    let (before, latest) = (round.now.minus(NOTICE_KEEP), Stamp::now().plus(LONGEST_PAUSE));
    let lost = round.store.give_up_notices(before, latest, MOST_KEPT, BATCH)?;
    if lost > 0 {
        let what = crate::model::format::count(lost as u64, "job");
        logging::diagnostic_line(format!("notify.command has not taken what it was told about {what}: given up"));
    }
    Ok(())
}

/// All of them, and how many there are with those that follow later.
fn message(round: &Round, event: NoticeEvent, notices: &[Notice]) -> anyhow::Result<Value> {
    let view = round.store.view();
    let are_plain = round.context.config.client_names == ClientNames::Plain;
    let mut jobs = Vec::with_capacity(notices.len());
    for notice in notices {
        let last = last_attempt(round, notice)?;
        let mut job = match event {
            NoticeEvent::Failed => failure(notice, last.as_ref()),
            NoticeEvent::Ok => success(notice, last.as_ref()),
        };
        if are_plain {
            job["client"] = json!(notice.client);
        }
        jobs.push(job);
    }
    let waiting = view.notices_waiting(event, MOST_KEPT)?;
    Ok(folded(event.name(), jobs, waiting.saturating_sub(notices.len() as u64)))
}

/// The one that tells more, or its source's if it has failed with that.
pub fn last_attempt(round: &Round, notice: &Notice) -> anyhow::Result<Option<Attempt>> {
    let view = round.store.view();
    match (&notice.attempt, &notice.source) {
        (Some(id), _) => Ok(view.attempt(id)?),
        (None, Some(source)) => Ok(view.attempts_of(source, 1)?.pop()),
        (None, None) => Ok(None),
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

fn failure(notice: &Notice, last: Option<&Attempt>) -> Value {
    let record = last.and_then(|attempt| attempt.record.as_ref());
    json!({
        "event": "failed",
        "job": notice.job,
        "filename": notice.filename,
        "exporter": notice.exporter,
        "params": params(&notice.params),
        "queue": notice.queue,
        "status": notice.status.map(crate::model::status::Status::name),
        "result": notice.result.name(),
        "attempt": notice.attempt,
        "attempts": notice.attempts,
        "exit_code": record.and_then(|record| record.exit_code),
        "signal": record.and_then(|record| record.signal),
        "detail": record.and_then(|record| record.detail.clone()),
        "log_tail": record.map(|record| record.log_tail.clone()),
    })
}

fn success(notice: &Notice, attempt: Option<&Attempt>) -> Value {
    let record = attempt.and_then(|attempt| attempt.record.as_ref());
    json!({
        "event": "ok",
        "job": notice.job,
        "filename": notice.filename,
        "exporter": notice.exporter,
        "params": params(&notice.params),
        "queue": notice.queue,
        "result": "ok",
        "attempt": notice.attempt,
        "attempts": notice.attempts,
        "duration": record.map(|record| record.duration.as_secs_f64()),
        "size": record.and_then(|record: &Record| record.output_size),
    })
}

fn params(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_default()
}

const COMMAND_LIMIT: Duration = Duration::from_secs(10);
const COMMAND_LOOK: Duration = Duration::from_millis(10);

/// Runs the command in a process group of its own, which is ended after ten seconds.
pub fn send(command: &[String], message: &str) -> io::Result<()> {
    let (program, args) = command.split_first().ok_or_else(|| io::Error::other("it is empty"))?;
    let mut command = Command::new(program);
    command.args(args).process_group(0).stdin(Stdio::piped()).stdout(Stdio::null());
    let mut child = with_file_limit(|| command.spawn())?;
    let sent = deliver(&mut child, message.as_bytes());
    if !matches!(sent, Ok(true)) {
        let group = i32::try_from(child.id()).map_err(io::Error::other)?;
        // It is not reaped yet, so its number is still its own.
        let _ = killpg(Pid::from_raw(group), Signal::SIGKILL);
        child.wait()?;
    }
    if sent? { Ok(()) } else { Err(io::Error::other("it took more than 10 s and was ended")) }
}

/// `false`: the time is over. What is not read is no fault of the message.
fn deliver(child: &mut Child, mut rest: &[u8]) -> io::Result<bool> {
    let mut stdin = child.stdin.take();
    if let Some(stdin) = &stdin {
        fcntl(stdin, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
    }
    let end = Instant::now() + COMMAND_LIMIT;
    while Instant::now() < end {
        if !feed(stdin.as_mut(), &mut rest) {
            stdin = None;
        }
        if let Some(status) = child.try_wait()? {
            return if status.success() { Ok(true) } else { Err(io::Error::other(status.to_string())) };
        }
        sleep(COMMAND_LOOK);
    }
    Ok(false)
}

/// Writes what the pipe takes. `false`: that was all, or nobody reads any more.
fn feed(stdin: Option<&mut ChildStdin>, rest: &mut &[u8]) -> bool {
    let Some(stdin) = stdin else { return false };
    while !rest.is_empty() {
        match stdin.write(rest) {
            Ok(length) => *rest = &rest[length..],
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return error.kind() == ErrorKind::WouldBlock,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_job_is_told_as_itself_and_several_without_their_logs() {
        let job = || json!({ "event": "failed", "job": 1, "log_tail": "why" });
        assert_eq!(folded("failed", vec![job()], 0), job());
        let short = json!({ "event": "failed", "job": 1 });
        let burst = json!({ "event": "failed", "count": 5, "jobs": [short, short] });
        assert_eq!(folded("failed", vec![job(), job()], 3), burst);
    }

    #[test]
    fn the_pauses_grow_from_a_minute_to_an_hour() {
        let minutes = |tries| pause(tries).as_secs() / 60;
        assert_eq!([0, 1, 2, 5, 6, 1_000_000].map(minutes), [1, 2, 4, 32, 60, 60]);
    }
}
