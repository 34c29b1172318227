//! Files that nobody can be waiting for are removed: under a short write lock, which publishing needs, too (invariant 8).

use std::time::Duration;

use super::{
    Round,
    plan::{Moment, PlanStep},
};
use crate::{
    cache::{CacheEntry, Chosen, choose},
    context::Context,
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
    if round.plan.is_some() {
        for entry in &mut entries {
            entry.made = healed(entry.made, round.now);
        }
    } else if round.clock_doubt.is_none() {
        let misdated = round.misdated.filter(|(_, to)| *to < round.now);
        round.context.cache.heal(&mut entries, round.now, misdated, &mut problems);
    }
    let chosen =
        if round.calm { Chosen::default() } else { chosen(round.context, &round.store.view(), &entries, round.now) };
    failpoint::at("prune-chose");
    let removed = if round.plan.is_some() { foresee(round, &chosen)? } else { remove(round, &chosen, &mut problems)? };
    round.also(problems);
    if round.plan.is_none() {
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
    if round.calm {
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
    if let Some(plan) = &mut round.plan {
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
    round.in_slices(&chosen.gone, Duration::MAX, |tx, entry| {
        if !tx.pinned(&entry.filename)? {
            match cache.remove(entry) {
                Ok(true) => removed.push(entry.clone()),
                Ok(false) => {}
                Err(error) => problems.push(format!("cannot prune {}: {error}", entry.filename)),
            }
        }
        Ok(())
    })?;
    for CacheEntry { filename, .. } in &removed {
        tracing::info!(filename, "pruned");
    }
    let pruned = |entry: &CacheEntry| ActivityEvent::new("pruned", Stamp::now()).with("filename", &*entry.filename);
    round.context.tell(&removed.iter().map(pruned).collect::<Vec<_>>());
    round.in_slices(&chosen.expired, Duration::MAX, |tx, (entry, made)| {
        let filename = &entry.filename;
        if !tx.pinned(filename)? {
            match cache.expire(entry, *made) {
                Ok(true) => {
                    tracing::info!(filename, "expired, as the cache is full");
                    tx.tell(ActivityEvent::new("expired", Stamp::now()).with("filename", &**filename));
                }
                Ok(false) => {}
                Err(error) => problems.push(format!("cannot expire {filename}: {error}")),
            }
        }
        Ok(())
    })?;
    Ok(removed)
}

/// Written down for whoever must not walk through the whole cache.
fn figures(round: &mut Round, entries: &[CacheEntry], removed: &[CacheEntry]) -> anyhow::Result<()> {
    let size = |entries: &[CacheEntry]| entries.iter().fold(0_u64, |sum, entry| sum.saturating_add(entry.size));
    let figures = ((entries.len() - removed.len()) as u64, size(entries).saturating_sub(size(removed)));
    if round.store.view().cache_figures()? != Some(figures) {
        round.store.immediate(|tx| Ok(tx.set_cache_figures(figures.0, figures.1)?))?;
    }
    Ok(())
}

/// The reserve is given up while the disk is full, so that the queue can still be written, and taken back later.
fn reserve(round: &mut Round) {
    let site = &round.context.site;
    let free = site::room(&site.queue()).unwrap_or(u64::MAX);
    let outcome = if free < 1 << 20 { site.give_up_reserve() } else { site.restore_reserve() };
    if let Err(error) = outcome {
        tracing::warn!(path = %site.reserve().display(), %error, "the reserve cannot be used");
    }
}
