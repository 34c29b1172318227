//! Which job is next, and where the others stand.

use super::{Result, View};
use crate::model::{clock::Stamp, job::Job};

impl View<'_> {
    /// The job to claim next from these queues, which have a seat free: the queue that was served longest ago
    /// first, in it by rank, submission and id. Paused queues are the caller's to leave out.
    ///
    /// Jobs in `skip` and of exporters in `held_back` are passed over, at most 5000 of them in a queue. A job whose
    /// `run_after` has passed counts although nobody has woken it yet.
    pub fn next_ready(&self, now: Stamp, queues: &[String], held_back: &[String], skip: &[i64]) -> Result<Option<Job>> {
        todo!()
    }

    /// The same within one queue.
    pub fn next_in_queue(&self, now: Stamp, queue: &str, held_back: &[String], skip: &[i64]) -> Result<Option<Job>> {
        todo!()
    }

    /// These queues, the one served longest ago first.
    pub fn by_turn(&self, queues: &[String]) -> Result<Vec<String>> {
        todo!()
    }

    /// The place of a queued job among those of its queue that wait for nothing, from 1; 1001 means "more than 1000".
    pub fn position(&self, job: &Job) -> Result<u32> {
        todo!()
    }

    /// When the first job that waits for its time may start; it may lie in the past.
    pub fn next_wake(&self) -> Result<Option<Stamp>> {
        todo!()
    }
}
