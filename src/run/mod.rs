//! `pressroom run` (hidden): supervises exactly one attempt and outlives the tick that launched it.
//!
//! The protocol. The locked file of the attempt comes as stdin and stays open to the end: who can take that lock knows that
//! we are gone (invariant 4). In this order: our own number goes into the lock file; the configuration is read; the work
//! directory is made; the exporter is forked, its number goes into the lock file, and only then it may execute; it is
//! supervised until the last of its tree has ended; its file is made complete under a second name in the cache; one
//! transaction checks that the attempt is still ours, gives the file its name and brings the row to what comes next.
//!
//! Killed before the fork, we leave a started row whose lock is free, which is reaped as lost; killed after it, a tree as
//! well, which the tick finds by the lock file and ends first; killed after the rename and before the commit, a published
//! file with a started row, which is reaped as done. Nothing is cleaned up here; the next tick sweeps what lies in `work/`.

pub mod close;
pub mod exec_spec;
mod finish;
mod observer;
mod returned;

use std::{
    fs::File,
    io,
    time::{Duration, Instant},
};

use anyhow::anyhow;

use super::{
    cli::{Global, RunArgs},
    config::Exporter,
    context::Context,
    exit::{Exit, Failure},
    model::{
        clock::{self, Stamp},
        failpoint,
        job::{AttemptId, Claim, Record},
        process::ProcessId,
        status::Outcome,
    },
    run::{close::Closing, returned::NotStarted},
    site::{self, LockMetadata, PidLife},
    store::Store,
    supervise::{self, EndedBy, ExecSpec, Leader, ProcessResult},
};

/// The variable that tells a run its claim.
pub const CLAIM: &str = "PRESSROOM_CLAIM";
/// The variable that tells a run the configuration in force, while the file is broken.
pub const CONFIG: &str = "PRESSROOM_CONFIG_TEXT";

/// Runs the claimed attempt to its end and records it.
pub fn run(global: &Global, args: &RunArgs) -> Result<(), Failure> {
    let (lock, begun) = (supervise::inherited_lock()?, clock::since_boot());
    let attempt = AttemptId::try_from(args.attempt.clone()).map_err(|error| Failure::because(Exit::Usage, error))?;
    let (context, metadata) = match begin(global, &lock, begun) {
        Ok(begun) => begun,
        Err(stop) => return Err(stop.note(&lock, begun)),
    };
    let claim = match claim(&context, &attempt) {
        Ok(Some(claim)) => claim,
        Ok(None) => return Ok(()), // somebody else ended it
        Err(failure) => return Err(NotStarted::from(failure).note(&lock, begun)),
    };
    let run = Run { context: &context, claim: &claim, lock: &lock, begun, metadata: &metadata };
    run.attempt()?;
    context.site.ring();
    Ok(())
}

fn begin(global: &Global, lock: &File, begun: Duration) -> Result<(Context, LockMetadata), NotStarted> {
    supervise::become_run()?;
    let metadata = own_metadata(begun)?;
    metadata.write(lock)?; // first of all: a run that hangs later is overdue some day
    failpoint::at("run-started");
    // A configuration that has been broken since the claim is the tick's to report.
    let text = std::env::var(CONFIG).ok();
    let context = Context::load_or(global, text).map_err(|failure| NotStarted::configuration(failure.error))?;
    Ok((context, metadata))
}

/// As the tick has handed it over, else as it stands in the database. Either is checked once more by [`exec_spec::order`].
fn claim(context: &Context, attempt: &AttemptId) -> Result<Option<Claim>, Failure> {
    let told = std::env::var(CLAIM).ok().and_then(|text| serde_json::from_str::<Claim>(&text).ok());
    if let Some(claim) = told.filter(|claim| claim.attempt == *attempt) {
        return Ok(Some(claim));
    }
    Ok(context.open_store()?.view().claim_of(attempt).map_err(anyhow::Error::from)?)
}

/// What one attempt consists of.
struct Run<'a> {
    context: &'a Context,
    claim: &'a Claim,
    lock: &'a File,
    begun: Duration,
    /// Who we are.
    metadata: &'a LockMetadata,
}

impl Run<'_> {
    fn attempt(&self) -> Result<(), Failure> {
        match self.start() {
            Ok((exporter, order, leader)) => self.supervise(exporter, &order, leader),
            Err(NotStarted::Refused(sentence)) => self.refuse(&sentence),
            Err(stop) => Err(stop.give_back(self.context, self.claim, self.lock, self.begun)),
        }
    }

    fn start(&self) -> Result<(&Exporter, ExecSpec, Leader), NotStarted> {
        let gone = || NotStarted::configuration(Some(anyhow!("its exporter is no longer configured")));
        let exporter = self.context.config.exporters.get(&self.claim.exporter).ok_or_else(gone)?;
        let order = exec_spec::order(self.context, exporter, self.claim)?;
        let noted = |leader| {
            failpoint::at("run-forked");
            leader_metadata(self.metadata, leader, None).write(self.lock)?;
            failpoint::at("run-noted");
            Ok(())
        };
        let leader = supervise::spawn(&order, noted).map_err(|error| NotStarted::not_spawned(&error, &order))?;
        failpoint::at("run-spawned");
        Ok((exporter, order, leader))
    }

    fn supervise(&self, exporter: &Exporter, order: &ExecSpec, leader: Leader) -> Result<(), Failure> {
        let process = leader.process();
        let mut overseer = observer::Observer::new(self.context, self.claim, Instant::now());
        let ending = supervise::supervise(leader, order, &mut overseer)?;
        // What follows may wait for long, and is not overdue. Unwritten, it has a minute as ever.
        let _ = leader_metadata(self.metadata, process, Some(clock::since_boot())).write(self.lock);
        failpoint::at("run-exporter-ended");
        let mut store = overseer.into_store()?;
        self.finish(&mut store, exporter, order, &ending)
    }

    fn finish(
        &self,
        store: &mut Store,
        exporter: &Exporter,
        order: &ExecSpec,
        ending: &ProcessResult,
    ) -> Result<(), Failure> {
        if ending.asked == Some(EndedBy::Taken) {
            return Ok(());
        }
        let mut record = finish::record(ending, order, Stamp::now());
        if record.outcome == Outcome::Ok
            && let Some(file) = exporter.file()
        {
            return finish::publish(self.context, store, self.claim, file, order, record);
        }
        finish::explain(&mut record, order);
        finish::make_room(order);
        let ended =
            Closing { over_work_size: ending.asked == Some(EndedBy::WorkSize), ..Closing::new(self.claim, &record) };
        finish::patiently(self.context, store, |store| ended.close(store, &self.context.config)).map(drop)
    }

    /// The attempt could not be started.
    fn refuse(&self, sentence: &str) -> Result<(), Failure> {
        let took = clock::since_boot().saturating_sub(self.begun);
        let mut record = Record::bare(Outcome::Spawn, Stamp::now(), took);
        record.detail = Some(sentence.to_owned());
        sentence.clone_into(&mut record.log_tail);
        let mut store = finish::open_patiently(self.context)?;
        let close = |store: &mut Store| Closing::new(self.claim, &record).close(store, &self.context.config);
        finish::patiently(self.context, &mut store, close).map(drop)
    }
}

/// Who we are, for a tick that finds our lock free, or held for too long. Looked up once.
fn own_metadata(begun: Duration) -> io::Result<LockMetadata> {
    Ok(LockMetadata {
        run: Some(ProcessId::this()?),
        boot_id: site::boot_id()?,
        life: PidLife::here()?,
        since_boot: begun,
        ..LockMetadata::default()
    })
}

/// The same once there is a leader.
fn leader_metadata(own: &LockMetadata, leader: ProcessId, ended: Option<Duration>) -> LockMetadata {
    LockMetadata { leader: Some(leader), leader_session: Some(leader.pid), ended, ..own.clone() }
}
