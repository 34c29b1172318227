//! Jobs whose run has started nothing, since the machine or the configuration did not let it: they are queued, and the
//! admin is told why.

use std::collections::BTreeMap;

use anyhow::Context as _;

use super::{Round, Trouble};
use crate::{
    context::Context,
    exit::{Exit, Failure},
    model::{clock::Stamp, job::AttemptId},
    site::{LockMetadata, Probe},
};

/// After the round that launched them. A tick that is at work now tells it in its own round.
pub fn tell(context: &Context) -> Result<(), Failure> {
    let Some(lock) = context.site.take_tick()? else { return Ok(()) };
    let mut store = context.open_store_for_tick()?;
    let mut round = Round::new(context, &mut store, Some(&lock));
    round.step("returned", jobs);
    round.tell();
    if round.trouble == Trouble::NothingStarts { Err(Failure::code(Exit::Io)) } else { Ok(()) }
}

/// Gives back what the runs could not give back themselves, and tells each reason once.
pub fn jobs(round: &mut Round) -> anyhow::Result<()> {
    let work = || format!("cannot read {}", round.context.site.work().display());
    let mut reasons: BTreeMap<String, u64> = BTreeMap::new();
    for attempt in round.context.site.attempts_on_disk().with_context(work)? {
        match one(round, &attempt) {
            Ok(Some(why)) => *reasons.entry(why).or_default() += 1,
            Ok(None) => {}
            Err(error) => round.problem(format!("cannot queue the job of attempt {attempt} again: {error:#}")),
        }
    }
    reasons.remove("");
    for (why, runs) in reasons {
        let jobs = if runs == 1 { "its job is".to_owned() } else { format!("the jobs of {runs} runs are") };
        round.nothing_starts(&why, &format!("a run could not start its exporter: {why}; {jobs} queued again"));
    }
    Ok(())
}

/// Why the run of this attempt has started nothing; told once.
fn one(round: &mut Round, attempt: &AttemptId) -> anyhow::Result<Option<String>> {
    let site = &round.context.site;
    if site.lock_metadata(attempt).map_or(true, |note| note.refused.is_none()) {
        return Ok(None);
    }
    // One that still ends is the next round's.
    let Probe::Free(lock) = site.try_take(attempt) else { return Ok(None) };
    let note = LockMetadata::read(&lock)?;
    if let Some(claim) = round.store.view().claim_of(attempt)? {
        round.store.immediate(|tx| Ok(tx.give_back(&claim, Stamp::now())?))?;
    }
    LockMetadata { refused: None, ..note.clone() }.write(&lock)?;
    Ok(note.refused)
}
