//! Looking jobs up.

use rusqlite::params;

use super::{View, checked::Unreadable, claim};
use crate::{
    model::{
        job::{AttemptId, Claim, Job},
        limits::Limits,
        status::Status,
    },
    store::{Result, StoreError},
};

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
        self.one_job(JOB, params![filename])
    }

    pub fn job_by_id(&self, id: i64) -> Result<Option<Job>> {
        self.one_job(JOB_BY_ID, params![id])
    }

    /// The job whose running or last attempt this is.
    pub fn job_by_attempt(&self, attempt: &str) -> Result<Option<Job>> {
        self.one_job(JOB_BY_ATTEMPT, params![attempt])
    }

    /// The claim of a running attempt. `None`: it has ended.
    pub fn claim_of(&self, attempt: &AttemptId) -> Result<Option<Claim>> {
        self.job_by_attempt(attempt)?.map_or(Ok(None), |job| self.claim_of_job(&job))
    }

    /// The claim of a started job, as its row stands now. `None`: the attempt has ended.
    ///
    /// The attempt's own row tells its limits and its start, if it is there and can be read.
    pub fn claim_of_job(&self, job: &Job) -> Result<Option<Claim>> {
        let now = self.job_by_id(job.id)?.filter(|now| now.status == Status::Started && now.attempt == job.attempt);
        let Some((job, attempt)) = now.and_then(|now| Some((now.clone(), now.attempt?))) else { return Ok(None) };
        let (limits, started) = match self.attempt(&attempt) {
            Ok(Some(row)) => (row.limits, row.started),
            Ok(None) | Err(StoreError::Unreadable(_) | StoreError::TooBig) => {
                (Limits::default(), job.started.unwrap_or(job.submitted))
            }
            Err(error) => return Err(error),
        };
        Ok(Some(claim::claimed(job, &attempt, &limits, started)))
    }

    /// What a list shows of the job of this id: the job, or why it cannot be read. `None`: it has gone.
    pub fn look_at(&self, id: i64) -> Result<Option<Result<Job, Unreadable>>> {
        match self.job_by_id(id) {
            Err(StoreError::Unreadable(found)) => Ok(Some(Err(found))),
            Err(StoreError::TooBig) => Ok(Some(Err(self.too_long(id)))),
            read => Ok(read?.map(Ok)),
        }
    }

    /// Whether a started job names this attempt.
    pub fn is_started(&self, attempt: &str) -> Result<bool> {
        Ok(self.job_by_attempt(attempt)?.is_some_and(|job| job.status == Status::Started))
    }

    /// Jobs whose filename begins so, in the order of their names; at most `limit`.
    pub fn jobs_named(&self, beginning: &str, limit: u32) -> Result<Vec<Job>> {
        self.jobs(JOBS_NAMED, params![beginning, limit])
    }

    /// All started jobs, the oldest first.
    pub fn started(&self) -> Result<Vec<Job>> {
        self.jobs(STARTED, &[])
    }

    /// The queued jobs that wait for this source.
    pub fn waiting_for(&self, source: &str) -> Result<Vec<Job>> {
        self.jobs(WAITING_FOR, params![source])
    }

    /// Whether a queued or started job is for this file or is made from it: prune leaves such a file alone.
    pub fn pinned(&self, filename: &str) -> Result<bool> {
        Ok(self.one(PINNED, params![filename], |row| row.get(0))?.unwrap_or(false))
    }

    /// The limits that the job's next attempt runs under in place of the configured ones.
    pub fn escalated(&self, job: &Job) -> Result<Option<Limits>> {
        // Those that cannot be read count as none: the configured ones hold.
        Ok(self.one(LIMITS, params![job.id], |row| Ok(row.get::<_, Option<Limits>>(0).ok().flatten()))?.flatten())
    }
}
