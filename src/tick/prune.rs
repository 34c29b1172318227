//! Files that nobody can be waiting for are removed: under a short write lock, which publishing needs, too (invariant 8).
//!
//! When the disk is so full that the database cannot be opened, expired files go under the tick's lock alone. Nobody can
//! publish meanwhile, since that takes the database, and a file that was made since the scan is another one and stays.

use std::{fs::File, time::Duration};

use super::{
    clock,
    plan::{Moment, PlanStep},
    round::{Round, WallClock},
};
use crate::{
    cache::{CacheEntry, Chosen, choose},
    context::Context,
    logging,
    model::{clock::Stamp, failpoint},
    site::{self, ActivityEvent},
    store::View,
};

/// What was made so far ahead was made under a wrong clock.
const AHEAD: Duration = Duration::from_mins(1);

/// Scans the cache, removes what is past ttl, stale and grace, and lets the oldest expire that are beyond the cache's size.
pub fn files(round: &mut Round) -> anyhow::Result<()> {
    let mut problems = Vec::new();
    let mut entries = round.context.cache.scan(&mut problems);
    if round.is_plan() {
        for entry in &mut entries {
            entry.made = healed(entry.made, round.now);
        }
    } else if round.clock.doubt().is_none() {
        let misdated = match round.clock {
            WallClock::Righted(from, to) if to < round.now => Some((from, to)),
            _ => None,
        };
        round.context.cache.heal(&mut entries, round.now, misdated, &mut problems);
    }
    let chosen = if round.clock.is_trusted() {
        chosen(round.context, &round.store.view(), &entries, round.now)
    } else {
        Chosen::default()
    };
    failpoint::at("prune-chose");
    let removed = if round.is_plan() { foresee(round, &chosen)? } else { remove(round, &chosen, &mut problems)? };
    round.also(problems);
    if !round.is_plan() {
        reserve(round);
    }
    figures(round, &entries, &removed)
}

/// As [`Cache::heal_future`] sets it.
fn healed(made: Stamp, now: Stamp) -> Stamp {
    if made > now.plus(AHEAD) { now } else { made }
}

/// What a round would remove, for a plan.
fn foresee(round: &mut Round, chosen: &Chosen) -> anyhow::Result<Vec<CacheEntry>> {
    if !round.clock.is_trusted() {
        round.note(|| PlanStep::Calm { why: "the clock was set, or nobody has ticked for ten minutes" });
    }
    let mut removed = Vec::new();
    for entry in &chosen.gone {
        if !round.store.view().pinned(&entry.filename)? {
            round.note(|| PlanStep::Prune { filename: entry.filename.clone(), made: Moment(entry.made) });
            removed.push(entry.clone());
        }
    }
    for (entry, _) in &chosen.expired {
        round.note(|| PlanStep::Expire { filename: entry.filename.clone() });
    }
    if let Some(plan) = round.plan_mut() {
        plan.freed = removed.iter().fold(0, |sum, entry| sum.saturating_add(entry.size));
    }
    Ok(removed)
}

/// What goes and what expires, by each exporter's rules.
pub fn chosen(context: &Context, view: &View, entries: &[CacheEntry], now: Stamp) -> Chosen {
    let config = &context.config.cache;
    // In doubt a file stays.
    let is_pinned = |entry: &CacheEntry| view.pinned(&entry.filename).unwrap_or(true);
    choose(entries, |exporter| rules(context, exporter), config.grace, config.max_size, now, is_pinned)
}

/// How long files of an exporter are served, and served as stale; of one that is not configured by the general rules.
pub fn rules(context: &Context, exporter: &str) -> (Option<Duration>, Duration) {
    let config = &context.config;
    let own = config.exporters.get(exporter).map(|exporter| (exporter.ttl, exporter.stale));
    own.unwrap_or((config.cache.ttl, config.cache.stale))
}

/// The result: what has gone.
fn remove(round: &mut Round, chosen: &Chosen, problems: &mut Vec<String>) -> anyhow::Result<Vec<CacheEntry>> {
    let cache = &round.context.cache;
    let mut removed = Vec::new();
    round.store.prune_unpinned(
        &chosen.gone,
        |entry| &entry.filename,
        |entry| {
            match cache.remove(entry) {
                Ok(true) => removed.push(entry.clone()),
                Ok(false) => {}
                Err(error) => problems.push(format!("cannot prune {}: {error}", entry.filename)),
            }
            None // told all at once
        },
    )?;
    for CacheEntry { filename, .. } in &removed {
        tracing::info!(filename, "pruned");
    }
    let pruned = |entry: &CacheEntry| ActivityEvent::new("pruned", Stamp::now()).with("filename", &*entry.filename);
    round.context.tell(&removed.iter().map(pruned).collect::<Vec<_>>());
    let expire = |(entry, made): &(CacheEntry, Option<Stamp>)| match cache.expire(entry, *made) {
        Ok(true) => {
            tracing::info!(filename = entry.filename, "expired, as the cache is full");
            Some(ActivityEvent::new("expired", Stamp::now()).with("filename", &*entry.filename))
        }
        Ok(false) => None,
        Err(error) => {
            problems.push(format!("cannot expire {}: {error}", entry.filename));
            None
        }
    };
    round.store.prune_unpinned(&chosen.expired, |(entry, _)| &entry.filename, expire)?;
    Ok(removed)
}

/// Written down for whoever must not walk through the whole cache.
fn figures(round: &mut Round, entries: &[CacheEntry], removed: &[CacheEntry]) -> anyhow::Result<()> {
    let size = |entries: &[CacheEntry]| entries.iter().fold(0_u64, |sum, entry| sum.saturating_add(entry.size));
    let files = (entries.len() - removed.len()) as u64;
    round.store.note_cache_figures(files, size(entries).saturating_sub(size(removed)))
}

/// The reserve is given up while the disk is full, so that the queue can still be written, and taken back later.
fn reserve(round: &mut Round) {
    let site = &round.context.site;
    let free = site::room(&site.queue()).unwrap_or(u64::MAX);
    let outcome = if free < FULL { site.give_up_reserve() } else { site.restore_reserve() };
    if let Err(error) = outcome {
        tracing::warn!(path = %site.reserve().display(), %error, "the reserve cannot be used");
    }
}

/// Bytes. With less, the database cannot be relied on to open.
const FULL: u64 = 1 << 20;

/// Whether there is no space for the database: on the disk, or within a quota.
pub fn is_full(context: &Context) -> bool {
    site::room(&context.site.queue()).is_ok_and(|free| free < FULL)
}

/// Removes expired files without looking at the queue; tells whether there were any. After a jump of the clock the round
/// is left out, as any other is (invariant 11).
pub fn free_without_database(context: &Context, lock: &File) -> bool {
    let now = Stamp::now();
    if !clock::look_without_database(lock, now) {
        return false;
    }
    let mut problems = Vec::new();
    let entries = context.cache.scan(&mut problems);
    let config = &context.config.cache;
    let pinned = |_: &CacheEntry| false; // nobody knows
    let expired = choose(&entries, |exporter| rules(context, exporter), config.grace, u64::MAX, now, pinned).gone;
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
