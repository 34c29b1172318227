//! What dead attempts have left in `work/` and `cache/` goes: only with the attempt's lock in hand, the lock file last.

use super::Round;
use crate::{model::point, site::Probe};

/// Sweeps every attempt on disk that no started row names.
pub fn all(round: &mut Round) -> anyhow::Result<()> {
    temps(round);
    for attempt in round.world.site.attempts_on_disk()? {
        if let Err(error) = one(round, &attempt) {
            round.problem(format!("cannot sweep the work directory of attempt {attempt}: {error:#}"));
        }
    }
    Ok(())
}

fn one(round: &mut Round, attempt: &str) -> anyhow::Result<()> {
    if round.store.view().is_started(attempt)? {
        return Ok(());
    }
    let site = &round.world.site;
    let _held = match site.try_take(attempt) {
        Probe::Alive | Probe::Unverified => return Ok(()),
        Probe::Free(lock) => Some(lock),
        Probe::Missing => None,
    };
    site.remove_work(attempt)?;
    point::at("sweep-removed-work");
    Ok(site.remove_lock(attempt)?)
}

/// Second names in the cache, of attempts that died between the two names.
fn temps(round: &mut Round) {
    let mut problems = Vec::new();
    for temp in round.world.cache.temps(&mut problems) {
        let busy = round.store.view().is_started(&temp.attempt).unwrap_or(true);
        if !busy && let Err(error) = round.world.cache.remove_temp(&temp.exporter, &temp.attempt) {
            problems.push(format!("cannot remove the temporary name of attempt {}: {error}", temp.attempt));
        }
    }
    round.problems.append(&mut problems);
}
