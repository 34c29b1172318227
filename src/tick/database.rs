//! The database is put right before anything is decided by it: one that was copied back is adopted, and rows that were not
//! written by us go.
//!
//! A database that somebody has copied back by hand is older than its own last round, which stands in `tick.lock`. A row
//! that cannot be read is reported once, named by its id and column; one that is started and names an attempt keeps its
//! seat until that attempt is gone.

use std::{fs, os::unix::fs::MetadataExt};

use super::{reap, round::Round};
use crate::{
    model::{
        clock::Stamp,
        job::{AttemptId, Job},
    },
    site::{Probe, RoundMark, Sight, Site},
    store::{Store, StoreError, Unreadable, View},
    supervise::process_tree::Swept,
};

/// Such a database is adopted: ids go on above those that were given, and what ran when it was copied is queued again.
pub fn adopt_replaced(round: &mut Round) -> anyhow::Result<()> {
    let Some(mark) = round.lock.and_then(RoundMark::read) else { return Ok(()) };
    let older = is_older(&round.store.view(), &mark, round.now)?;
    let is_replaced = mark.inode != 0 && mark.inode != inode(round);
    if (older.is_some() || is_replaced)
        && let Some(fault) = round.store.fault()?
    {
        round.problem(format!(
            "the database was replaced by a file that is damaged ({fault}): a copy must not lie beside the -wal of another \
             database; put a backup back with `pressroom restore FILE`"
        ));
    }
    if older.is_none() && !(is_replaced && round.store.view().last_job()? < mark.last_job) {
        return Ok(());
    }
    let context = round.context;
    adopt(round.store, &context.site, mark.last_job)?;
    if let Some(at) = older {
        round.problem(older_sentence(at, &mark));
    }
    Ok(())
}

/// The last tick that the database knows of, if it has known a later one. What is none of our marks tells nothing.
pub fn is_older(view: &View, mark: &RoundMark, now: Stamp) -> anyhow::Result<Option<Stamp>> {
    let last = view.last_tick()?.filter(|last| last.boot_id.len() == 36);
    Ok(last.map(|last| last.at).filter(|at| *at < mark.database && mark.database <= now))
}

/// For cron's mail and for `status`.
pub fn older_sentence(at: Stamp, mark: &RoundMark) -> String {
    format!(
        "the database was copied back: it knows of no tick since {}, and the last one was at {}; the tick goes on with it, \
         with job ids above {}. `pressroom restore FILE` does this safely",
        at.rfc3339(),
        mark.database.rfc3339(),
        mark.last_job
    )
}

/// What the database knows from now on.
pub fn remember(round: &Round) -> anyhow::Result<()> {
    let Some((lock, mark)) = round.lock.and_then(|lock| Some((lock, RoundMark::read(lock)?))) else { return Ok(()) };
    let (view, inode) = (round.store.view(), inode(round));
    let database = view.last_tick()?.map_or(Stamp(0), |tick| tick.at);
    let mark = RoundMark { database, last_job: view.last_job()?, inode, ..mark };
    Ok(mark.write(lock)?)
}

fn inode(round: &Round) -> u64 {
    fs::metadata(&round.context.config.database).map_or(0, |about| about.ino())
}

/// Jobs may have been queued since the highest id was seen.
pub const SPARE_IDS: i64 = 1000;

/// Ids go on above `last_job`, and jobs whose attempts are long over are queued again, without having been counted.
pub fn adopt(store: &mut Store, site: &Site, last_job: i64) -> anyhow::Result<()> {
    let detail = "it was running when the backup was made from which the database was restored";
    store.adopt(last_job.saturating_add(SPARE_IDS), |job| is_over(site, job), detail)
}

/// Nothing of the attempt is left; of any other, reaping tells what has become.
fn is_over(site: &Site, job: &Job) -> bool {
    let is_gone = |attempt| !site.has_work(attempt) && site.peek(attempt) == Sight::Missing;
    job.attempt.as_ref().is_some_and(is_gone)
}

/// More than this in one round are only counted.
const MOST_REMOVED_TOLD: usize = 20;
/// So many rows are looked at in each full round, wherever they lie.
const PATROL: u32 = 500;

/// Takes out what reaping has met, and in a full round what a patrol finds: before seats are counted.
pub fn patrol(round: &mut Round) -> anyhow::Result<()> {
    if !round.is_light() {
        small_tables(round)?;
        let chance = blake3::hash(round.now.0.to_string().as_bytes());
        let chance = chance.as_bytes().first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        round.store.view().patrol(chance, PATROL)?;
    }
    remove_met(round)
}

/// Takes out what was met since the last look.
pub fn remove_met(round: &mut Round) -> anyhow::Result<()> {
    let mut told = 0;
    let mut removed = false;
    for found in round.store.take_unreadable() {
        if !may_go(round, &found) {
            continue;
        }
        told += 1;
        let problem = match remove_row(round, &found) {
            Ok(()) => format!("{found}; it was removed"),
            Err(error) => format!("{found}, nor be removed: {error:#}"),
        };
        removed = true;
        if told <= MOST_REMOVED_TOLD {
            round.problem(problem);
        }
    }
    if told > MOST_REMOVED_TOLD {
        round.problem(format!("{} more rows could not be read", told - MOST_REMOVED_TOLD));
    }
    if removed {
        round.store.recount()?;
    }
    Ok(())
}

fn small_tables(round: &mut Round) -> anyhow::Result<()> {
    if round.store.view().odd_rows()? {
        let removed = round.store.remove_odd_rows()?;
        round.problem(format!("{removed} rows of the database held values that are none of ours; they were removed"));
    }
    Ok(())
}

fn remove_row(round: &mut Round, found: &Unreadable) -> anyhow::Result<()> {
    match round.store.remove_unreadable(found) {
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
