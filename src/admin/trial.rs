//! `pressroom try`: one export in the foreground under its real limits. Nothing is queued and nothing published.
//!
//! At its end it says how it went, what was used of what was allowed, and which limits would leave room for a busier
//! machine and a somewhat larger job.

use std::{fs::File, io::Write, path::Path, time::Duration};

use anyhow::Context as _;

use crate::{
    cache,
    cli::{Global, TryArgs},
    config::Exporter,
    context::Context,
    exit::{Exit, Failure},
    logging,
    model::{
        answer::State,
        breaker::Breaker,
        clock::{self, Stamp},
        format,
        job::{AttemptId, Claim},
        limits::Limits,
        process::ProcessId,
        status::Outcome,
    },
    request::{Ask, AskError, breaker_of},
    run::exec_spec,
    site::{LockMetadata, PidLife, Site, boot_id},
    supervise::{self, ExecSpec, Overseer, ProcessResult, Progress, StopOrder},
    tick,
};

/// Runs the exporter once; exit 0 if it left an acceptable file, else 70.
pub fn run(global: &Global, args: &TryArgs) -> Result<(), Failure> {
    let context = Context::load(global)?;
    Site::open(&context.config).map_err(anyhow::Error::from)?;
    tick::refuse_root(&context, args.allow_root)?;
    let ask = ask(&context, args)?;
    if let Some(problem) = supervise::cannot_supervise() {
        return Err(Failure::because(Exit::Io, problem));
    }
    let attempt = AttemptId::from(supervise::new_id()?);
    // Held while we live, so that no tick sweeps the work directory from under us.
    let lock = context.site.new_lock(&attempt).context("cannot make a lock in work/")?;
    let tried = attempt_it(&context, &ask, &attempt, &lock, args);
    let swept = sweep(&context.site, &attempt);
    match tried? {
        Outcome::Ok => {
            if let Err(failure) = close_breaker(&context, ask.exporter) {
                let why = failure.error.map(|error| format!("{error:#}")).unwrap_or_default();
                logging::diagnostic(format!("the breaker of {} stays as it is: {why}", ask.exporter.name));
            }
            Ok(swept?)
        }
        _ => Err(Failure::code(Exit::Failed)),
    }
}

/// What cannot be removed is the next tick's.
fn sweep(site: &Site, attempt: &AttemptId) -> anyhow::Result<()> {
    site.remove_work(attempt)
        .and_then(|()| site.remove_log(attempt))
        .and_then(|()| site.remove_lock(attempt))
        .with_context(|| format!("cannot remove {}", site.work_of(attempt).display()))
}

fn ask<'a>(context: &'a Context, args: &TryArgs) -> Result<Ask<'a>, Failure> {
    let pairs = args.values.iter().map(|word| crate::request::pair(word)).collect::<Result<Vec<_>, _>>();
    let pairs = pairs.map_err(|sentence| Failure::because(Exit::Usage, sentence))?;
    Ask::check(&context.config, args.exporter.as_encoded_bytes(), &pairs).map_err(|error| match error {
        AskError::Failed(failure) => failure,
        AskError::Refused(answer) => {
            let exit = if answer.state == State::Unknown { Exit::Usage } else { Exit::BadValue };
            Failure::because(exit, answer.reason.unwrap_or_default())
        }
    })
}

fn attempt_it(
    context: &Context,
    ask: &Ask,
    attempt: &AttemptId,
    lock: &File,
    args: &TryArgs,
) -> Result<Outcome, Failure> {
    supervise::become_trial()?;
    let claim = claim(context, ask, attempt)?;
    let order = exec_spec::order(context, ask.exporter, &claim).map_err(|error| Failure::new(Exit::Failed, error))?;
    let leader = supervise::spawn(&order, |leader| note(lock, leader));
    let leader = leader.map_err(|error| Failure::because(Exit::Failed, error))?;
    let ending = supervise::supervise(leader, &order, &mut Aloud)?;
    let (outcome, why) = verdict(ask, &order, &ending);
    print_report(outcome, why.as_deref(), &ending, &order);
    if let (Outcome::Ok, Some(to), Some(out)) = (outcome, &args.output, &order.output) {
        keep(out, to)?;
    }
    Ok(outcome)
}

/// What works is started again. A database that cannot be written does not make the trial a failure.
fn close_breaker(context: &Context, exporter: &Exporter) -> Result<(), Failure> {
    let now = Stamp::now();
    if breaker_of(&context.view_store()?.view(), exporter, now)? == Breaker::Closed {
        return Ok(());
    }
    context.open_store()?.end_breaker(&exporter.name, now)?;
    context.site.ring();
    println!("\nthe breaker of exporter {} is closed: its jobs are started again", exporter.name);
    Ok(())
}

/// The claim that a job for this file would have.
fn claim(context: &Context, ask: &Ask, attempt: &AttemptId) -> Result<Claim, Failure> {
    let now = Stamp::now();
    let source = crate::request::source_of(&context.config, ask)?.map(|source| source.filename);
    Ok(Claim {
        job: 0,
        attempt: attempt.clone(),
        filename: ask.filename.clone(),
        exporter: ask.exporter.name.clone(),
        params: ask.values.to_json(),
        queue: ask.exporter.queue.clone(),
        number: 1,
        submitted: now,
        started: now,
        limits: ask.exporter.limits.clone(),
        source,
        client: None,
    })
}

/// For the next tick, should we be killed: whom to end before it sweeps.
fn note(lock: &File, leader: ProcessId) -> std::io::Result<()> {
    let note = LockMetadata {
        run: Some(ProcessId::this()?),
        leader: Some(leader),
        leader_session: Some(leader.pid),
        boot_id: boot_id()?,
        life: PidLife::here()?,
        since_boot: clock::since_boot(),
        ended: None,
        ..LockMetadata::default()
    };
    note.write(lock)
}

fn verdict(ask: &Ask, order: &ExecSpec, ending: &ProcessResult) -> (Outcome, Option<String>) {
    let outcome = supervise::classify(ending, &order.limits);
    let (Outcome::Ok, Some(rules), Some(out)) = (outcome, ask.exporter.file(), &order.output) else {
        return (outcome, None);
    };
    match cache::accept(out, rules, order.limits.file_size) {
        Ok(_) => (Outcome::Ok, None),
        Err(refusal) => (refusal.outcome(), Some(refusal.to_string())),
    }
}

fn keep(out: &Path, to: &Path) -> Result<(), Failure> {
    std::fs::copy(out, to)
        .map(drop)
        .map_err(|error| Failure::because(Exit::Io, format!("cannot write {}: {error}", to.display())))
}

/// The exporter's output goes to stderr as it comes; stdout is for the report.
struct Aloud;

impl Overseer for Aloud {
    fn look(&mut self, _progress: &Progress) -> StopOrder {
        StopOrder::GoOn
    }

    fn said(&mut self, bytes: &[u8]) {
        let _ = std::io::stderr().write_all(bytes);
    }
}

/// Prints the report on stdout.
pub fn print_report(outcome: Outcome, why: Option<&str>, ending: &ProcessResult, order: &ExecSpec) {
    println!("result: {}{}", outcome.name(), details(why, ending));
    let limits = &order.limits;
    println!("time: {} of {}", seconds(ending.duration), humantime::format_duration(limits.timeout));
    println!(
        "cpu: {} of {}",
        seconds(ending.cpu_used),
        limits.cpu.map_or("none".into(), |cpu| humantime::format_duration(cpu).to_string())
    );
    println!("memory: {} of {}", format::bytes(ending.peak_memory), limit(limits.memory));
    println!("largest file: {} of {}", format::bytes(ending.largest_file), limit(limits.file_size));
    println!("work directory: {} of {}", format::bytes(ending.peak_work), limit(limits.work_size));
    println!("processes: {}", ending.peak_processes);
    if outcome == Outcome::Ok {
        println!("\nlimits that would fit a job of this size:\n{}", fitting(ending, limits));
    }
}

fn details(why: Option<&str>, ending: &ProcessResult) -> String {
    let code = ending.exit_code.filter(|code| *code != 0).map(|code| format!(", exit status {code}"));
    let signal = ending.signal.map(|signal| format!(", signal {signal}"));
    let parts =
        [code, signal, why.map(|why| format!(", {why}")), ending.message.as_ref().map(|text| format!(", \"{text}\""))];
    parts.into_iter().flatten().collect()
}

/// In the words of the configuration, ready to be copied.
fn fitting(ending: &ProcessResult, limits: &Limits) -> String {
    let mut lines = vec![
        format!("timeout = \"{}\"", humantime::format_duration(fitting_time(ending.duration))),
        format!("limits.memory = \"{}\"", fitting_size(ending.peak_memory)),
        format!("limits.cpu = \"{}\"", humantime::format_duration(fitting_time(ending.cpu_used))),
    ];
    if limits.file_size.is_some() {
        lines.push(format!("limits.file_size = \"{}\"", fitting_size(ending.largest_file)));
    }
    if limits.work_size.is_some() {
        lines.push(format!("limits.work_size = \"{}\"", fitting_size(ending.peak_work)));
    }
    lines.join("\n")
}

fn seconds(duration: Duration) -> String {
    format!("{:.1} s", duration.as_secs_f64())
}

fn limit(bytes: Option<u64>) -> String {
    bytes.map_or_else(|| "none".to_owned(), format::size)
}

const MB: u64 = 1_000_000;
/// Memory and sizes: twice the peak.
const SIZE_ROOM: u64 = 2;
/// Times: on busy cores two to four times as much has been seen.
const TIME_ROOM: u32 = 4;

/// A size in the configuration's words, at least 16 MB.
pub fn fitting_size(used: u64) -> String {
    let megabytes = (used * SIZE_ROOM).div_ceil(MB).max(16);
    format!("{}MB", nice(megabytes))
}

/// A duration of whole seconds, at least ten.
pub fn fitting_time(used: Duration) -> Duration {
    let whole = u64::try_from((used * TIME_ROOM).as_millis().div_ceil(1000)).unwrap_or(u64::MAX);
    Duration::from_secs(nice(whole.max(10)))
}

/// Up to the next number with at most two digits that count, in steps of five.
fn nice(number: u64) -> u64 {
    let step = if number < 100 { 1 } else { 5 * 10_u64.pow(number.ilog10() - 1) / 5 };
    let step = if number < 20 { 1 } else { step.max(5) };
    number.div_ceil(step) * step
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggestions_are_round_and_never_below_twice_the_use() {
        assert_eq!(fitting_size(0), "16MB");
        assert_eq!(fitting_size(312_000_000), "630MB");
        assert_eq!(fitting_time(Duration::from_millis(300)), Duration::from_secs(10));
        assert_eq!(fitting_time(Duration::from_secs(13)), Duration::from_secs(55));
        for used in 1..5000 {
            assert!(nice(used) >= used && nice(used) <= used + used / 4 + 1, "{used}");
        }
    }
}
