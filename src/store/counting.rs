//! Counts: kept by triggers where rows may be many, counted from rows where they are few.

use super::{Result, View};
use crate::model::clock::Stamp;

impl View<'_> {
    /// How many queued and started jobs of this queue the client has asked for.
    pub fn client_pending(&self, queue: &str, client: &str) -> Result<u64> {
        todo!()
    }

    /// Started jobs by queue. Counted from the rows, so that no slot can leak.
    pub fn running_by_queue(&self) -> Result<Vec<(String, u32)>> {
        todo!()
    }

    /// Started jobs by exporter.
    pub fn running_by_exporter(&self) -> Result<Vec<(String, u32)>> {
        todo!()
    }

    /// Failed jobs by exporter.
    pub fn failed_by_exporter(&self) -> Result<Vec<(String, u64)>> {
        todo!()
    }

    /// Every exporter that has a queued or failed job, configured or not.
    pub fn exporters(&self) -> Result<Vec<String>> {
        todo!()
    }

    /// Since when the longest waiting job of this exporter is queued and could have been started.
    pub fn oldest_queued(&self, exporter: &str) -> Result<Option<Stamp>> {
        todo!()
    }
}
