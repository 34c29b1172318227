//! `pressroom tick`: reap ▸ prune ▸ schedule ▸ claim ▸ launch ▸ report, under `tick.lock`.
//!
//! Locks, in this order: `tick.next` (a waiting successor only), `tick.lock` for every step but never for an exporter's
//! run, the lock of an attempt that is reaped or swept (never waited for), the database's write lock. A claim makes the
//! lock of its new attempt inside the write transaction: nobody else can hold that one yet.
//!
//! What a crash leaves, and who puts it right: before the claims are committed, lock files without a row (the sweep
//! removes them); between the commit and a launch, started rows whose lock is free (reaped); after a launch the run holds
//! the lock. Reaping records the result first, then the sweep removes the work directory and last the lock file. A
//! schedule's job and its next time are one transaction. What was reported and not marked so is reported again.
//!
//! A step that fails for one job is reported and never stops the others (invariant 10). A dry run carries out the same
//! round on a private copy of the database and notes what it would do besides: the code that acts decides what it prints.

mod claim;
pub mod clock;
pub mod database;
mod dry_run;
pub mod expire;
mod history;
mod launch;
mod linger;
mod notify;
mod plan;
pub mod prune;
mod ready;
mod reap;
mod reload;
mod report;
mod round;
mod schedule;
pub mod seats;
pub mod standstill;
mod sweep;
mod wake;

use std::{fs::File, process::Child, time::Duration};

use anyhow::Context as _;
use nix::unistd::Uid;

use super::{
    cli::{Global, TickArgs},
    context::Context,
    exit::{Exit, Failure},
    logging,
    model::{clock::Stamp, failpoint},
    site::{Site, machine_id},
    store::Store,
    supervise::hear_children,
    tick::round::{Round, RoundKind, Trouble, expect_lock},
};

/// One round, if no other tick is at work.
pub fn run(global: &Global, args: &TickArgs) -> Result<(), Failure> {
    hear_children()?;
    let context = Context::load(global)?;
    Site::open(&context.config).map_err(anyhow::Error::from)?;
    if args.dry_run {
        dry_run::run(&context, args.format)?;
        return unless_broken(&context);
    }
    refuse_root(&context, args.allow_root)?;
    if args.accept_clock {
        accept_clock(&context)?;
    }
    let signals = wake::StopSignals::hold()?;
    let mut force = reload::InForce::of(context);
    let left = match args.linger {
        Some(time) => linger::stay(&mut force, time, signals)?,
        None => once(&force.context, signals)?,
    };
    if args.wait && launch::wait_for(left.children) {
        launch::tell_returned(&force.context)?;
    }
    if left.cannot_start { Err(Failure::code(Exit::Io)) } else { unless_broken(&force.context) }
}

/// What is left of the rounds of a tick.
#[derive(Default)]
struct Left {
    /// Runs that have not ended yet.
    children: Vec<Child>,
    /// The machine has let nothing be started at last.
    cannot_start: bool,
}

/// For the next full round, of whichever tick.
fn accept_clock(context: &Context) -> Result<(), Failure> {
    let accepted = context.site.accept_clock(clock::here(Stamp::now()));
    Ok(accepted.with_context(|| format!("cannot write {}", context.site.accepted_clock().display()))?)
}

/// With no exporter that can be run the rounds have only cleaned up.
fn unless_broken(context: &Context) -> Result<(), Failure> {
    if context.config.is_wholly_broken() { Err(Failure::code(Exit::Config)) } else { Ok(()) }
}

/// A plain tick: if another one is at work, there is nothing to do.
fn once(context: &Context, signals: wake::StopSignals) -> Result<Left, Failure> {
    let lock = context.site.take_tick().with_context(|| format!("cannot lock {}", context.site.tick_lock().display()));
    let lock = lock.map_err(|error| context.instead(error.into(), None))?;
    let Some(lock) = lock else { return Ok(Left::default()) };
    let mut store = open_store(context, &lock)?;
    let mut round = Round::new(context, &mut store, Some(&lock), RoundKind::First { stays: Duration::ZERO });
    round.go();
    let left = Left { children: round.children, cannot_start: round.trouble == Trouble::NothingStarts };
    signals.let_go()?;
    Ok(left)
}

/// For who holds the tick's lock. On a disk without any space files that have expired make some first. What the
/// configuration holds back is told once, before the first round.
fn open_store(context: &Context, lock: &File) -> Result<Store, Failure> {
    let store = match context.open_store_for_tick() {
        Err(_) if prune::is_full(context) && prune::free_without_database(context, lock) => {
            context.open_store_for_tick()?
        }
        opened => opened?,
    };
    let mut store = store;
    context.keep_activity(&mut store);
    store.expect_machine(&machine_id()).map_err(|error| Failure::new(Exit::Config, error))?;
    tell_broken(context);
    Ok(store)
}

fn tell_broken(context: &Context) {
    for (name, why) in context.config.broken() {
        logging::diagnostic_line(format!("exporter {name}: {why}; its jobs wait, run `pressroom check`"));
    }
}

/// Refuses root, naming the user to become, unless that was asked for and the site is root's.
pub fn refuse_root(context: &Context, allowed: bool) -> Result<(), Failure> {
    if !Uid::effective().is_root() {
        return Ok(());
    }
    let advice = match context.site.owner() {
        // Whatever root leaves there the owner could neither publish into nor sweep.
        Ok(owner) if !context.site.is_owner() => format!("become {owner}"),
        _ if allowed => return Ok(()),
        _ => "become the user of the crontab, or give --allow-root in a container".to_owned(),
    };
    Err(Failure::because(Exit::Config, format!("exporters must not run as root; {advice}")))
}

impl Round<'_> {
    /// Every step, whatever becomes of the ones before it.
    pub fn go(&mut self) {
        if let Err(error) = expect_lock(self.context, self.lock) {
            self.lost_lock = true;
            logging::diagnostic_line(error);
            return;
        }
        if !self.is_light() {
            self.step("database", database::adopt_replaced); // before the clock's look, which marks the round and may heal its stamps
        }
        self.decide();
        self.step("endings", report::endings);
        self.step("failures", report::failures);
        self.step("successes", report::successes);
        if !self.is_light() {
            failpoint::at("tick-before-mark");
            self.step("actions", report::actions);
            self.step("sample", history::sample);
            self.step("mark", clock::mark);
            self.step("shrink", history::shrink);
            failpoint::at("tick-before-checkpoint");
            self.step("checkpoint", |round| Ok(round.store.checkpoint()?));
        }
        self.tell();
    }

    /// Which jobs end, go and start. A dry run leaves out what decides about none.
    fn decide(&mut self) {
        self.step("clock", clock::look);
        failpoint::at("tick-before-reap");
        if !self.is_light() && !self.is_plan() {
            self.step("returned", launch::take_back);
        }
        self.step("reap", reap::all);
        self.step("patrol", database::patrol);
        if !self.is_light() {
            self.step("prune", prune::files);
            self.step("expire", expire::rows);
            if !self.is_plan() {
                self.step("sweep", sweep::all);
                self.step("history", history::trim); // last: what others have left takes more room than what it tells
            }
            self.step("move", ready::move_homeless);
        }
        schedule::due(self);
        self.step("wake", ready::wake);
        failpoint::at("tick-before-claim");
        self.step("claim", claim::fill_seats);
        self.step("unreadable rows", database::remove_met);
    }
}
