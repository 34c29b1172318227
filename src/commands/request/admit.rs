//! Why a request may not queue a job just now.

use super::{Ask, chain, estimate};
use crate::{
    commands::world::World,
    config::{Exporter, params},
    model::{
        answer::{Answer, State},
        breaker::{self, Breaker},
        clock::Stamp,
    },
    site,
    store::{Mode, View},
};

/// How many first attempts the breaker looks at, for each failure that it counts.
const LOOK_BACK: u32 = 4;

/// The refusal, if there is a reason for one: the queue, the client, the disk, the exporter.
pub fn refusal(world: &World, view: &View, ask: &Ask, now: Stamp) -> anyhow::Result<Option<Answer>> {
    let sources = chain::sources_to_place(world, view, ask, now)?;
    if let Some(refusal) = full(world, view, ask, sources)? {
        return Ok(Some(refusal));
    }
    if let Some(seconds) = over_limit(world, view, ask, sources)? {
        return Ok(Some(later(State::Limited, "too many of your files are waiting already", seconds)));
    }
    if disk_is_low(world) {
        return Ok(Some(later(State::Unavailable, "the server is low on disk space", 60)));
    }
    if let Breaker::Open { until } = breaker_of(view, ask.exporter, now)? {
        let wait = until.since(now).as_secs() + 1;
        return Ok(Some(later(State::Unavailable, "this export is failing just now", wait)));
    }
    Ok(None)
}

/// The refusal of the queue alone: it is draining, or as long as it may be. `sources` go into the same queue with it.
pub fn full(world: &World, view: &View, ask: &Ask, sources: u64) -> anyhow::Result<Option<Answer>> {
    let queue = params::lane(ask.exporter, &ask.values);
    let state = view.queue(queue)?;
    if state.mode == Mode::Draining {
        return Ok(Some(later(State::Unavailable, "no new files are made just now", 300)));
    }
    if world.config.queues.get(queue).is_none_or(|rules| state.queued.saturating_add(sources) < rules.max_queued) {
        return Ok(None);
    }
    let seconds = estimate::relief(world, view, ask.exporter, queue, state.queued)?;
    Ok(Some(later(State::Unavailable, "too many files are waiting already", seconds)))
}

/// The seconds after which a client who has too much pending has probably one job less.
fn over_limit(world: &World, view: &View, ask: &Ask, sources: u64) -> anyhow::Result<Option<u64>> {
    let queue = params::lane(ask.exporter, &ask.values);
    let (Some(client), Some(rules)) = (&ask.client, world.config.queues.get(queue)) else { return Ok(None) };
    let pending = view.client_pending(queue, client)?;
    // Who has nothing pending is let in with whatever the file is made from, however low the limit.
    let over = pending > 0 && pending.saturating_add(sources) >= rules.max_per_client;
    over.then(|| estimate::relief(world, view, ask.exporter, queue, pending)).transpose()
}

/// Below `min_free` nothing is claimed, so nothing is promised.
pub fn disk_is_low(world: &World) -> bool {
    site::free_bytes(&world.site.cache()).is_ok_and(|free| free < world.config.cache.min_free)
}

/// Whether the exporter's machine is broken, from its last first attempts.
pub fn breaker_of(view: &View, exporter: &Exporter, now: Stamp) -> anyhow::Result<Breaker> {
    let firsts = view.first_attempts(&exporter.name, exporter.breaker.failures.saturating_mul(LOOK_BACK))?;
    Ok(breaker::state(&firsts, exporter.breaker.failures, exporter.breaker.pause, now))
}

fn later(state: State, reason: &str, seconds: u64) -> Answer {
    Answer { retry_after: Some(seconds), ..Answer::because(state, reason) }
}
