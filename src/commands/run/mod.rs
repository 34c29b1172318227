//! `pressroom run` (hidden): supervises exactly one attempt and outlives the tick that launched it.
//!
//! The locked file of the attempt comes as stdin and stays open to the end: who can take that lock knows that we are
//! gone (invariant 4). Nothing is cleaned up here; the next tick sweeps what lies in `work/`.

mod finish;
mod oversee;
pub mod setup;

use std::{
    fs::File,
    time::{Duration, Instant},
};

use super::{ending::Ended, tick::CLAIM, world::World};
use crate::{
    cli::{Global, RunArgs},
    config::Exporter,
    exit::{Exit, Failure},
    model::{
        attempt::{AttemptId, Claim, Record},
        clock::{self, Stamp},
        point,
        status::Outcome,
    },
    process::{self, Ending, Order, Process, Reason},
    site::{self, LockNote, PidLife, ProcessId},
    store::{Store, Tx},
};

/// Runs the claimed attempt to its end and records it.
pub fn run(global: &Global, args: &RunArgs) -> Result<(), Failure> {
    let lock = process::become_run()?;
    let begun = clock::since_boot();
    note(&lock, begun, None, None)?; // first of all: a run that hangs later is overdue some day
    point::at("run-started");
    let world = World::load(global)?;
    let attempt = AttemptId::try_from(args.attempt.clone()).map_err(|error| Failure::because(Exit::Usage, error))?;
    let Some(claim) = claim(&world, &attempt)? else {
        return Ok(()); // somebody else ended it
    };
    let run = Run { world: &world, claim: &claim, lock: &lock, begun };
    run.attempt()?;
    world.site.ring();
    Ok(())
}

/// As the tick has handed it over, else as it stands in the database. Either is checked once more by [`setup::order`].
fn claim(world: &World, attempt: &AttemptId) -> Result<Option<Claim>, Failure> {
    let told = std::env::var(CLAIM).ok().and_then(|text| serde_json::from_str::<Claim>(&text).ok());
    if let Some(claim) = told.filter(|claim| claim.attempt == *attempt) {
        return Ok(Some(claim));
    }
    Ok(world.open_store()?.view().claim_of(attempt).map_err(anyhow::Error::from)?)
}

/// What one attempt consists of.
struct Run<'a> {
    world: &'a World,
    claim: &'a Claim,
    lock: &'a File,
    begun: Duration,
}

impl Run<'_> {
    fn attempt(&self) -> Result<(), Failure> {
        let Some(exporter) = self.world.config.exporters.get(&self.claim.exporter) else {
            return self.refuse("its exporter is no longer configured");
        };
        let order = match setup::order(self.world, exporter, self.claim) {
            Ok(order) => order,
            Err(sentence) => return self.refuse(&format!("{sentence:#}")),
        };
        let noted = |leader| {
            point::at("run-forked");
            note(self.lock, self.begun, Some(leader), None)?;
            point::at("run-noted");
            Ok(())
        };
        let leader = match process::spawn(&order, noted) {
            Ok(leader) => leader,
            Err(error) => return self.refuse(&error.to_string()),
        };
        point::at("run-spawned");
        let process = leader.process();
        let mut overseer = oversee::Watch::new(self.world, self.claim, Instant::now());
        let ending = process::supervise(leader, &order, &mut overseer)?;
        // What follows may wait for long, and is not overdue. Unwritten, it has a minute as ever.
        let _ = note(self.lock, self.begun, Some(process), Some(clock::since_boot()));
        point::at("run-exporter-ended");
        let mut store = overseer.into_store()?;
        self.finish(&mut store, exporter, &order, &ending)
    }

    fn finish(&self, store: &mut Store, exporter: &Exporter, order: &Order, ending: &Ending) -> Result<(), Failure> {
        if ending.asked == Some(Reason::Taken) {
            return Ok(());
        }
        let mut record = finish::record(ending, order, Stamp::now());
        if record.outcome == Outcome::Ok
            && let Some(file) = exporter.file()
        {
            return finish::publish(self.world, store, self.claim, file, order, record);
        }
        finish::explain(&mut record, order);
        let ended = Ended { over_work_size: ending.asked == Some(Reason::WorkSize), ..Ended::new(self.claim, &record) };
        finish::patiently(self.world, store, |tx| ended.close(tx, &self.world.config)).map(drop)
    }

    /// The attempt could not be started.
    fn refuse(&self, sentence: &str) -> Result<(), Failure> {
        let took = clock::since_boot().saturating_sub(self.begun);
        let mut record = Record::bare(Outcome::Spawn, Stamp::now(), took);
        record.detail = Some(sentence.to_owned());
        sentence.clone_into(&mut record.log_tail);
        let mut store = finish::open_patiently(self.world)?;
        let close = |tx: &Tx| Ended::new(self.claim, &record).close(tx, &self.world.config);
        finish::patiently(self.world, &mut store, close).map(drop)
    }
}

/// Who we are, for a tick that finds our lock free, or held for too long.
fn note(lock: &File, begun: Duration, leader: Option<Process>, ended: Option<Duration>) -> std::io::Result<()> {
    let id = |process: Process| ProcessId { pid: process.pid, start: process.start };
    let note = LockNote {
        run: Some(id(Process::this()?)),
        leader: leader.map(id),
        leader_session: leader.map(|leader| leader.pid),
        boot_id: site::boot_id()?,
        life: PidLife::here()?,
        since_boot: begun,
        ended,
        ..LockNote::default()
    };
    note.write(lock)
}
