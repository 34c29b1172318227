//! What the activity log keeps of an ending: how it ended, what follows, and whether the breaker of its exporter has
//! opened or closed by it.

use std::os::unix::fs::MetadataExt;

use crate::{
    config::{Config, Exporter},
    model::{
        breaker::Breaker,
        clock::Stamp,
        job::{Claim, Job, Record},
        limits::Limits,
        retry::{self, Rules},
        status::{Outcome, Status},
    },
    request::breaker_of,
    site::ActivityEvent,
    store::{Retry, Tx},
};

/// Whether the breaker of an exporter was open before an attempt of it is closed. `None`: the attempt changes nothing about
/// it, or nobody knows; what is only told never breaks an ending (invariant 12).
pub struct BreakerBefore<'a>(Option<(&'a Exporter, bool)>);

impl<'a> BreakerBefore<'a> {
    /// Only first attempts count for it.
    pub fn of(ended: &Closing, tx: &Tx, config: &'a Config) -> Self {
        let exporter = config.exporters.get(&ended.claim.exporter).filter(|_| ended.claim.number == 1);
        Self(exporter.and_then(|exporter| Some((exporter, is_open(tx, exporter)?))))
    }

    /// One that was closed is still so after an attempt that ended well.
    fn tell(&self, tx: &Tx, outcome: Outcome) {
        let Some((exporter, was_open)) = self.0.filter(|(_, was_open)| *was_open || outcome != Outcome::Ok) else {
            return;
        };
        let word = match (was_open, is_open(tx, exporter)) {
            (false, Some(true)) => "breaker_opened",
            (true, Some(false)) => "breaker_closed",
            _ => return,
        };
        tx.tell(ActivityEvent::new(word, Stamp::now()).with("exporter", &*exporter.name));
    }
}

fn is_open(tx: &Tx, exporter: &Exporter) -> Option<bool> {
    breaker_of(tx, exporter, Stamp::now()).ok().map(|breaker| breaker != Breaker::Closed)
}

/// Tells what an attempt that has just been closed was, and what its job is now.
pub fn tell(ended: &Closing, tx: &Tx, before: &BreakerBefore) {
    let Closing { claim, record, .. } = ended;
    tx.tell(ActivityEvent::new("ended", record.ended).claim(claim).record(record));
    if record.outcome == Outcome::Ok && record.output_size.is_some() {
        tx.tell(ActivityEvent::new("published", record.ended).claim(claim).with("size", record.output_size));
    }
    if let Ok(Some(job)) = tx.job(&claim.filename)
        && let Some(after) = becomes(&job, record.ended)
    {
        tx.tell(after.job(&job).with("attempts", job.attempts).with("result", record.outcome.name()));
    }
    before.tell(tx, record.outcome);
}

/// What the row says now; a job that succeeded has none, unless one more run was noted.
fn becomes(job: &Job, at: Stamp) -> Option<ActivityEvent> {
    match job.status {
        Status::Queued => Some(ActivityEvent::new("requeued", at).with("run_after", job.run_after.rfc3339())),
        Status::Started => None,
        Status::FailedTimeout | Status::FailedUnknown => {
            Some(ActivityEvent::new("failed", at).with("status", job.status.name()))
        }
    }
}

// How an attempt is closed, whoever closes it: its run, or a tick that found the run dead.

/// What ended an attempt, and whether it was the size of the work directory.
pub struct Closing<'a> {
    pub claim: &'a Claim,
    pub record: &'a Record,
    pub over_work_size: bool,
}

impl<'a> Closing<'a> {
    pub const fn new(claim: &'a Claim, record: &'a Record) -> Self {
        Self { claim, record, over_work_size: false }
    }

    /// Closes it in one transaction. `false`: somebody else ended it; touch nothing more (invariant 3).
    pub fn close(&self, tx: &Tx, config: &Config) -> anyhow::Result<bool> {
        let Self { claim, record, .. } = self;
        tx.set_log_size(&claim.attempt, log_size(config, &claim.attempt))?;
        let breaker = BreakerBefore::of(self, tx, config);
        let waiting = tx.waiting_for(&claim.filename)?; // before the row goes, which wakes them
        let ours = match record.outcome {
            Outcome::Ok => tx.finish_ok(claim, record)?,
            Outcome::Cancelled => tx.finish_cancelled(claim, record)?,
            Outcome::Shutdown => self.close_shutdown(tx, config)?,
            _ => self.close_failure(tx, config)?,
        };
        if ours {
            self.tell_dependents(tx, &waiting)?;
            tell(self, tx, &breaker);
        }
        Ok(ours)
    }

    /// The first three shutdowns in a row are no attempts. Further ones are, so that a job whose runs are stopped again
    /// and again fails at last.
    fn close_shutdown(&self, tx: &Tx, config: &Config) -> anyhow::Result<bool> {
        let Self { claim, record, .. } = self;
        let most = config.exporters.get(&claim.exporter).map_or(1, |exporter| exporter.max_attempts);
        if tx.may_return(claim)? == Some(false) && claim.number >= most {
            return Ok(tx.finish_failed(claim, record, Stamp::now())?);
        }
        Ok(tx.finish_returned(claim, record)?)
    }

    fn close_failure(&self, tx: &Tx, config: &Config) -> anyhow::Result<bool> {
        let Self { claim, record, .. } = self;
        let exporter = config.exporters.get(&claim.exporter);
        match exporter.filter(|exporter| self.runs_again(exporter)) {
            Some(exporter) => {
                let run_after = record.ended.plus(self.delay(exporter));
                let limits = self.next_limits(exporter);
                let retry = Retry { run_after, limits: Some(&limits), queue: &self.next_queue(exporter) };
                Ok(tx.finish_retry(claim, record, &retry)?)
            }
            None => Ok(tx.finish_failed(claim, record, Stamp::now())?),
        }
    }

    fn runs_again(&self, exporter: &Exporter) -> bool {
        retry::runs_again(&rules(exporter), self.record.outcome, self.record.exit_code, self.claim.number)
    }

    fn delay(&self, exporter: &Exporter) -> std::time::Duration {
        let chance = blake3::hash(self.claim.attempt.as_bytes()).as_bytes()[0];
        retry::delay(&rules(exporter), self.claim.number, chance)
    }

    fn next_limits(&self, exporter: &Exporter) -> Limits {
        let most = &exporter.limits_max;
        let last = self.claim.limits.within(&exporter.limits, most);
        retry::escalate(&last, most, self.record.outcome, self.over_work_size, exporter.escalate)
    }

    /// A job that was too big for its lane goes on in the exporter's own queue.
    fn next_queue(&self, exporter: &Exporter) -> String {
        match self.record.outcome {
            Outcome::Timeout | Outcome::Cpu => exporter.queue.clone(),
            _ => self.claim.queue.clone(),
        }
    }

    /// Jobs that wait for this file go on, or fail with it.
    fn tell_dependents(&self, tx: &Tx, waiting: &[Job]) -> anyhow::Result<()> {
        let Self { claim, record, .. } = self;
        if record.outcome == Outcome::Ok {
            tx.source_ready(&claim.filename, record.ended)?;
            return Ok(());
        }
        let still_comes = tx.job(&claim.filename)?.is_some_and(|job| !job.status.is_failed());
        if still_comes {
            return Ok(());
        }
        let plain = match record.outcome {
            Outcome::Cancelled => "the file that it is made from was cancelled",
            _ => "the file that it is made from could not be made",
        };
        Ok(tx.fail_all(waiting, record.outcome, record.message.as_deref().unwrap_or(plain))?)
    }
}

/// Bytes that the log takes on the disk, which is what the bound of the history is for.
pub fn log_size(config: &Config, attempt: &str) -> u64 {
    let path = config.state_dir.join("log").join(format!("{attempt}.log"));
    let about = std::fs::symlink_metadata(path).ok().filter(std::fs::Metadata::is_file);
    about.map_or(0, |about| about.len().max(about.blocks().saturating_mul(512)))
}

fn rules(exporter: &Exporter) -> Rules<'_> {
    Rules {
        max_attempts: exporter.max_attempts,
        retry_on: &exporter.retry_on,
        temporary: exporter.retry_temporary,
        delay: exporter.retry_delay,
        max_delay: exporter.retry_max_delay,
    }
}
