//! What tick keeps in order: rows that are too old, reports, history, stamps from the future.

use super::{Result, Tx, View};
use crate::model::{clock::Stamp, job::Job, status::Status};

impl View<'_> {
    /// Jobs of an exporter that are queued, and could have been started, since before `before`.
    pub fn overdue_queued(&self, exporter: &str, before: Stamp, limit: u32) -> Result<Vec<Job>> {
        todo!()
    }

    /// Queued jobs of an exporter that nobody has asked about since before `before`.
    pub fn abandoned(&self, exporter: &str, before: Stamp, limit: u32) -> Result<Vec<Job>> {
        todo!()
    }

    /// Jobs of an exporter that failed before `before`.
    pub fn old_failures(&self, exporter: &str, before: Stamp, limit: u32) -> Result<Vec<Job>> {
        todo!()
    }

    /// Failed jobs that nobody has been told about, in the order of their ids.
    pub fn unreported(&self, limit: u32) -> Result<Vec<Job>> {
        todo!()
    }

    /// How many there are of those.
    pub fn unreported_count(&self) -> Result<u64> {
        todo!()
    }
}

impl Tx<'_> {
    /// Forgets a job that still has this status. `false`: it has not.
    pub fn delete(&self, id: i64, status: Status) -> Result<bool> {
        todo!()
    }

    pub fn set_reported(&self, ids: &[i64]) -> Result<()> {
        todo!()
    }

    /// Whatever failed so far counts as reported.
    pub fn set_all_reported(&self) -> Result<()> {
        todo!()
    }

    /// Sets stamps of something past that lie more than a minute ahead back to `now`; says how many rows had any.
    /// Due times (`run_after`, a schedule's `next`) are left alone.
    pub fn heal_future(&self, now: Stamp) -> Result<usize> {
        todo!()
    }

    /// Deletes the oldest attempts that ended before `before`; their logs are the caller's to delete.
    pub fn trim_attempts(&self, before: Stamp, limit: u32) -> Result<Vec<String>> {
        todo!()
    }

    /// Successful attempts that ended before `before` and still have a log, which the caller then deletes.
    pub fn trim_ok_logs(&self, before: Stamp, limit: u32) -> Result<Vec<String>> {
        todo!()
    }

    /// Remembers how full the queues are, for the plots.
    pub fn add_sample(&self, now: Stamp) -> Result<()> {
        todo!()
    }

    /// Forgets samples older than `before`.
    pub fn trim_samples(&self, before: Stamp) -> Result<usize> {
        todo!()
    }
}
