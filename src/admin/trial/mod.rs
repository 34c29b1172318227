//! `pressroom try`: one export in the foreground under its real limits. Nothing is queued and nothing published.

mod fit;
mod report;

use std::{fs::File, io::Write, path::Path};

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
        attempt::{AttemptId, Claim},
        breaker::Breaker,
        clock::{self, Stamp},
        job::Outcome,
        process::ProcessId,
    },
    request::{Ask, breaker_of},
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
    Ask::check(&context.config, args.exporter.as_encoded_bytes(), &pairs)?.map_err(|refused| {
        let exit = if refused.state == State::Unknown { Exit::Usage } else { Exit::BadValue };
        Failure::because(exit, refused.reason.unwrap_or_default())
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
    report::print(outcome, why.as_deref(), &ending, &order);
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
    context.open_store()?.immediate(|tx| Ok(tx.close_breaker(&exporter.name, now)?))?;
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
