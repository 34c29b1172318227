//! A disk so full that the database cannot be opened: what frees space must not need any.
//!
//! Only files that have expired go, and only under the tick's lock. Nobody can publish meanwhile, since that takes the
//! database, and a file that was made anew since it was scanned is another one and stays.

use std::fs::File;

use super::{clock, prune};
use crate::{
    cache::{CacheEntry, choose},
    context::Context,
    logging,
    model::clock::Stamp,
    site,
};

/// Bytes. With less, the database cannot be relied on to open.
const FULL: u64 = 1 << 20;

/// Whether there is no space for the database: on the disk, or within a quota.
pub fn is_full(context: &Context) -> bool {
    site::room(&context.site.queue()).is_ok_and(|free| free < FULL)
}

/// Removes expired files without looking at the queue; tells whether there were any. After a jump of the clock the round
/// is left out, as any other is (invariant 11).
pub fn free(context: &Context, lock: &File) -> bool {
    let now = Stamp::now();
    if clock::look_without_database(lock, now) {
        return false;
    }
    let mut problems = Vec::new();
    let entries = context.cache.scan(&mut problems);
    let config = &context.config.cache;
    let pinned = |_: &CacheEntry| false; // nobody knows
    let expired =
        choose(&entries, |exporter| prune::rules(context, exporter), config.grace, u64::MAX, now, pinned).gone;
    let removed = expired.iter().filter(|entry| context.cache.remove(entry).unwrap_or(false)).count();
    problems.iter().for_each(logging::diagnostic_line);
    // Some file systems only count as free what a commit of theirs has freed.
    if let Ok(cache) = File::open(context.site.cache())
        && removed > 0
    {
        let _ = nix::unistd::syncfs(cache);
    }
    removed > 0
}
