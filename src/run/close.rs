//! How an attempt is closed, whoever closes it: its run, or a tick that found the run dead. What comes next is decided here;
//! the store carries it out in one transaction.

use std::os::unix::fs::MetadataExt;

use crate::{
    config::{Config, Exporter},
    model::{
        breaker::Breaker,
        clock::Stamp,
        job::{Claim, Record},
        limits::Limits,
        retry::{self, Rules},
        status::Outcome,
    },
    request::breaker_of,
    store::{AttemptClosing, AttemptEnd, IsOpen, Store, View},
};

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

    /// Closes it. `false`: somebody else ended it; touch nothing more (invariant 3).
    pub fn close(&self, store: &mut Store, config: &Config) -> anyhow::Result<bool> {
        self.prepared(config, |closing| store.close_attempt(closing))
    }

    /// The same for one whose file gets its name by `publish`, in the same transaction (invariant 2).
    pub fn publish(
        &self,
        store: &mut Store,
        config: &Config,
        publish: impl FnOnce() -> anyhow::Result<()>,
    ) -> anyhow::Result<bool> {
        self.prepared(config, |closing| store.publish_and_close(closing, publish))
    }

    fn prepared<T>(&self, config: &Config, carry_out: impl FnOnce(&AttemptClosing) -> T) -> T {
        // Only first attempts count for the breaker.
        let exporter = config.exporters.get(&self.claim.exporter).filter(|_| self.claim.number == 1);
        let is_open = exporter.map(|exporter| move |view: &View<'_>| is_open(view, exporter));
        carry_out(&AttemptClosing {
            claim: self.claim,
            record: self.record,
            end: self.end(config),
            log_size: log_size(config, &self.claim.attempt),
            is_open: is_open.as_ref().map(|is_open| is_open as IsOpen),
        })
    }

    fn end(&self, config: &Config) -> AttemptEnd {
        let exporter = config.exporters.get(&self.claim.exporter);
        match (self.record.outcome, exporter) {
            (Outcome::Ok, _) => AttemptEnd::Done,
            (Outcome::Cancelled, _) => AttemptEnd::Cancelled,
            (Outcome::Shutdown, _) => {
                AttemptEnd::Shutdown { most: exporter.map_or(1, |exporter| exporter.max_attempts) }
            }
            (_, Some(exporter)) if self.runs_again(exporter) => AttemptEnd::Retry {
                run_after: self.record.ended.plus(self.delay(exporter)),
                limits: self.next_limits(exporter),
                queue: self.next_queue(exporter),
            },
            _ => AttemptEnd::Failed,
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
}

fn is_open(view: &View, exporter: &Exporter) -> Option<bool> {
    breaker_of(view, exporter, Stamp::now()).ok().map(|breaker| breaker != Breaker::Closed)
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
