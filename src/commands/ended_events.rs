//! What the activity log keeps of an ending: how it ended, what follows, and whether the breaker of its exporter has
//! opened or closed by it.

use super::{ending::Ended, request::breaker_of};
use crate::{
    config::{Config, Exporter},
    model::{
        breaker::Breaker,
        clock::Stamp,
        event::ActivityEvent,
        job::Job,
        status::{Outcome, Status},
    },
    store::Tx,
};

/// Whether the breaker of an exporter was open before an attempt of it is closed. `None`: the attempt changes nothing about
/// it, or nobody knows; what is only told never breaks an ending (invariant 12).
pub struct BreakerBefore<'a>(Option<(&'a Exporter, bool)>);

impl<'a> BreakerBefore<'a> {
    /// Only first attempts count for it.
    pub fn of(ended: &Ended, tx: &Tx, config: &'a Config) -> Self {
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
pub fn tell(ended: &Ended, tx: &Tx, before: &BreakerBefore) {
    let Ended { claim, record, .. } = ended;
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
