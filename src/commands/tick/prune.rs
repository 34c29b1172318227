//! Files that nobody can be waiting for are removed: under a short write lock, which publishing needs, too (invariant 8).

use super::Round;
use crate::{
    cache::{Entry, choose},
    model::point,
    site,
};

/// So many files are removed under one lock.
const BATCH: usize = 100;

/// Scans the cache and removes what is past ttl, stale and grace, or beyond the cache's size.
pub fn files(round: &mut Round) -> anyhow::Result<()> {
    let mut problems = Vec::new();
    let mut entries = round.world.cache.scan(&mut problems);
    round.world.cache.heal_future(&mut entries, round.now, &mut problems);
    let goners = if round.calm { Vec::new() } else { chosen(round, &entries) };
    point::at("prune-chose");
    for batch in goners.chunks(BATCH) {
        remove(round, batch, &mut problems)?;
    }
    round.problems.append(&mut problems);
    reserve(round);
    Ok(())
}

/// The entries that go, by each exporter's rules.
pub fn chosen(round: &Round, entries: &[Entry]) -> Vec<Entry> {
    let config = &round.world.config;
    let rules = |exporter: &str| match config.exporters.get(exporter) {
        Some(exporter) => (exporter.ttl, exporter.stale),
        None => (config.cache.ttl, config.cache.stale),
    };
    choose(entries, rules, config.cache.grace, config.cache.max_size, round.now)
}

fn remove(round: &mut Round, batch: &[Entry], problems: &mut Vec<String>) -> anyhow::Result<()> {
    let cache = &round.world.cache;
    let removed = round.store.immediate(|tx| {
        let mut removed = Vec::new();
        for entry in batch {
            if tx.pinned(&entry.filename)? {
                continue;
            }
            match cache.remove(entry) {
                Ok(true) => removed.push(&entry.filename),
                Ok(false) => {}
                Err(error) => problems.push(format!("cannot prune {}: {error}", entry.filename)),
            }
        }
        Ok(removed)
    })?;
    for filename in removed {
        tracing::info!(filename, "pruned");
    }
    Ok(())
}

/// The reserve is given up while the disk is full, so that the queue can still be written, and taken back later.
fn reserve(round: &mut Round) {
    let site = &round.world.site;
    let free = site::free_bytes(&site.queue()).unwrap_or(u64::MAX);
    let outcome = if free < 1 << 20 { site.give_up_reserve() } else { site.restore_reserve() };
    if let Err(error) = outcome {
        tracing::debug!(%error, "reserve");
    }
}
