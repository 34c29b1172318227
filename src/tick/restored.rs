//! A database that somebody has copied back by hand is older than its own last round, which stands in `tick.lock`.

use std::{fs, os::unix::fs::MetadataExt};

use super::{Round, adopt::adopt};
use crate::{model::clock::Stamp, site::RoundMark, store::View};

/// Such a database is adopted: ids go on above those that were given, and what ran when it was copied is queued again.
pub fn look(round: &mut Round) -> anyhow::Result<()> {
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
    round.store.immediate(|tx| adopt(tx, &context.site, mark.last_job))?;
    if let Some(at) = older {
        round.problem(sentence(at, &mark));
    }
    Ok(())
}

/// The last tick that the database knows of, if it has known a later one. What is none of our marks tells nothing.
pub fn is_older(view: &View, mark: &RoundMark, now: Stamp) -> anyhow::Result<Option<Stamp>> {
    let last = view.last_tick()?.filter(|last| last.boot_id.len() == 36);
    Ok(last.map(|last| last.at).filter(|at| *at < mark.database && mark.database <= now))
}

/// For cron's mail and for `status`.
pub fn sentence(at: Stamp, mark: &RoundMark) -> String {
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
