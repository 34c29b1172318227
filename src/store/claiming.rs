//! From queued to started.

use super::{Result, Tx};
use crate::model::{attempt::Claim, clock::Stamp, job::Job, limits::Limits};

impl Tx<'_> {
    /// Starts an attempt at a queued job: it counts from now on, a noted run is satisfied by it, and the queue has
    /// been served. `None`: the job is not queued (any more), or waits for its source.
    ///
    /// `counts_from` is `now`, or for a derived file the start that counts for its source.
    pub fn claim(
        &self,
        job: &Job,
        attempt: &str,
        limits: &Limits,
        now: Stamp,
        counts_from: Stamp,
    ) -> Result<Option<Claim>> {
        todo!()
    }
}
