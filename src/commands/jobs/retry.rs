//! `jobs retry`: failed jobs are queued again as if they were new, and with each the failed sources that it waits for.

use super::bulk::{self, Deed, Done};
use crate::{
    cli::BulkArgs,
    commands::{
        fit,
        request::{Ask, Placed, enqueue, source_of},
        world::World,
    },
    exit::Failure,
    model::{clock::Stamp, job::Job, status::Status},
    store::Tx,
};

/// Requeues the jobs that are meant.
pub fn run(world: &World, args: &BulkArgs) -> Result<(), Failure> {
    let act = |tx: &Tx, id: i64| one(world, tx, id);
    let done = bulk::run(world, args, &deed(&act));
    world.site.ring();
    done
}

/// Requeues the job of this id.
pub fn by_id(world: &World, id: i64) -> Result<Done, Failure> {
    let act = |tx: &Tx, id: i64| one(world, tx, id);
    let done = bulk::one(&mut world.open_store()?, id, &deed(&act))?;
    world.site.ring();
    Ok(done)
}

fn deed(act: &dyn Fn(&Tx, i64) -> anyhow::Result<Done>) -> Deed<'_> {
    Deed { verb: "retry", on: &[Status::FailedTimeout, Status::FailedUnknown], act }
}

fn one(world: &World, tx: &Tx, id: i64) -> anyhow::Result<Done> {
    let Some(job) = tx.job_by_id(id)? else { return Ok(Err(format!("job {id} has gone"))) };
    if !job.status.is_failed() {
        let status = job.status.name();
        return Ok(Err(format!("job {id} ({}) is {status}, there is nothing to retry", job.filename)));
    }
    again(world, tx, &job, Stamp::now())
}

fn again(world: &World, tx: &Tx, job: &Job, now: Stamp) -> anyhow::Result<Done> {
    let ask = match ask(world, job) {
        Ok(ask) => ask,
        Err(sentence) => return Ok(Err(format!("job {} ({}): {sentence}", job.id, job.filename))),
    };
    if let Some(source) = source_of(&world.config, &ask)?
        && let Some(failed) = tx.job(&source.filename)?.filter(|source| source.status.is_failed())
        && let Err(sentence) = again(world, tx, &failed, now)?
    {
        return Ok(Err(sentence));
    }
    Ok(match enqueue(world, tx, &ask, Some(job), now)? {
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
fn ask<'a>(world: &'a World, job: &Job) -> Result<Ask<'a>, String> {
    let ask = fit::fit(&world.config, &job.exporter, &job.params, &job.filename)?;
    Ok(Ask { client: job.client.clone(), priority: job.priority, after: job.source_after, ..ask })
}
