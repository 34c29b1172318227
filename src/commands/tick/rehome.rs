//! Jobs in a queue that is no longer configured go where a request would put them now, or they would never be started.

use super::{Round, claim, plan::Step, seats, standstill};
use crate::{
    commands::{fit, world::World},
    model::job::Job,
    store::View,
};

/// So many of one queue go in one round.
const BATCH: u32 = 1000;

/// Moves those that wait for nothing; the others follow when they wait no longer. What is held for want of its exporter
/// stays: nobody knows where it belongs.
pub fn jobs(round: &mut Round) -> anyhow::Result<()> {
    let (world, now) = (round.world, round.now);
    let held = seats::unknown(&world.config, &round.store.view())?;
    for queue in homeless(&round.store.view(), world)? {
        // Looked at first: the write lock is not for a round that moves nothing.
        if round.store.view().ready_in(&queue, &held, 1)?.is_empty() {
            continue;
        }
        let moved = round.store.immediate(|tx| {
            let jobs = tx.ready_in(&queue, &held, BATCH)?;
            for job in &jobs {
                standstill::move_to(world, tx, job, home(world, job), now)?;
            }
            Ok(jobs)
        })?;
        for job in &moved {
            round.note(|| Step::Move { job: job.into(), from: queue.clone(), to: home(world, job).to_owned() });
        }
        let moved = moved.len();
        tracing::info!(queue, moved, "the queue is no longer configured");
    }
    Ok(())
}

/// Queues that have jobs and no rules.
pub fn homeless(view: &View, world: &World) -> anyhow::Result<Vec<String>> {
    let known = |name: &String| world.config.queues.contains_key(name);
    let full = view.queues()?.into_iter().filter(|(name, state)| state.queued > 0 && !known(name));
    Ok(full.map(|(name, _)| name).collect())
}

/// A job that fits nothing any more is told so at its claim, in the queue that always exists.
fn home<'a>(world: &'a World, job: &Job) -> &'a str {
    claim::fit(world, job).map_or("default", |ask| fit::home(&ask))
}
