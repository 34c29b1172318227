//! Started jobs whose lock nobody holds have lost their run (invariant 4): no heartbeat, no clock, no bare pid.

use std::{fs::File, path::PathBuf, thread::sleep, time::Duration};

use anyhow::Context as _;

use super::{
    plan::{Moment, Next, PlanStep},
    round::Round,
};
use crate::{
    model::{
        clock::{self, Stamp},
        failpoint,
        job::{AttemptId, Claim, Job, Record},
        status::Outcome,
    },
    request::fit,
    run::close::Closing,
    site::{LockMetadata, PidLife, Probe, boot_id},
    supervise::{
        output,
        process_tree::{Stuck, Swept, TreeIds, end_stuck_tree, end_tree},
    },
};

/// An onlooker may hold a lock for a moment, so a full round tries three times, all locks at once, before it believes
/// that a run is alive; a round that a ring has caused leaves the doubtful ones to the next full one.
const TRIES: usize = 3;
const PAUSE: Duration = Duration::from_millis(20);

/// Looks at every started job. One that cannot be reaped is reported and does not stop the rest.
pub fn all(round: &mut Round) -> anyhow::Result<()> {
    let mut held = round.store.view().started()?;
    for attempt in 0..if round.is_light() { 1 } else { TRIES } {
        if attempt > 0 && !held.is_empty() {
            sleep(PAUSE);
        }
        held.retain(|job| heeded(round, job, unless_held).unwrap_or(false));
    }
    for job in held {
        if heeded(round, &job, overdue) == Some(false) {
            round.note(|| PlanStep::Running((&job).into()));
        }
    }
    Ok(())
}

/// One step for one job; what fails is reported.
fn heeded<T>(
    round: &mut Round,
    job: &Job,
    step: impl Fn(&mut Round, &Job, &AttemptId) -> anyhow::Result<T>,
) -> Option<T> {
    let Some(attempt) = &job.attempt else {
        round.store.view().note_unreadable(job.id, "attempt");
        return None;
    };
    match step(round, job, attempt) {
        Ok(value) => Some(value),
        Err(error) => {
            round.problem(format!("cannot reap job {} ({}): {error:#}", job.id, job.filename));
            None
        }
    }
}

/// `true`: its lock is held.
fn unless_held(round: &mut Round, job: &Job, attempt: &AttemptId) -> anyhow::Result<bool> {
    match try_take(round, attempt) {
        Probe::Alive => return Ok(true),
        Probe::Unverified => {
            let name = format!("job {} ({})", job.id, job.filename);
            round.problem(format!("{name}: its lock cannot be opened, so nobody knows whether it runs"));
        }
        Probe::Missing => finish(round, job, None)?,
        Probe::Free(lock) => finish(round, job, Some(&lock))?,
    }
    Ok(false)
}

/// The lock, if nobody holds it; a plan only looks.
pub fn try_take(round: &Round, attempt: &AttemptId) -> Probe {
    let site = &round.context.site;
    if round.is_plan() { site.look_at_lock(attempt) } else { site.try_take(attempt) }
}

/// Finishes an attempt whose run is dead: as `ok` if its file is in the cache, else as `lost`.
fn finish(round: &mut Round, job: &Job, lock: Option<&File>) -> anyhow::Result<()> {
    let Some(claim) = round.store.view().claim_of_job(job)? else { return Ok(()) };
    let metadata = lock.map(LockMetadata::read).transpose().context("cannot read its lock")?;
    if round.is_light() && metadata.as_ref().is_some_and(|metadata| metadata.is_stuck) {
        return Ok(()); // looked at by the next full round
    }
    failpoint::at("reap-took-lock");
    if let Swept::Stuck(stuck) = end(round, &claim.attempt, lock)? {
        for process in stuck {
            round.problem(format!("job {} ({}) keeps its slot: {process}", claim.job, claim.filename));
        }
        return Ok(());
    }
    let record = record(round, &claim, metadata.as_ref())?;
    let config = &round.context.config;
    Closing::new(&claim, &record).close(round.store, config)?;
    noted(round, job, record.outcome)?;
    failpoint::at("reap-recorded");
    Ok(())
}

/// What becomes of the job, for a plan.
fn noted(round: &mut Round, job: &Job, outcome: Outcome) -> anyhow::Result<()> {
    let left = round.store.view().job_by_id(job.id)?;
    round.note(|| {
        let (next, at) = match &left {
            None => (Next::Gone, None),
            Some(left) if left.status.is_failed() => (Next::Failed, None),
            Some(left) => (Next::Queued, Some(Moment(left.run_after))),
        };
        PlanStep::Reap { job: job.into(), result: outcome.name(), next, at }
    });
    Ok(())
}

/// Ends what is left of an attempt of ours. Nothing is ended on the word of a row: an attempt that has left nothing in
/// `work/` may be another site's, or nobody's.
pub fn end(round: &Round, attempt: &AttemptId, lock: Option<&File>) -> anyhow::Result<Swept> {
    if lock.is_none() && !round.context.site.has_work(attempt) {
        return Ok(Swept::Gone);
    }
    let metadata = lock.map(LockMetadata::read).transpose().context("cannot read its lock")?;
    let ids = ids(attempt, metadata.as_ref())?;
    if round.is_plan() {
        return Ok(if metadata.is_some_and(|metadata| metadata.is_stuck) { still_there(&ids) } else { Swept::Gone });
    }
    if metadata.as_ref().is_some_and(|metadata| metadata.is_stuck) {
        return Ok(end_stuck_tree(&ids));
    }
    let swept = end_tree(&ids, Duration::ZERO);
    if let (Swept::Stuck(stuck), Some(lock)) = (&swept, lock)
        && stuck.iter().all(|stuck| stuck.process.is_some())
    {
        let metadata = LockMetadata { is_stuck: true, ..metadata.unwrap_or_default() };
        metadata.write(lock).context("cannot write its lock")?;
    }
    Ok(swept)
}

/// What an earlier tick could not end, if it has not ended since: for a plan, which ends nobody.
fn still_there(ids: &TreeIds) -> Swept {
    let known = [ids.run, ids.leader].into_iter().flatten();
    let alive = known.filter(|process| process.is_alive().unwrap_or(true));
    let stuck = |process| Stuck { process: Some(process), reason: "could not be ended by an earlier tick".to_owned() };
    let stuck: Vec<_> = alive.map(stuck).collect();
    if stuck.is_empty() { Swept::Gone } else { Swept::Stuck(stuck) }
}

fn record(round: &Round, claim: &Claim, metadata: Option<&LockMetadata>) -> anyhow::Result<Record> {
    let boot = boot_id()?;
    let since = metadata.filter(|metadata| metadata.boot_id == boot).map(|metadata| metadata.since_boot);
    let took = since.map(|since| clock::since_boot().saturating_sub(since));
    let took = took.unwrap_or_else(|| round.now.since(claim.started));
    let outcome = outcome(round, claim)?;
    let restarted = was_restarted(round, claim, metadata, &boot)?;
    let bare = Record::bare(outcome, Stamp::now(), took);
    Ok(match outcome {
        Outcome::Ok => Record { output_size: size(round, claim), ..bare },
        _ => Record {
            restarted: restarted.is_some(),
            detail: Some(restarted.unwrap_or("its run process died").to_owned()),
            log_tail: output::last_words(&round.context.site.log_of(&claim.attempt)),
            ..bare
        },
    })
}

/// What was restarted since it began, if anything was. A power cut can take its lock file with it.
fn was_restarted(
    round: &Round,
    claim: &Claim,
    metadata: Option<&LockMetadata>,
    boot: &str,
) -> anyhow::Result<Option<&'static str>> {
    let machine = match metadata.map(|metadata| &*metadata.boot_id).filter(|noted| !noted.is_empty()) {
        Some(noted) => noted != boot,
        None => claim.started < round.now.minus(clock::since_boot()),
    };
    if machine {
        return Ok(Some("the machine was restarted"));
    }
    let here = PidLife::here()?;
    let container = metadata.is_some_and(|metadata| !metadata.life.may_be(here));
    Ok(container.then_some("the container was restarted"))
}

/// What an attempt without its run has come to.
fn outcome(round: &Round, claim: &Claim) -> anyhow::Result<Outcome> {
    if let Some(out) = output(round, claim)
        && round.context.cache.published(&out, &claim.filename)?
    {
        return Ok(Outcome::Ok);
    }
    let cancelled = round.store.view().cancel_requested(claim)?.unwrap_or(false);
    Ok(if cancelled { Outcome::Cancelled } else { Outcome::Lost })
}

fn size(round: &Round, claim: &Claim) -> Option<u64> {
    std::fs::metadata(output(round, claim)?).ok().map(|about| about.len())
}

fn output(round: &Round, claim: &Claim) -> Option<PathBuf> {
    let file = round.context.config.exporters.get(&claim.exporter)?.file()?;
    Some(round.context.site.work_of(&claim.attempt).join(format!("out{}", file.extension)))
}

/// Numbers of an earlier boot or container lead to nobody, or to strangers. An error: nobody knows whose they are.
pub fn ids(attempt: &AttemptId, metadata: Option<&LockMetadata>) -> anyhow::Result<TreeIds> {
    let (boot, here) = (boot_id()?, PidLife::here()?);
    let metadata = metadata.filter(|metadata| metadata.numbers_hold(&boot, here));
    Ok(TreeIds {
        attempt: attempt.to_string(),
        run: metadata.and_then(|metadata| metadata.run),
        leader: metadata.and_then(|metadata| metadata.leader),
    })
}

/// Its lock is held, but it should have ended long ago: the run hangs, or its tree cannot be killed. A run whose exporter
/// has ended may take its time: it waits for the database, or copies.
///
/// `false`: it may run on.
fn overdue(round: &mut Round, job: &Job, attempt: &AttemptId) -> anyhow::Result<bool> {
    let Some(claim) = round.store.view().claim_of_job(job)? else { return Ok(false) };
    // Not by the row's word: limits that it may say anything of are brought within the configured ones.
    let exporter = round.context.config.exporters.get(&claim.exporter);
    let limits = exporter.map_or_else(|| claim.limits.clone(), |exporter| fit::limits(exporter, &claim.limits));
    let metadata = match round.context.site.lock_metadata(attempt) {
        Err(_) if round.is_plan() => return Ok(false), // for another user than the tick's
        metadata => metadata.context("cannot read its lock")?,
    };
    let allowed = limits.overdue_after();
    if metadata.ended.is_some() || metadata.elapsed(&boot_id()?).is_none_or(|elapsed| elapsed <= allowed) {
        return Ok(false);
    }
    if round.is_plan() {
        round.note(|| PlanStep::Kill(job.into()));
        return finish(round, job, None).map(|()| true);
    }
    round.problem(format!("job {} ({}) is overdue; its run is killed", job.id, job.filename));
    if let Swept::Stuck(stuck) = end_tree(&ids(attempt, Some(&metadata))?, Duration::ZERO) {
        for process in stuck {
            round.problem(format!("job {} ({}) keeps its slot: {process}", job.id, job.filename));
        }
        return Ok(true);
    }
    match round.context.site.try_take(attempt) {
        Probe::Free(lock) => finish(round, job, Some(&lock))?,
        Probe::Alive | Probe::Missing | Probe::Unverified => {}
    }
    Ok(true)
}
