//! What can be done about jobs. `jobs cancel`: a queued job is forgotten at once, the run of a started one is asked to end
//! it. `jobs dismiss`: a failed job is forgotten, as if nobody had asked; its attempts stay in the history. `jobs retry`:
//! failed jobs are queued again as if they were new, and with each the failed sources that it waits for.

use anyhow::Context as _;

use super::bulk::{self, BulkAction, Done};
use crate::{
    cli::BulkArgs,
    context::Context,
    exit::Failure,
    model::{
        clock::Stamp,
        job::{AttemptId, Job},
        status::{DropReason, Outcome, Status},
    },
    request::{Ask, Look, fit, source_of},
    store::{Drop, Tx},
    supervise,
};

const CANCEL: BulkAction = BulkAction { verb: "cancel", on: &[Status::Queued, Status::Started], act: &cancel_one };

/// Cancels the jobs that are meant.
pub fn cancel(context: &Context, args: &BulkArgs) -> Result<(), Failure> {
    let done = bulk::run(context, args, &CANCEL);
    context.site.ring();
    done
}

/// Cancels the job of this id.
pub fn cancel_by_id(context: &Context, id: i64) -> Result<Done, Failure> {
    let done = bulk::one(&mut context.open_store()?, id, &CANCEL)?;
    context.site.ring();
    Ok(done)
}

/// Whether there is something to cancel.
pub fn can_be_cancelled(job: &Job) -> bool {
    CANCEL.on.contains(&job.status) && !job.cancel
}

fn cancel_one(tx: &Tx, id: i64) -> anyhow::Result<Done> {
    let Some(job) = tx.job_by_id(id)? else { return Ok(Err(format!("job {id} has gone"))) };
    Ok(match job.status {
        Status::Queued => Ok(forget(tx, &job)?),
        Status::Started => {
            tx.ask_cancel(id)?;
            tracing::info!(job = id, attempt = job.attempt.as_deref(), filename = job.filename, "asked to end");
            Ok(format!("asked job {id} ({}) to end", job.filename))
        }
        Status::FailedTimeout | Status::FailedUnknown => {
            let advice = format!("`pressroom jobs dismiss {id}` forgets it");
            Err(format!("job {id} ({}) has failed already, there is nothing to cancel; {advice}", job.filename))
        }
    })
}

fn forget(tx: &Tx, job: &Job) -> anyhow::Result<String> {
    tx.fail_dependents(&job.filename, Outcome::Cancelled, "the file that it is made from was cancelled")?;
    let why = Drop {
        reason: DropReason::Cancelled,
        message: "it was cancelled by an administrator",
        detail: "cancelled by an administrator",
    };
    // Last: a row that goes wakes what waits for it.
    tx.drop_queued(job, &AttemptId::from(supervise::new_id()?), &why, Stamp::now())?;
    tracing::info!(job = job.id, filename = job.filename, "cancelled");
    Ok(format!("cancelled job {} ({})", job.id, job.filename))
}

const DISMISS: BulkAction =
    BulkAction { verb: "dismiss", on: &[Status::FailedTimeout, Status::FailedUnknown], act: &dismiss_one };

/// Forgets the failures that are meant.
pub fn dismiss(context: &Context, args: &BulkArgs) -> Result<(), Failure> {
    bulk::run(context, args, &DISMISS)
}

/// Forgets the failed job of this id.
pub fn dismiss_by_id(context: &Context, id: i64) -> Result<Done, Failure> {
    Ok(bulk::one(&mut context.open_store()?, id, &DISMISS)?)
}

fn dismiss_one(tx: &Tx, id: i64) -> anyhow::Result<Done> {
    let Some(job) = tx.job_by_id(id)? else { return Ok(Err(format!("job {id} has gone"))) };
    if !job.status.is_failed() {
        let (status, name) = (job.status.name(), &job.filename);
        return Ok(Err(format!("job {id} ({name}) is {status}, not failed; `pressroom jobs cancel {id}` ends it")));
    }
    tx.delete(id, job.status)?;
    tracing::info!(job = id, filename = job.filename, "dismissed");
    Ok(Ok(format!("dismissed job {id} ({})", job.filename)))
}

/// Requeues the jobs that are meant.
pub fn retry(context: &Context, args: &BulkArgs) -> Result<(), Failure> {
    let act = |tx: &Tx, id: i64| retry_one(context, tx, id);
    let done = bulk::run(context, args, &retrying(&act));
    context.site.ring();
    done
}

/// Requeues the job of this id.
pub fn retry_by_id(context: &Context, id: i64) -> Result<Done, Failure> {
    let act = |tx: &Tx, id: i64| retry_one(context, tx, id);
    let done = bulk::one(&mut context.open_store()?, id, &retrying(&act))?;
    context.site.ring();
    Ok(done)
}

fn retrying(act: &dyn Fn(&Tx, i64) -> anyhow::Result<Done>) -> BulkAction<'_> {
    BulkAction { verb: "retry", on: &[Status::FailedTimeout, Status::FailedUnknown], act }
}

fn retry_one(context: &Context, tx: &Tx, id: i64) -> anyhow::Result<Done> {
    let Some(job) = tx.job_by_id(id)? else { return Ok(Err(format!("job {id} has gone"))) };
    if !job.status.is_failed() {
        let status = job.status.name();
        return Ok(Err(format!("job {id} ({}) is {status}, there is nothing to retry", job.filename)));
    }
    again(context, tx, &job, Stamp::now())
}

fn again(context: &Context, tx: &Tx, job: &Job, now: Stamp) -> anyhow::Result<Done> {
    let ask = match ask(context, job) {
        Ok(ask) => ask,
        Err(sentence) => return Ok(Err(format!("job {} ({}): {sentence}", job.id, job.filename))),
    };
    if let Some(source) = source_of(&context.config, &ask)?
        && let Some(failed) = tx.job(&source.filename)?.filter(|source| source.status.is_failed())
        && let Err(sentence) = again(context, tx, &failed, now)?
    {
        return Ok(Err(sentence));
    }
    match (Look { context, view: tx, now }).plan_ours(&ask, Some(job.clone()))? {
        Ok(steps) => {
            let job = tx.enqueue(&steps, now)?.context("nothing was queued")?;
            // Whoever tries again says that the fault is gone.
            tx.close_breaker(&job.exporter, now)?;
            Ok(Ok(format!("queued job {} ({})", job.id, job.filename)))
        }
        Err(refusal) => {
            Ok(Err(format!("job {} ({}): its source cannot be queued: {}", job.id, job.filename, refusal.reason())))
        }
    }
}

/// The wish that the row stands for, by the configuration as it is now.
fn ask<'a>(context: &'a Context, job: &Job) -> Result<Ask<'a>, String> {
    let ask = fit::fit(&context.config, &job.exporter, &job.params, &job.filename)?;
    Ok(Ask { client: job.client.clone(), priority: job.priority, after: job.source_after, ..ask })
}
