//! `pressroom tick`: reap ▸ prune ▸ schedule ▸ claim ▸ launch ▸ report, under `tick.lock`.
//!
//! The lock covers these steps and never an exporter's run. A step that fails for one job is reported and never stops
//! the others (invariant 10).

mod claim;
pub mod clock;
mod dry;
mod expire;
mod launch;
mod notify;
mod prune;
mod reap;
mod report;
mod root;
pub mod seats;
mod sweep;

use std::process::Child;

use super::world::World;
use crate::{
    cli::{Global, TickArgs},
    exit::{Exit, Failure},
    model::{clock::Stamp, point},
    site::{Site, machine_id},
    store::Store,
};

/// One round, if no other tick is at work.
pub fn run(global: &Global, args: &TickArgs) -> Result<(), Failure> {
    let world = World::load(global)?;
    Site::open(&world.config).map_err(anyhow::Error::from)?;
    root::refuse(&world, args.allow_root)?;
    if args.dry_run {
        return dry::run(&world);
    }
    let Some(lock) = world.site.take_tick()? else { return Ok(()) };
    let mut store = world.open_store()?;
    store.expect_machine(&machine_id()).map_err(|error| Failure::new(Exit::Config, error))?;
    let mut round = Round::new(&world, &mut store);
    round.go()?;
    let children = round.children;
    drop((store, lock));
    if args.wait {
        launch::wait_for(children);
    }
    Ok(())
}

/// One round: its moment, what it may touch, and what it has to say at its end.
pub struct Round<'a> {
    world: &'a World,
    store: &'a mut Store,
    now: Stamp,
    /// After a jump of the clock or a long silence nothing is expired in the first round (invariant 11).
    calm: bool,
    problems: Vec<String>,
    children: Vec<Child>,
}

impl<'a> Round<'a> {
    pub fn new(world: &'a World, store: &'a mut Store) -> Self {
        let (problems, children) = (Vec::new(), Vec::new());
        Self { world, store, now: Stamp::now(), calm: false, problems, children }
    }

    /// Every step, whatever becomes of the ones before it. Only a database that cannot be used ends it early.
    pub fn go(&mut self) -> Result<(), Failure> {
        self.calm = clock::jumped(self)?;
        point::at("tick-before-reap");
        self.step("reap", reap::all);
        self.step("prune", prune::files);
        self.step("expire", expire::rows);
        self.step("sweep", sweep::all);
        point::at("tick-before-claim");
        self.step("claim", claim::fill_seats);
        self.step("report", report::failures);
        self.step("mark", clock::mark);
        self.step("checkpoint", |round| Ok(round.store.checkpoint()?));
        self.tell();
        Ok(())
    }

    fn step(&mut self, name: &str, step: impl FnOnce(&mut Self) -> anyhow::Result<()>) {
        if let Err(error) = step(self) {
            self.problem(format!("{name}: {error:#}"));
        }
    }

    fn problem(&mut self, sentence: String) {
        self.problems.push(sentence);
    }

    /// On stderr, so that cron mails it.
    fn tell(&mut self) {
        for problem in self.problems.drain(..) {
            eprintln!("pressroom: {problem}");
        }
    }
}
