//! `jobs dismiss`: a failed job is forgotten, as if nobody had asked; its attempts stay in the history.

use super::bulk::{self, BulkAction, Done};
use crate::{cli::BulkArgs, context::Context, exit::Failure, model::job::Status, store::Tx};

const DEED: BulkAction = BulkAction { verb: "dismiss", on: &[Status::FailedTimeout, Status::FailedUnknown], act: &one };

/// Forgets the failures that are meant.
pub fn run(context: &Context, args: &BulkArgs) -> Result<(), Failure> {
    bulk::run(context, args, &DEED)
}

/// Forgets the failed job of this id.
pub fn by_id(context: &Context, id: i64) -> Result<Done, Failure> {
    Ok(bulk::one(&mut context.open_store()?, id, &DEED)?)
}

fn one(tx: &Tx, id: i64) -> anyhow::Result<Done> {
    let Some(job) = tx.job_by_id(id)? else { return Ok(Err(format!("job {id} has gone"))) };
    if !job.status.is_failed() {
        let (status, name) = (job.status.name(), &job.filename);
        return Ok(Err(format!("job {id} ({name}) is {status}, not failed; `pressroom jobs cancel {id}` ends it")));
    }
    tx.delete(id, job.status)?;
    tracing::info!(job = id, filename = job.filename, "dismissed");
    Ok(Ok(format!("dismissed job {id} ({})", job.filename)))
}
