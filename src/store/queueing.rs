//! Into the queue, and what happens to a job while it is there.

use super::{Result, Tx};
use crate::model::{clock::Stamp, job::Job, status::Outcome};

/// A wish for one file, checked and named.
#[derive(Clone, Debug)]
pub struct NewJob {
    pub filename: String,
    pub exporter: String,
    /// The parameters as a JSON object.
    pub params: String,
    pub queue: String,
    /// From -10 to 10; higher is sooner.
    pub priority: i64,
    /// A keyed hash, or the name given on the command line.
    pub client: Option<String>,
    pub now: Stamp,
    /// Not started before this moment; `now` for at once.
    pub run_after: Stamp,
    /// The filename of the source that it is made from.
    pub source: Option<String>,
    /// The source has to be made first; see [`Tx::source_ready`].
    pub waits_for_source: bool,
}

impl Tx<'_> {
    /// Queues a job for a file that has none. Its rank is fixed here: ten minutes of waiting weigh as much as one
    /// step of priority, or as one job that the client has pending in this queue already.
    pub fn insert(&self, new: &NewJob) -> Result<Job> {
        todo!()
    }

    /// Queues a failed job again, as if it were new: fresh stamps, attempts 0, plain limits; its id stays.
    /// `None`: it is not failed (any more).
    pub fn requeue(&self, job: &Job, new: &NewJob) -> Result<Option<Job>> {
        todo!()
    }

    /// Notes that one more run must follow the one that is going on, and not before `at`; of several the latest.
    /// `false`: it is not started (any more).
    pub fn note_again(&self, job: &Job, at: Stamp) -> Result<bool> {
        todo!()
    }

    /// A queued job is not started before `run_after`; an earlier moment than it has changes nothing.
    /// `false`: it is not queued (any more).
    pub fn delay(&self, job: &Job, run_after: Stamp, now: Stamp) -> Result<bool> {
        todo!()
    }

    /// Somebody has asked about the job.
    pub fn touch_asked(&self, job: &Job, now: Stamp) -> Result<bool> {
        todo!()
    }

    /// Makes jobs ready whose time has come, at most 1000 in one go; says how many.
    pub fn wake(&self, now: Stamp) -> Result<usize> {
        todo!()
    }

    /// A queued job has to wait for its source.
    pub fn wait_for_source(&self, job: &Job) -> Result<bool> {
        todo!()
    }

    /// The jobs that wait for this source wait no longer; says how many.
    pub fn source_ready(&self, source: &str, now: Stamp) -> Result<usize> {
        todo!()
    }

    /// A queued job fails without an attempt of its own, as its source has. `false`: it is not queued (any more).
    pub fn fail_queued(&self, job: &Job, outcome: Outcome, message: Option<&str>, now: Stamp) -> Result<bool> {
        todo!()
    }
}
