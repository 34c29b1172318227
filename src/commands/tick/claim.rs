//! Claims as many jobs as there are seats, in one commit, and launches a run for each.
//!
//! The lock of an attempt is made and held before the commit: a started job is never without a held lock, so nobody
//! can take a healthy job for a lost one (invariant 4).

use std::{fmt, fs::File, io, time::Duration};

use anyhow::bail;

use super::{Round, Trouble, expect_lock, launch, seats::Seats, slices, standstill};
use crate::{
    commands::{
        ending::fail_dependents,
        fit,
        request::{Ask, SourceState, renew_source, source_of},
        world::World,
    },
    config::Exporter,
    model::{
        attempt::{AttemptId, Claim},
        clock::Stamp,
        event::ActivityEvent,
        job::Job,
        limits::Limits,
        point,
        status::Outcome,
    },
    process,
    store::{StoreError, Tx},
};

/// A claimed job and the lock that its run will hold.
pub struct Seat {
    pub claim: Claim,
    pub lock: File,
}

/// Jobs whose time has come are ready from here on.
pub fn wake(round: &mut Round) -> anyhow::Result<()> {
    // Looked at first: the write lock is not for a round in which nothing comes due.
    if round.store.view().next_wake()?.is_none_or(|wake| wake > round.now) {
        return Ok(());
    }
    // A clock that is wrongly ahead wakes only what was put off by itself.
    let ahead = round.clock_doubt.as_ref().filter(|doubt| doubt.right < round.now);
    let asleep = ahead.map(|doubt| (doubt.right, doubt.from));
    round.repeat(slices::end(), |tx| {
        let now = Stamp::now();
        Ok(asleep.map_or_else(|| tx.wake(now), |(after, before)| tx.wake_except(now, after, before))? > 0)
    })
}

/// One batch of claims, then one launch for each.
pub fn fill_seats(round: &mut Round) -> anyhow::Result<()> {
    let unusable = || round.world.site.export_refusal(&round.world.config);
    if let Some(problem) = process::cannot_supervise().or_else(unusable) {
        round.trouble = Trouble::NothingStarts; // which is no job's fault: none is claimed
        bail!(problem);
    }
    let mut seats = Seats::count(round)?;
    for reason in &seats.reasons {
        tracing::info!(reason, "held back");
    }
    let world = round.world;
    process::prepare_ids()?;
    // The round may have begun long ago: a job that starts now must count for whoever asked in between.
    let mut problems = Vec::new();
    let lock = round.lock;
    let claimed = round.store.immediate(|tx| {
        expect_lock(world, lock)?;
        batch(world, tx, &mut seats, Stamp::now(), &mut problems)
    });
    for problem in problems {
        round.problem(problem);
    }
    let claimed = match claimed {
        Err(error) if is_full(&error) => {
            round.world.site.give_up_reserve()?;
            return Err(error);
        }
        claimed => {
            if claimed.as_ref().is_err_and(anyhow::Error::is::<NoLock>) {
                round.trouble = Trouble::NothingStarts;
            }
            claimed?
        }
    };
    round.look_again = seats.look_again;
    point::at("tick-claimed");
    launch::all(round, claimed);
    Ok(())
}

fn is_full(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(StoreError::DiskFull))
}

/// So many jobs that turn out not to be ready are put aside in one batch, so that the write lock is soon free again.
const ASIDE: usize = 1000;
/// And then a lingering tick comes back for the rest.
const SOON: Duration = Duration::from_secs(1);
/// After so many jobs that cannot be claimed it is not the jobs' matter.
const MOST: usize = 20;

fn batch(
    world: &World,
    tx: &Tx,
    seats: &mut Seats,
    now: Stamp,
    problems: &mut Vec<String>,
) -> anyhow::Result<Vec<Seat>> {
    let mut claimed = Vec::new();
    let mut skip = Vec::new();
    while skip.len() < ASIDE
        && let Some(job) = tx.next_ready(&seats.queues(), &seats.held_back, &skip)?
    {
        // What fails for one job is undone, and the others are claimed.
        match tx.alone(|| take(world, tx, &job, now))? {
            Ok(Taken::Claimed(seat)) => {
                seats.take(&job);
                claimed.push(*seat);
            }
            Ok(Taken::Moved) => {}
            Ok(Taken::Not) => skip.push(job.id),
            Err(error) if error.is::<NoLock>() || problems.len() >= MOST => return Err(error),
            Err(error) => {
                problems.push(format!("cannot claim job {} ({}): {error:#}", job.id, job.filename));
                skip.push(job.id);
            }
        }
    }
    seats.look_again = seats.look_again.or((skip.len() == ASIDE).then_some(SOON));
    point::at("tick-before-commit");
    Ok(claimed)
}

/// No lock can be made: that is not the job's matter, and the next one would meet it too.
#[derive(Debug)]
struct NoLock(io::Error);

impl std::error::Error for NoLock {}

impl fmt::Display for NoLock {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "cannot make a lock in work/: {}", self.0)
    }
}

/// What became of a job whose turn it was.
enum Taken {
    Claimed(Box<Seat>),
    /// Into the queue where it belongs; there it has its turn.
    Moved,
    /// It is not started now.
    Not,
}

fn take(world: &World, tx: &Tx, job: &Job, now: Stamp) -> anyhow::Result<Taken> {
    if world.config.holds(&job.exporter).is_some() {
        return Ok(Taken::Not);
    }
    match fit(world, job) {
        Ok(ask) if !fit::may_be_in(&ask, &job.queue) => {
            standstill::move_to(world, tx, job, fit::home(&ask), now)?;
            Ok(Taken::Moved)
        }
        Ok(ask) => Ok(start(world, tx, job, &ask, now)?.map_or(Taken::Not, |seat| Taken::Claimed(Box::new(seat)))),
        Err(sentence) => refuse(tx, job, &sentence, now).map(|()| Taken::Not),
    }
}

/// The row, checked against the configuration as it is now.
pub(super) fn fit<'a>(world: &'a World, job: &Job) -> Result<Ask<'a>, String> {
    fit::fit(&world.config, &job.exporter, &job.params, &job.filename)
}

fn start(world: &World, tx: &Tx, job: &Job, ask: &Ask, now: Stamp) -> anyhow::Result<Option<Seat>> {
    let source = source_of(&world.config, ask)?.map(|source| source.filename);
    let counts_from = match renew_source(world, tx, ask, job, now)? {
        SourceState::None => now,
        SourceState::Ready(counts_from) => counts_from,
        SourceState::Pending => {
            tx.wait_for_source(job, source.as_deref().unwrap_or_default())?;
            return Ok(None);
        }
        SourceState::Failed(outcome, message) => {
            tx.fail_queued(job, outcome, Some(&message), now)?;
            fail_dependents(tx, &job.filename, outcome, &message)?;
            return Ok(None);
        }
        SourceState::Later => return Ok(None),
    };
    let attempt = AttemptId::from(process::new_id()?);
    let lock = world.site.new_lock(&attempt).map_err(NoLock)?;
    point::at("tick-made-lock");
    let limits = limits(tx, ask.exporter, job)?;
    let Some(claim) = tx.claim(job, &attempt, &limits, now, counts_from)? else { return Ok(None) };
    if !is_of(&claim, job) {
        bail!("its row has changed while it was claimed"); // which takes the claim back
    }
    tell(tx, job, &claim);
    Ok(Some(Seat { claim: Claim { source, ..claim }, lock }))
}

/// A request cannot write the activity log, so a job is told as queued when it is first claimed.
fn tell(tx: &Tx, job: &Job, claim: &Claim) {
    if claim.number == 1 {
        let queued = ActivityEvent::new("queued", claim.started).job(job).with("submitted", job.submitted.rfc3339());
        tx.tell(queued.with("priority", job.priority).with("client", job.client.as_deref()));
    }
    tx.tell(ActivityEvent::new("started", claim.started).claim(claim));
}

/// Whether what was claimed is what was checked.
fn is_of(claim: &Claim, job: &Job) -> bool {
    let claimed = (claim.job, &claim.filename, &claim.exporter, &claim.params, &claim.queue);
    claimed == (job.id, &job.filename, &job.exporter, &job.params, &job.queue)
}

fn limits(tx: &Tx, exporter: &Exporter, job: &Job) -> anyhow::Result<Limits> {
    Ok(tx.escalated(job)?.map_or_else(|| exporter.limits.clone(), |row| fit::limits(exporter, &row)))
}

/// A row that does not fit its exporter's rules was queued under other ones, or was not written by us, which cannot be
/// told apart: it fails, and uses up no attempt.
fn refuse(tx: &Tx, job: &Job, sentence: &str, now: Stamp) -> anyhow::Result<()> {
    tx.refuse(job, sentence, now)?;
    fail_dependents(tx, &job.filename, Outcome::Spawn, sentence)
}
