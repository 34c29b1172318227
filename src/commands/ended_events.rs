//! What the activity log keeps of an ending: how it ended, what follows, and whether the breaker of its exporter has
//! opened or closed by it.

use super::{ending::Ended, request::breaker_of};
use crate::{
    config::{Config, Exporter},
    model::{
        breaker::Breaker,
        clock::Stamp,
        event::ActivityEvent,
        status::{Outcome, Status},
    },
    store::Tx,
};

/// The breaker of an exporter of which an attempt is about to be closed. `None`: the attempt changes nothing about it.
pub struct BreakerBefore<'a>(Option<(&'a Exporter, bool)>);

impl<'a> BreakerBefore<'a> {
    /// Only first attempts count for it.
    pub fn of(ended: &Ended, tx: &Tx, config: &'a Config) -> anyhow::Result<Self> {
        let exporter = config.exporters.get(&ended.claim.exporter).filter(|_| ended.claim.number == 1);
        let before = exporter.map(|exporter| Ok::<_, anyhow::Error>((exporter, is_open(tx, exporter)?)));
        Ok(Self(before.transpose()?))
    }

    fn tell(&self, tx: &Tx) -> anyhow::Result<()> {
        let Some((exporter, was_open)) = self.0 else { return Ok(()) };
        let word = match (was_open, is_open(tx, exporter)?) {
            (false, true) => "breaker_opened",
            (true, false) => "breaker_closed",
            _ => return Ok(()),
        };
        tx.tell(ActivityEvent::new(word, Stamp::now()).with("exporter", &*exporter.name));
        Ok(())
    }
}

fn is_open(tx: &Tx, exporter: &Exporter) -> anyhow::Result<bool> {
    Ok(breaker_of(tx, exporter, Stamp::now())? != Breaker::Closed)
}

/// Tells what an attempt that has just been closed was, and what its job is now.
pub fn tell(ended: &Ended, tx: &Tx, before: &BreakerBefore) -> anyhow::Result<()> {
    let Ended { claim, record, .. } = ended;
    tx.tell(ActivityEvent::new("ended", record.ended).claim(claim).record(record));
    if record.outcome == Outcome::Ok && record.output_size.is_some() {
        tx.tell(ActivityEvent::new("published", record.ended).claim(claim).with("size", record.output_size));
    }
    if let Some(job) = tx.job(&claim.filename)? {
        let after = match job.status {
            Status::Queued => ActivityEvent::new("requeued", record.ended).with("run_after", job.run_after.rfc3339()),
            Status::Started => return Ok(()),
            Status::FailedTimeout | Status::FailedUnknown => {
                ActivityEvent::new("failed", record.ended).with("status", job.status.name())
            }
        };
        tx.tell(after.job(&job).with("attempts", job.attempts).with("result", record.outcome.name()));
    }
    before.tell(tx)
}
