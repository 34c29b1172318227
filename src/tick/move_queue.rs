//! Jobs in a queue that is no longer configured go where a request would put them now, or they would never be started.

use super::{Round, claim, plan::PlanStep, seats, standstill};
use crate::{context::Context, model::job::Job, request::fit, store::View};

/// So many of one queue go in one round.
const BATCH: u32 = 1000;

/// Moves those that wait for nothing; the others follow when they wait no longer. What is held for want of its exporter
/// stays: nobody knows where it belongs.
pub fn jobs(round: &mut Round) -> anyhow::Result<()> {
    let (context, now) = (round.context, round.now);
    let held = seats::unknown(&context.config, &round.store.view())?;
    for queue in homeless(&round.store.view(), context)? {
        // Looked at first: the write lock is not for a round that moves nothing.
        if round.store.view().ready_in(&queue, &held, 1)?.is_empty() {
            continue;
        }
        let moved = round.store.immediate(|tx| {
            let jobs = tx.ready_in(&queue, &held, BATCH)?;
            for job in &jobs {
                standstill::move_to(context, tx, job, home(context, job), now)?;
            }
            Ok(jobs)
        })?;
        for job in &moved {
            round.note(|| PlanStep::Move { job: job.into(), from: queue.clone(), to: home(context, job).to_owned() });
        }
        let moved = moved.len();
        tracing::info!(queue, moved, "the queue is no longer configured");
    }
    Ok(())
}

/// Queues that have jobs and no rules.
pub fn homeless(view: &View, context: &Context) -> anyhow::Result<Vec<String>> {
    let known = |name: &String| context.config.queues.contains_key(name);
    let full = view.queues()?.into_iter().filter(|(name, state)| state.queued > 0 && !known(name));
    Ok(full.map(|(name, _)| name).collect())
}

/// A job that fits nothing any more is told so at its claim, in the queue that always exists.
fn home<'a>(context: &'a Context, job: &Job) -> &'a str {
    claim::fit(context, job).map_or("default", |ask| fit::home(&ask))
}
