//! `pressroom try`: one export in the foreground under its real limits. Nothing is queued and nothing published.

mod fit;
mod report;

use std::{fs::File, io::Write, path::Path};

use anyhow::Context;

use super::{
    request::{Ask, breaker_of},
    run::setup,
    tick,
    world::World,
};
use crate::{
    cache,
    cli::{Global, TryArgs},
    config::Exporter,
    exit::{Exit, Failure},
    logging,
    model::{
        answer::State,
        attempt::{AttemptId, Claim},
        breaker::Breaker,
        clock::{self, Stamp},
        status::Outcome,
    },
    process::{self, Ending, Order, Overseer, Progress, Wish},
    site::{LockNote, PidLife, ProcessId, Site, boot_id},
};

/// Runs the exporter once; exit 0 if it left an acceptable file, else 70.
pub fn run(global: &Global, args: &TryArgs) -> Result<(), Failure> {
    let world = World::load(global)?;
    Site::open(&world.config).map_err(anyhow::Error::from)?;
    tick::refuse_root(&world, args.allow_root)?;
    let ask = ask(&world, args)?;
    if let Some(problem) = process::cannot_supervise() {
        return Err(Failure::because(Exit::Io, problem));
    }
    let attempt = AttemptId::from(process::new_id()?);
    // Held while we live, so that no tick sweeps the work directory from under us.
    let lock = world.site.new_lock(&attempt).context("cannot make a lock in work/")?;
    let tried = attempt_it(&world, &ask, &attempt, &lock, args);
    let swept = sweep(&world.site, &attempt);
    match tried? {
        Outcome::Ok => {
            if let Err(failure) = close_breaker(&world, ask.exporter) {
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

fn ask<'a>(world: &'a World, args: &TryArgs) -> Result<Ask<'a>, Failure> {
    let pairs = args.values.iter().map(|word| super::request::pair(word)).collect::<Result<Vec<_>, _>>();
    let pairs = pairs.map_err(|sentence| Failure::because(Exit::Usage, sentence))?;
    Ask::check(&world.config, args.exporter.as_encoded_bytes(), &pairs)?.map_err(|refused| {
        let exit = if refused.state == State::Unknown { Exit::Usage } else { Exit::BadValue };
        Failure::because(exit, refused.reason.unwrap_or_default())
    })
}

fn attempt_it(world: &World, ask: &Ask, attempt: &AttemptId, lock: &File, args: &TryArgs) -> Result<Outcome, Failure> {
    process::become_trial()?;
    let claim = claim(world, ask, attempt)?;
    let order = setup::order(world, ask.exporter, &claim).map_err(|error| Failure::new(Exit::Failed, error))?;
    let leader = process::spawn(&order, |leader| note(lock, leader));
    let leader = leader.map_err(|error| Failure::because(Exit::Failed, error))?;
    let ending = process::supervise(leader, &order, &mut Aloud)?;
    let (outcome, why) = verdict(ask, &order, &ending);
    report::print(outcome, why.as_deref(), &ending, &order);
    if let (Outcome::Ok, Some(to), Some(out)) = (outcome, &args.output, &order.output) {
        keep(out, to)?;
    }
    Ok(outcome)
}

/// What works is started again. A database that cannot be written does not make the trial a failure.
fn close_breaker(world: &World, exporter: &Exporter) -> Result<(), Failure> {
    let now = Stamp::now();
    if breaker_of(&world.view_store()?.view(), exporter, now)? == Breaker::Closed {
        return Ok(());
    }
    world.open_store()?.immediate(|tx| Ok(tx.close_breaker(&exporter.name, now)?))?;
    world.site.ring();
    println!("\nthe breaker of exporter {} is closed: its jobs are started again", exporter.name);
    Ok(())
}

/// The claim that a job for this file would have.
fn claim(world: &World, ask: &Ask, attempt: &AttemptId) -> Result<Claim, Failure> {
    let now = Stamp::now();
    let source = super::request::source_of(&world.config, ask)?.map(|source| source.filename);
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
fn note(lock: &File, leader: process::Process) -> std::io::Result<()> {
    let id = |process: process::Process| ProcessId { pid: process.pid, start: process.start };
    let note = LockNote {
        run: Some(id(process::Process::this()?)),
        leader: Some(id(leader)),
        leader_session: Some(leader.pid),
        boot_id: boot_id()?,
        life: PidLife::here()?,
        since_boot: clock::since_boot(),
        ended: None,
        ..LockNote::default()
    };
    note.write(lock)
}

fn verdict(ask: &Ask, order: &Order, ending: &Ending) -> (Outcome, Option<String>) {
    let outcome = process::classify(ending, &order.limits);
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
    fn look(&mut self, _progress: &Progress) -> Wish {
        Wish::GoOn
    }

    fn said(&mut self, bytes: &[u8]) {
        let _ = std::io::stderr().write_all(bytes);
    }
}
