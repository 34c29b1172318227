//! Files that nobody can be waiting for are removed: under a short write lock, which publishing needs, too (invariant 8).

use std::time::Duration;

use super::Round;
use crate::{
    cache::{Entry, choose},
    commands::world::World,
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
    choose(entries, |exporter| rules(round.world, exporter), config.cache.grace, config.cache.max_size, round.now)
}

/// How long files of an exporter are served, and served as stale; of one that is not configured by the general rules.
pub fn rules(world: &World, exporter: &str) -> (Option<Duration>, Duration) {
    let config = &world.config;
    let own = config.exporters.get(exporter).map(|exporter| (exporter.ttl, exporter.stale));
    own.unwrap_or((config.cache.ttl, config.cache.stale))
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
        tracing::warn!(path = %site.reserve().display(), %error, "the reserve cannot be used");
    }
}
