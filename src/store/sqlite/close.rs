//! The end of an attempt in one transaction: its file published, its record written, its job brought to what comes next,
//! what waits for the file told, and all of that in the activity log. Whoever ends an attempt names it, so whoever comes
//! second changes nothing (invariants 2 and 3).

use super::{Store, Tx, View, finishing::Retry};
use crate::{
    model::{
        clock::Stamp,
        failpoint,
        job::{Claim, Job, Record},
        limits::Limits,
        status::{Outcome, Status},
    },
    site::ActivityEvent,
};

/// What becomes of the job, unless it was cancelled or one more run was noted.
#[derive(Clone, Debug)]
pub enum AttemptEnd {
    /// Its file is there: the job is forgotten.
    Done,
    /// The admin ended it: the job is forgotten.
    Cancelled,
    /// It was stopped with the machine. The first three stops in a row are no attempts; further ones are, up to so many.
    Shutdown { most: u32 },
    /// It is tried again, not before this moment, under these limits, in this queue.
    Retry { run_after: Stamp, limits: Limits, queue: String },
    /// It has failed for good.
    Failed,
}

/// Whether the breaker of an exporter is open. `None`: nobody knows.
pub type IsOpen<'a> = &'a dyn Fn(&View<'_>) -> Option<bool>;

/// An attempt that is to be closed.
pub struct AttemptClosing<'a> {
    pub claim: &'a Claim,
    pub record: &'a Record,
    pub end: AttemptEnd,
    /// Bytes that its log takes on the disk.
    pub log_size: u64,
    /// Whether the breaker of its exporter is open, if this attempt can change that. What is only told never breaks an
    /// ending (invariant 12).
    pub is_open: Option<IsOpen<'a>>,
}

impl Store {
    /// Closes the attempt. `false`: somebody else has ended it; touch nothing more.
    pub fn close_attempt(&mut self, closing: &AttemptClosing) -> anyhow::Result<bool> {
        self.immediate(|tx| closing.close(tx))
    }

    /// The same for one whose file gets its name by `publish`, after the attempt is known to be still ours and before its row
    /// goes. Nothing is written if that fails.
    pub fn publish_and_close(
        &mut self,
        closing: &AttemptClosing,
        publish: impl FnOnce() -> anyhow::Result<()>,
    ) -> anyhow::Result<bool> {
        self.immediate(|tx| {
            if tx.cancel_requested(closing.claim)?.is_none() {
                return Ok(false);
            }
            publish()?;
            let ours = closing.close(tx)?;
            failpoint::at("run-before-commit");
            Ok(ours)
        })
    }
}

impl AttemptClosing<'_> {
    fn close(&self, tx: &Tx) -> anyhow::Result<bool> {
        let Self { claim, record, .. } = self;
        tx.set_log_size(&claim.attempt, self.log_size)?;
        let was_open = self.is_open.and_then(|is_open| is_open(tx));
        let waiting = tx.waiting_for(&claim.filename)?; // before the row goes, which wakes them
        let ours = match &self.end {
            AttemptEnd::Done => tx.finish_ok(claim, record)?,
            AttemptEnd::Cancelled => tx.finish_cancelled(claim, record)?,
            AttemptEnd::Shutdown { most } if tx.may_return(claim)? == Some(false) && claim.number >= *most => {
                tx.finish_failed(claim, record, Stamp::now())?
            }
            AttemptEnd::Shutdown { .. } => tx.finish_returned(claim, record)?,
            AttemptEnd::Retry { run_after, limits, queue } => {
                tx.finish_retry(claim, record, &Retry { run_after: *run_after, limits: Some(limits), queue })?
            }
            AttemptEnd::Failed => tx.finish_failed(claim, record, Stamp::now())?,
        };
        if ours {
            self.tell_dependents(tx, &waiting)?;
            self.tell(tx, was_open);
        }
        Ok(ours)
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
            _ => "the file that it is made from could not be created",
        };
        Ok(tx.fail_all(waiting, record.outcome, record.message.as_deref().unwrap_or(plain))?)
    }

    /// How it ended, what follows, and whether the breaker of its exporter has opened or closed by it.
    fn tell(&self, tx: &Tx, was_open: Option<bool>) {
        let Self { claim, record, .. } = self;
        tx.tell(ActivityEvent::new("ended", record.ended).claim(claim).record(record));
        if record.outcome == Outcome::Ok && record.output_size.is_some() {
            tx.tell(ActivityEvent::new("published", record.ended).claim(claim).with("size", record.output_size));
        }
        if let Ok(Some(job)) = tx.job(&claim.filename)
            && let Some(after) = becomes(&job, record.ended)
        {
            tx.tell(after.job(&job).with("attempts", job.attempts).with("result", record.outcome.name()));
        }
        self.tell_breaker(tx, was_open);
    }

    /// One that was closed is still so after an attempt that ended well.
    fn tell_breaker(&self, tx: &Tx, was_open: Option<bool>) {
        let was_open = was_open.filter(|was_open| *was_open || self.record.outcome != Outcome::Ok);
        let (Some(was_open), Some(is_open)) = (was_open, self.is_open) else { return };
        let word = match (was_open, is_open(tx)) {
            (false, Some(true)) => "breaker_opened",
            (true, Some(false)) => "breaker_closed",
            _ => return,
        };
        tx.tell(ActivityEvent::new(word, Stamp::now()).with("exporter", &*self.claim.exporter));
    }
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
