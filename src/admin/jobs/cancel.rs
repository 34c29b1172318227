//! `jobs cancel`: a queued job is forgotten at once, the run of a started one is asked to end it.

use super::bulk::{self, BulkAction, Done};
use crate::{
    cli::BulkArgs,
    context::Context,
    exit::Failure,
    model::{
        attempt::AttemptId,
        clock::Stamp,
        job::{DropReason, Job, Outcome, Status},
    },
    run::close::fail_dependents,
    store::{Drop, Tx},
    supervise,
};

const DEED: BulkAction = BulkAction { verb: "cancel", on: &[Status::Queued, Status::Started], act: &one };

/// Cancels the jobs that are meant.
pub fn run(context: &Context, args: &BulkArgs) -> Result<(), Failure> {
    let done = bulk::run(context, args, &DEED);
    context.site.ring();
    done
}

/// Cancels the job of this id.
pub fn by_id(context: &Context, id: i64) -> Result<Done, Failure> {
    let done = bulk::one(&mut context.open_store()?, id, &DEED)?;
    context.site.ring();
    Ok(done)
}

/// Whether there is something to cancel.
pub fn fits(job: &Job) -> bool {
    DEED.on.contains(&job.status) && !job.cancel
}

fn one(tx: &Tx, id: i64) -> anyhow::Result<Done> {
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
    fail_dependents(tx, &job.filename, Outcome::Cancelled, "the file that it is made from was cancelled")?;
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
