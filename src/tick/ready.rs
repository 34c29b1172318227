//! Jobs become ready to be claimed: those whose time has come, and those in a queue that is no longer configured, which go
//! where a request would put them now.

use super::{
    plan::PlanStep,
    round::{Round, step_end},
    seats,
    standstill::Still,
};
use crate::{
    context::Context,
    model::{age, clock::Stamp, job::Job},
    request::{Ask, fit},
    store::{Place, QueueMove, View},
};

/// Jobs whose time has come are ready from here on.
pub fn wake(round: &mut Round) -> anyhow::Result<()> {
    // Looked at first: the write lock is not for a round in which nothing comes due.
    if round.store.view().next_wake()?.is_none_or(|wake| wake > round.now) {
        return Ok(());
    }
    // A clock that is wrongly ahead wakes only what was put off by itself.
    let ahead = round.clock.doubt().filter(|doubt| doubt.right < round.now);
    let asleep = ahead.map(|doubt| (doubt.right, doubt.from));
    let jobs = round.store.wake_due(asleep, step_end())?;
    round.note(|| PlanStep::Wake { jobs });
    Ok(())
}

/// So many of one queue go in one round.
const MOVE_BATCH: u32 = 1000;

/// Moves those that wait for nothing; the others follow when they wait no longer. What is held for want of its exporter
/// stays: nobody knows where it belongs.
pub fn move_homeless(round: &mut Round) -> anyhow::Result<()> {
    let (context, now) = (round.context, round.now);
    let held = seats::unknown(&context.config, &round.store.view())?;
    let place = |view: &View, job: &Job| to_queue(context, view, job, home(context, job), now);
    for queue in homeless(&round.store.view(), context)? {
        let moved = round.store.move_ready(&queue, &held, MOVE_BATCH, place)?;
        if !moved.is_empty() {
            tracing::info!(queue, moved = moved.len(), "the queue is no longer configured");
        }
        for (job, to) in moved {
            round.note(|| PlanStep::Move { job: (&job).into(), from: queue.clone(), to });
        }
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
    fit(context, job).map_or("default", |ask| fit::home(&ask))
}

/// The row, checked against the configuration as it is now.
pub fn fit<'a>(context: &'a Context, job: &Job) -> Result<Ask<'a>, String> {
    fit::fit(&context.config, &job.exporter, &job.params, &job.filename)
}

/// A queued job goes on in another queue, and has waited there for as long as it has waited so far.
pub fn to_queue(context: &Context, view: &View, job: &Job, queue: &str, now: Stamp) -> anyhow::Result<QueueMove> {
    Ok(QueueMove { queue: queue.to_owned(), queued_since: queued_since(context, view, job, queue, now)? })
}

fn queued_since(context: &Context, view: &View, job: &Job, queue: &str, now: Stamp) -> anyhow::Result<Option<Stamp>> {
    if !view.has_standstills()? {
        return Ok(None);
    }
    let Some(since) = view.job_queued_since(job.id)?.filter(|since| *since < now) else { return Ok(None) };
    let still = Still::noted(view, now)?;
    let spans =
        |queue: &str| still.spans(&context.config, &Place { exporter: job.exporter.clone(), queue: queue.to_owned() });
    let waited = age::time_without(since, now, &spans(&job.queue));
    // Where nobody has ever ticked it may lie before all time, and no row says that.
    Ok(Some(age::moment_before(now, waited, &spans(queue)).max(Stamp(0))))
}
