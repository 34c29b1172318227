//! Which job is next.

use rusqlite::params;
use serde::Serialize;

use super::{Result, View};
use crate::model::{clock::Stamp, job::Job};

const SERVED: &str = "SELECT served FROM queue WHERE name = ?";

/// Exporters and jobs that are passed over come as JSON. The bound is for rows that cannot be read.
pub(super) const READY: &str = "
    SELECT * FROM job
     WHERE queue = ?1 AND status = 0 AND waits = 0
       AND exporter NOT IN (SELECT value FROM json_each(?2)) AND id NOT IN (SELECT value FROM json_each(?3))
     ORDER BY rank, due, id LIMIT 5000";

pub(super) const NEXT_WAKE: &str = "
    SELECT run_after FROM job WHERE status = 0 AND waits = 1 ORDER BY run_after LIMIT 1";

impl View<'_> {
    /// The job to claim next from these queues, which have a seat free: the queue that was served longest ago
    /// first, in it by rank, moment at which it may start, and id. Paused queues are the caller's to leave out.
    ///
    /// Jobs in `skip` and of exporters in `held_back` are passed over. A job whose `run_after` has passed counts only
    /// when it was woken.
    pub fn next_ready(&self, queues: &[String], held_back: &[String], skip: &[i64]) -> Result<Option<Job>> {
        for queue in self.by_turn(queues)? {
            let mut first = None;
            let params = params![queue, json(held_back), json(skip)];
            self.each_job(READY, params, |job, _| {
                first = Some(job); // that can be read
                false
            })?;
            if first.is_some() {
                return Ok(first);
            }
        }
        Ok(None)
    }

    /// These queues, the one served longest ago first.
    pub fn by_turn(&self, queues: &[String]) -> Result<Vec<String>> {
        let mut turns = Vec::with_capacity(queues.len());
        for queue in queues {
            // One that cannot be read is as good as never.
            let served = self.one(SERVED, params![queue], |row| Ok(row.get::<_, Stamp>(0).unwrap_or_default()))?;
            let served = served.unwrap_or_default();
            turns.push((served, queue.clone()));
        }
        turns.sort();
        Ok(turns.into_iter().map(|(_, queue)| queue).collect())
    }

    /// When the first job that waits for its time may start; it may lie in the past.
    pub fn next_wake(&self) -> Result<Option<Stamp>> {
        self.one(NEXT_WAKE, [], |row| row.get(0))
    }
}

/// A list as one value of a statement.
pub(super) fn json<T: Serialize>(list: &[T]) -> String {
    serde_json::to_string(list).unwrap_or_else(|_| "[]".to_owned())
}
