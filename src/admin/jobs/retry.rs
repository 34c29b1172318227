//! `jobs retry`: failed jobs are queued again as if they were new, and with each the failed sources that it waits for.

use super::bulk::{self, BulkAction, Done};
use crate::{
    cli::BulkArgs,
    context::Context,
    exit::Failure,
    model::{
        clock::Stamp,
        job::{Job, Status},
    },
    request::{Ask, Placed, enqueue, fit, source_of},
    store::Tx,
};

/// Requeues the jobs that are meant.
pub fn run(context: &Context, args: &BulkArgs) -> Result<(), Failure> {
    let act = |tx: &Tx, id: i64| one(context, tx, id);
    let done = bulk::run(context, args, &deed(&act));
    context.site.ring();
    done
}

/// Requeues the job of this id.
pub fn by_id(context: &Context, id: i64) -> Result<Done, Failure> {
    let act = |tx: &Tx, id: i64| one(context, tx, id);
    let done = bulk::one(&mut context.open_store()?, id, &deed(&act))?;
    context.site.ring();
    Ok(done)
}

fn deed(act: &dyn Fn(&Tx, i64) -> anyhow::Result<Done>) -> BulkAction<'_> {
    BulkAction { verb: "retry", on: &[Status::FailedTimeout, Status::FailedUnknown], act }
}

fn one(context: &Context, tx: &Tx, id: i64) -> anyhow::Result<Done> {
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
    Ok(match enqueue(context, tx, &ask, Some(job), now)? {
        // Whoever tries again says that the fault is gone.
        Placed::Job(job) => {
            tx.close_breaker(&job.exporter, now)?;
            Ok(format!("queued job {} ({})", job.id, job.filename))
        }
        Placed::Refused(answer) => {
            let reason = answer.reason.or(answer.message).unwrap_or_default();
            Err(format!("job {} ({}): its source cannot be queued: {reason}", job.id, job.filename))
        }
    })
}

/// The wish that the row stands for, by the configuration as it is now.
fn ask<'a>(context: &'a Context, job: &Job) -> Result<Ask<'a>, String> {
    let ask = fit::fit(&context.config, &job.exporter, &job.params, &job.filename)?;
    Ok(Ask { client: job.client.clone(), priority: job.priority, after: job.source_after, ..ask })
}
