//! Looking jobs up.

use rusqlite::params;

use super::{Result, View, claiming, rows};
use crate::model::{attempt::Claim, job::Job, limits::Limits, status::Status};

pub(super) const JOB: &str = "SELECT * FROM job WHERE filename = ?";

const JOB_BY_ID: &str = "SELECT * FROM job WHERE id = ?";

/// By way of the history, so that `job` needs no index over attempts.
pub(super) const JOB_BY_ATTEMPT: &str = "
    SELECT job.* FROM attempt JOIN job ON job.id = attempt.job AND job.attempt = attempt.id
     WHERE attempt.id = ?";

/// U+10FFFF is the last character there is, and none that a filename may hold.
pub(super) const JOBS_NAMED: &str = "
    SELECT * FROM job
     WHERE filename >= ?1 AND filename < ?1 || char(1114111)
     ORDER BY filename LIMIT ?2";

pub(super) const STARTED: &str = "SELECT * FROM job WHERE status = 1 ORDER BY started, id";

pub(super) const WAITING_FOR: &str = "SELECT * FROM job WHERE source = ? AND status = 0 AND waits = 2 ORDER BY id";

pub(super) const PINNED: &str = "
    SELECT EXISTS (SELECT 1 FROM job WHERE filename = ?1 AND status <= 1)
        OR EXISTS (SELECT 1 FROM job WHERE source = ?1 AND status <= 1)";

const LIMITS: &str = "SELECT limits FROM job WHERE id = ?";

impl View<'_> {
    pub fn job(&self, filename: &str) -> Result<Option<Job>> {
        self.one(JOB, params![filename], rows::job)
    }

    pub fn job_by_id(&self, id: i64) -> Result<Option<Job>> {
        self.one(JOB_BY_ID, params![id], rows::job)
    }

    /// The job whose running or last attempt this is.
    pub fn job_by_attempt(&self, attempt: &str) -> Result<Option<Job>> {
        self.one(JOB_BY_ATTEMPT, params![attempt], rows::job)
    }

    /// The claim of a running attempt. `None`: it has ended.
    pub fn claim_of(&self, attempt: &str) -> Result<Option<Claim>> {
        let job = self.job_by_attempt(attempt)?.filter(|job| job.status == Status::Started);
        let Some((job, attempt)) = job.zip(self.attempt(attempt)?) else { return Ok(None) };
        Ok(Some(claiming::claimed(job, &attempt.id, &attempt.limits, attempt.started)))
    }

    /// Whether a started job names this attempt.
    pub fn is_started(&self, attempt: &str) -> Result<bool> {
        Ok(self.job_by_attempt(attempt)?.is_some_and(|job| job.status == Status::Started))
    }

    /// Jobs whose filename begins so, in the order of their names; at most `limit`.
    pub fn jobs_named(&self, beginning: &str, limit: u32) -> Result<Vec<Job>> {
        self.all(JOBS_NAMED, params![beginning, limit], rows::job)
    }

    /// All started jobs, the oldest first.
    pub fn started(&self) -> Result<Vec<Job>> {
        self.all(STARTED, [], rows::job)
    }

    /// The queued jobs that wait for this source.
    pub fn waiting_for(&self, source: &str) -> Result<Vec<Job>> {
        self.all(WAITING_FOR, params![source], rows::job)
    }

    /// Whether a queued or started job is for this file or is made from it: prune leaves such a file alone.
    pub fn pinned(&self, filename: &str) -> Result<bool> {
        Ok(self.one(PINNED, params![filename], |row| row.get(0))?.unwrap_or(false))
    }

    /// The limits that the job's next attempt runs under in place of the configured ones.
    pub fn escalated(&self, job: &Job) -> Result<Option<Limits>> {
        Ok(self.one(LIMITS, params![job.id], |row| row.get(0))?.flatten())
    }
}
