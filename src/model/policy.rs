//! How old a file may be: whether it is served, and when it goes. Pure decisions.
//!
//! A file keeps being served for `ttl + stale` and is deleted `grace` later, so that whoever was told "ready" at
//! the last moment still finds it. A time to live of `None` never ends.

use std::{cmp::Reverse, time::Duration};

use super::clock::Stamp;

/// What a file of the cache is good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freshness {
    Fresh,
    /// Served while a newer one is made, or cannot be.
    Stale,
    Expired,
}

/// The age of a file made at `made`. A file from the future is fresh.
pub fn freshness(made: Stamp, now: Stamp, ttl: Option<Duration>, stale: Duration) -> Freshness {
    let age = now.since(made);
    match ttl {
        None => Freshness::Fresh,
        Some(ttl) if age < ttl => Freshness::Fresh,
        Some(ttl) if age < ttl.saturating_add(stale) => Freshness::Stale,
        Some(_) => Freshness::Expired,
    }
}

/// Whether nobody can hold a "ready" for this file any more.
pub fn deletable(made: Stamp, now: Stamp, ttl: Option<Duration>, stale: Duration, grace: Duration) -> bool {
    ttl.is_some_and(|ttl| now.since(made) >= ttl.saturating_add(stale).saturating_add(grace))
}

/// A file as far as the choice of what to prune needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Aged {
    pub made: Stamp,
    /// Bytes.
    pub size: u64,
    /// As `deletable` said.
    pub deletable: bool,
}

/// The places of the files that go: all deletable ones, then the oldest ones until the rest fits into `max_size`
/// bytes. Only files of at least `grace` go for their size.
pub fn prune_choice(files: &[Aged], grace: Duration, max_size: u64, now: Stamp) -> Vec<usize> {
    let (mut gone, kept): (Vec<_>, Vec<_>) = (0..files.len()).partition(|&place| files[place].deletable);
    gone.sort_by_key(|&place| files[place].made);
    gone.extend(overflow(files, kept, grace, max_size, now));
    gone
}

fn overflow(files: &[Aged], mut kept: Vec<usize>, grace: Duration, max_size: u64, now: Stamp) -> Vec<usize> {
    let mut total = kept.iter().fold(0_u64, |sum, &place| sum.saturating_add(files[place].size));
    kept.sort_by_key(|&place| Reverse(files[place].made));
    let mut gone = Vec::new();
    while total > max_size
        && let Some(oldest) = kept.pop()
        && now.since(files[oldest].made) >= grace
    {
        total -= files[oldest].size.min(total);
        gone.push(oldest);
    }
    gone
}
