//! Rows that were not written by us go: each is reported once, named by its id and column, and removed.
//!
//! A row that is started and names an attempt keeps its seat until that attempt is gone.

use super::{Round, reap};
use crate::{
    model::job::AttemptId,
    site::Probe,
    store::{StoreError, Unreadable},
    supervise::process_tree::Swept,
};

/// More than this in one round are only counted.
const MOST: usize = 20;
/// So many rows are looked at in each full round, wherever they lie.
const PATROL: u32 = 500;

/// Takes out what reaping has met, and in a full round what a patrol finds: before seats are counted.
pub fn all(round: &mut Round) -> anyhow::Result<()> {
    if !round.light {
        small_tables(round)?;
        let chance = blake3::hash(round.now.0.to_string().as_bytes());
        let chance = chance.as_bytes().first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        round.store.view().patrol(chance, PATROL)?;
    }
    met(round)
}

/// Takes out what was met since the last look.
pub fn met(round: &mut Round) -> anyhow::Result<()> {
    let mut told = 0;
    let mut removed = false;
    for found in round.store.take_unreadable() {
        if !may_go(round, &found) {
            continue;
        }
        told += 1;
        let problem = match remove(round, &found) {
            Ok(()) => format!("{found}; it was removed"),
            Err(error) => format!("{found}, nor be removed: {error:#}"),
        };
        removed = true;
        if told <= MOST {
            round.problem(problem);
        }
    }
    if told > MOST {
        round.problem(format!("{} more rows could not be read", told - MOST));
    }
    if removed {
        round.store.immediate(|tx| Ok(tx.recount_all()?))?;
    }
    Ok(())
}

fn small_tables(round: &mut Round) -> anyhow::Result<()> {
    if round.store.view().odd_rows()? {
        let removed = round.store.immediate(|tx| {
            let removed = tx.remove_odd_rows()?;
            tx.recount_all()?;
            Ok(removed)
        })?;
        round.problem(format!("{removed} rows of the database held values that are none of ours; they were removed"));
    }
    Ok(())
}

fn remove(round: &mut Round, found: &Unreadable) -> anyhow::Result<()> {
    match round.store.immediate(|tx| Ok(tx.remove(found)?)) {
        Err(error) if matches!(error.downcast_ref(), Some(StoreError::TooBig)) => {
            anyhow::bail!("it is too long; delete it with the sqlite3 program")
        }
        removed => removed,
    }
}

/// Whether the attempt that the row names, if it names one, has ended.
fn may_go(round: &mut Round, found: &Unreadable) -> bool {
    found.attempt.as_ref().is_none_or(|attempt| has_ended(round, found, attempt))
}

fn has_ended(round: &mut Round, found: &Unreadable, attempt: &AttemptId) -> bool {
    let lock = match reap::try_take(round, attempt) {
        Probe::Alive => return false,
        Probe::Unverified => {
            round.problem(format!("{found}; the lock of its attempt cannot be opened, so it keeps its seat"));
            return false;
        }
        Probe::Missing => None,
        Probe::Free(lock) => Some(lock),
    };
    match reap::end(round, attempt, lock.as_ref()) {
        Ok(Swept::Gone) => return true,
        Ok(Swept::Stuck(stuck)) => {
            for process in stuck {
                round.problem(format!("{found}; it keeps its seat: {process}"));
            }
        }
        Err(error) => round.problem(format!("{found}; it keeps its seat: {error:#}")),
    }
    false
}
