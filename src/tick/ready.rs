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
    store::{Place, Tx, View},
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
    let mut jobs = 0;
    round.repeat(step_end(), |tx| {
        let now = Stamp::now();
        let woken = asleep.map_or_else(|| tx.wake(now), |(after, before)| tx.wake_except(now, after, before))?;
        jobs += woken;
        Ok(woken > 0)
    })?;
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
    for queue in homeless(&round.store.view(), context)? {
        // Looked at first: the write lock is not for a round that moves nothing.
        if round.store.view().ready_in(&queue, &held, 1)?.is_empty() {
            continue;
        }
        let moved = round.store.immediate(|tx| {
            let jobs = tx.ready_in(&queue, &held, MOVE_BATCH)?;
            for job in &jobs {
                move_to(context, tx, job, home(context, job), now)?;
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
    fit(context, job).map_or("default", |ask| fit::home(&ask))
}

/// A queued job goes on in another queue, and has waited there for as long as it has waited so far.
pub fn move_to(context: &Context, tx: &Tx, job: &Job, queue: &str, now: Stamp) -> anyhow::Result<()> {
    if !tx.move_to(job, queue)? || !tx.has_standstills()? {
        return Ok(());
    }
    let Some(since) = tx.job_queued_since(job.id)?.filter(|since| *since < now) else { return Ok(()) };
    let still = Still::noted(tx, now)?;
    let spans =
        |queue: &str| still.spans(&context.config, &Place { exporter: job.exporter.clone(), queue: queue.to_owned() });
    let waited = age::time_without(since, now, &spans(&job.queue));
    // Where nobody has ever ticked it may lie before all time, and no row says that.
    Ok(tx.set_queued_since(job.id, age::moment_before(now, waited, &spans(queue)).max(Stamp(0)))?)
}

/// The row, checked against the configuration as it is now.
pub(super) fn fit<'a>(context: &'a Context, job: &Job) -> Result<Ask<'a>, String> {
    fit::fit(&context.config, &job.exporter, &job.params, &job.filename)
}
