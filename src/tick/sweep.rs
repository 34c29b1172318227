//! What dead attempts have left in `work/` and `cache/` goes: only with the attempt's lock in hand, the lock file last.

use std::{fs::File, time::Duration};

use anyhow::Context as _;

use super::{
    reap,
    round::{Round, step_end as end_of_step},
};
use crate::{
    model::{clock::since_boot, failpoint, job::AttemptId},
    run::close::log_size,
    site::{LockMetadata, Probe, Sight},
    supervise::process_tree::Swept,
};

/// So many attempts are looked up at a time.
const BATCH: u32 = 500;

/// Sweeps every attempt on disk that no started row names.
pub fn all(round: &mut Round) -> anyhow::Result<()> {
    temps(round);
    let work = || format!("cannot read {}", round.context.site.work().display());
    for attempt in round.context.site.attempts_on_disk().with_context(work)? {
        if let Err(error) = one(round, &attempt)
            && !was_told(round, &attempt)
        {
            round.problem(format!("cannot sweep the work directory of attempt {attempt}: {error:#}"));
        }
    }
    unclaimed(round)
}

/// Attempts in the history that never end: no started job names them, and nothing on the disk is theirs. None of ours is
/// so for longer than until the next sweep; the others are not kept out of the bounds of the history.
fn unclaimed(round: &mut Round) -> anyhow::Result<()> {
    let (end, mut after) = (end_of_step(), String::new());
    while since_boot() < end {
        let ids = round.store.view().unclaimed(&after, BATCH)?;
        let Some(last) = ids.last() else { break };
        after.clone_from(last);
        let (site, config) = (&round.context.site, &round.context.config);
        let is_left = |id: &String| {
            AttemptId::parse(id).is_none_or(|id| !site.has_work(&id) && matches!(site.peek(&id), Sight::Missing))
        };
        let left: Vec<_> = ids.into_iter().filter(is_left).collect();
        let size = |id: &AttemptId| log_size(config, id);
        round.store.close_unclaimed(&left, "nothing of it is left, and its job has gone", size, end)?;
    }
    Ok(())
}

fn one(round: &mut Round, attempt: &AttemptId) -> anyhow::Result<()> {
    if round.store.view().is_started(attempt)? {
        return Ok(());
    }
    let held = match round.context.site.try_take(attempt) {
        Probe::Alive | Probe::Unverified => return Ok(()),
        Probe::Free(lock) => Some(lock),
        Probe::Missing => None,
    };
    let record = round.store.view().attempt(attempt)?;
    if record.as_ref().is_none_or(|attempt| attempt.record.is_none()) && !end(round, attempt, held.as_ref())? {
        return Ok(());
    }
    let config = &round.context.config;
    if record.as_ref().is_some_and(|attempt| attempt.record.is_none()) {
        // Somebody has removed its row, and who ends it finds no job to end.
        let (ended, size) = ([attempt.to_string()], |id: &AttemptId| log_size(config, id));
        round.store.close_unclaimed(&ended, "its job was removed from the database", size, Duration::MAX)?;
    }
    let site = &round.context.site;
    site.remove_work(attempt)?;
    if record.is_none() {
        site.remove_log(attempt)?; // the history will never tell to
    }
    failpoint::at("sweep-removed-work");
    Ok(site.remove_lock(attempt)?)
}

/// Whether the admin has been told of what cannot be removed; from now on it is. The attempt's lock remembers it: `status`
/// counts such ones, and cron does not mail them each minute.
fn was_told(round: &Round, attempt: &AttemptId) -> bool {
    let site = &round.context.site;
    let lock = match site.try_take(attempt) {
        Probe::Free(lock) => Some(lock),
        Probe::Missing => site.new_lock(attempt).ok(),
        Probe::Alive | Probe::Unverified => None,
    };
    let Some((lock, note)) = lock.and_then(|lock| LockMetadata::read(&lock).ok().map(|note| (lock, note))) else {
        return false;
    };
    let is_told = note.is_told;
    if !is_told {
        let _ = LockMetadata { is_told: true, ..note }.write(&lock); // what cannot be noted is told again
    }
    is_told
}

/// Ends what still runs of an attempt without a recorded end: who records one has seen the tree gone, but a `try` that was
/// killed leaves no record. `false`: some of it cannot be ended.
fn end(round: &mut Round, attempt: &AttemptId, lock: Option<&File>) -> anyhow::Result<bool> {
    let Swept::Stuck(stuck) = reap::end(round, attempt, lock)? else { return Ok(true) };
    for process in stuck {
        round.problem(format!("attempt {attempt} keeps its work directory: {process}"));
    }
    Ok(false)
}

/// Second names in the cache, of attempts that died between the two names.
fn temps(round: &mut Round) {
    let mut problems = Vec::new();
    for temp in round.context.cache.temps(&mut problems) {
        let busy = round.store.view().is_started(&temp.attempt).unwrap_or(true);
        if !busy && let Err(error) = round.context.cache.remove_temp(&temp.exporter, &temp.attempt) {
            problems.push(format!("cannot remove the temporary name of attempt {}: {error}", temp.attempt));
        }
    }
    round.also(problems);
}
