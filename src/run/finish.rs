//! After the exporter: what is recorded of it, and how its file is published before its row is forgotten (invariant 2).

use std::{
    fs,
    path::Path,
    thread::sleep,
    time::{Duration, Instant},
};

use nix::unistd::syncfs;

use super::close::Closing;
use crate::{
    cache::{self, NotAccepted, Prepared},
    config::FileOutput,
    context::Context,
    exit::Failure,
    model::{
        clock::Stamp,
        failpoint,
        job::{Claim, Record},
        status::Outcome,
    },
    site,
    store::{Store, StoreError},
    supervise::{self, ExecSpec, ProcessResult},
};

/// So long a finished export waits for a database that is busy.
const STORE_TIMEOUT: Duration = Duration::from_mins(10);

/// What the ending says by itself.
pub fn record(ending: &ProcessResult, order: &ExecSpec, now: Stamp) -> Record {
    Record {
        exit_code: ending.exit_code,
        signal: ending.signal,
        peak_memory: Some(ending.peak_memory),
        cpu_used: Some(ending.cpu_used),
        log_tail: ending.log_tail.clone(),
        ..Record::bare(supervise::classify(ending, &order.limits), now, ending.duration)
    }
}

/// A failure's line for the visitor, if the exporter left one.
pub fn explain(record: &mut Record, order: &ExecSpec) {
    if record.outcome != Outcome::Ok {
        record.message = supervise::read_message(&order.message).or(record.message.take());
    }
}

/// Checks the file, publishes it and forgets the row; what is not acceptable ends as a failure.
pub fn publish(
    context: &Context,
    store: &mut Store,
    claim: &Claim,
    rules: &FileOutput,
    order: &ExecSpec,
    mut record: Record,
) -> Result<(), Failure> {
    let refused = match prepared(context, rules, order) {
        Ok((prepared, size)) => {
            record.output_size = Some(size);
            failpoint::at("run-prepared");
            match publish_and_forget(context, store, &Closing::new(claim, &record), &prepared) {
                Err(failure) => NoPublish::unpublished(&context.site, claim, failure)?,
                Ok(()) => return Ok(()),
            }
        }
        Err(refused) => refused,
    };
    refused.tell(&mut record);
    explain(&mut record, order);
    make_room(order);
    patiently(context, store, |store| Closing::new(claim, &record).close(store, &context.config)).map(drop)
}

/// A file that is not published, on a disk without space: it may be what fills it, and the end of its attempt could not be
/// written before it is swept, nor would it be swept before that is written.
pub fn make_room(order: &ExecSpec) {
    const LEAST: u64 = 1 << 20;
    let is_full = site::room(&order.work).is_ok_and(|room| room < LEAST);
    if let Some(out) = order.output.as_deref().filter(|_| is_full) {
        let _ = fs::remove_file(out);
        // Some file systems only count as free what a commit of theirs has freed.
        let _ = fs::File::open(&order.work).map(syncfs);
    }
}

/// Why an exporter's claim of success is not believed.
struct NoPublish {
    outcome: Outcome,
    detail: String,
    message: Option<&'static str>,
}

impl NoPublish {
    /// A file that cannot get its name: a directory lies in its place, or the disk is full. What the database refused
    /// stays a failure of the run.
    fn unpublished(site: &site::Site, claim: &Claim, failure: Failure) -> Result<Self, Failure> {
        match failure.error.as_ref().and_then(|error| error.downcast_ref::<std::io::Error>()) {
            Some(error) => Ok(Self {
                outcome: Outcome::NoOutput,
                detail: format!(
                    "cannot publish the output: {}",
                    site.exporter_refusal(&claim.exporter)
                        .unwrap_or_else(|| site.with_whole_command(&error.to_string()))
                ),
                message: None,
            }),
            None => Err(failure),
        }
    }

    fn tell(self, record: &mut Record) {
        record.outcome = self.outcome;
        record.detail = Some(self.detail);
        record.message = self.message.map(str::to_owned);
    }
}

impl From<NotAccepted> for NoPublish {
    fn from(refusal: NotAccepted) -> Self {
        Self { outcome: refusal.outcome(), detail: refusal.to_string(), message: Some(refusal.for_visitor()) }
    }
}

fn prepared(context: &Context, rules: &FileOutput, order: &ExecSpec) -> Result<(Prepared, u64), NoPublish> {
    let out = order.output.as_deref().unwrap_or(Path::new(""));
    cache::accept(out, rules, order.limits.file_size)?;
    let failed = |error: std::io::Error| NoPublish {
        outcome: Outcome::NoOutput,
        detail: format!("cannot prepare the output: {error}"),
        message: None,
    };
    let prepared = cache::prepare(out, &context.cache, Stamp::now(), supervise::may_be_written).map_err(failed)?;
    // Only now nobody can change it any more.
    let size = cache::accept(out, rules, order.limits.file_size)?;
    Ok((prepared, size))
}

fn publish_and_forget(
    context: &Context,
    store: &mut Store,
    ended: &Closing,
    prepared: &Prepared,
) -> Result<(), Failure> {
    let claim = ended.claim;
    patiently(context, store, |store| {
        ended.publish(store, &context.config, || {
            failpoint::at("run-before-rename");
            prepared.publish(&claim.filename, &claim.attempt)?;
            failpoint::at("run-renamed");
            Ok(())
        })
    })?;
    failpoint::at("run-committed");
    Ok(())
}

/// One operation of the store, tried again for ten minutes while the database is busy: an export that took an hour is not thrown
/// away for that.
///
/// On a full disk the reserve is given up at once: it may be this very export that fills the disk, and only what is
/// recorded is swept.
pub fn patiently<T>(
    context: &Context,
    store: &mut Store,
    work: impl Fn(&mut Store) -> anyhow::Result<T>,
) -> Result<T, Failure> {
    let end = Instant::now() + STORE_TIMEOUT;
    loop {
        match work(store) {
            Err(error) if is_passing(context, &error) && Instant::now() < end => {}
            result => return Ok(result?),
        }
    }
}

/// The database, for which the end of an attempt waits as long as for a transaction.
pub fn open_patiently(context: &Context) -> Result<Store, Failure> {
    let end = Instant::now() + STORE_TIMEOUT;
    loop {
        match context.open_store() {
            Err(Failure { error: Some(error), .. }) if is_passing(context, &error) && Instant::now() < end => {}
            Ok(mut store) => {
                context.keep_activity(&mut store);
                return Ok(store);
            }
            failed @ Err(_) => return failed,
        }
    }
}

/// Whether trying again makes sense; then some time has passed, or some space was freed.
fn is_passing(context: &Context, error: &anyhow::Error) -> bool {
    let cause = error.downcast_ref();
    let freed = matches!(cause, Some(StoreError::DiskFull)) && context.site.give_up_reserve().unwrap_or(false);
    let passing = matches!(cause, Some(StoreError::Busy | StoreError::DiskFull));
    if passing && !freed {
        sleep(Duration::from_secs(1));
    }
    passing
}
