//! Looking jobs up.

use super::{Result, View};
use crate::model::{job::Job, limits::Limits};

impl View<'_> {
    pub fn job(&self, filename: &str) -> Result<Option<Job>> {
        todo!()
    }

    pub fn job_by_id(&self, id: i64) -> Result<Option<Job>> {
        todo!()
    }

    /// The job whose running or last attempt this is.
    pub fn job_by_attempt(&self, attempt: &str) -> Result<Option<Job>> {
        todo!()
    }

    /// Jobs whose filename begins so, in the order of their names; at most `limit`.
    pub fn jobs_named(&self, beginning: &str, limit: u32) -> Result<Vec<Job>> {
        todo!()
    }

    /// All started jobs, the oldest first.
    pub fn started(&self) -> Result<Vec<Job>> {
        todo!()
    }

    /// The queued jobs that wait for this source.
    pub fn waiting_for(&self, source: &str) -> Result<Vec<Job>> {
        todo!()
    }

    /// Whether a queued or started job is for this file or is made from it: prune leaves such a file alone.
    pub fn pinned(&self, filename: &str) -> Result<bool> {
        todo!()
    }

    /// The limits that the job's next attempt runs under in place of the configured ones.
    pub fn escalated(&self, job: &Job) -> Result<Option<Limits>> {
        todo!()
    }
}
