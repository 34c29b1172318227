//! Which job is next.

use rusqlite::{ToSql, params};
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

/// A round has woken these before it claims; only a dry run, which may write nothing, meets them here. Of more than it
/// can sort it looks at those that came due first.
pub(super) const DUE: &str = "
    SELECT * FROM job
     WHERE id IN (SELECT id FROM job WHERE status = 0 AND waits = 1 AND run_after <= ?4 ORDER BY run_after LIMIT 5000)
       AND queue = ?1 AND exporter NOT IN (SELECT value FROM json_each(?2)) AND id NOT IN (SELECT value FROM json_each(?3))
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
            if let Some((_, job)) = self.first_ready(&queue, held_back, skip)? {
                return Ok(Some(job));
            }
        }
        Ok(None)
    }

    /// The same for who may wake nobody: a job whose `run_after` has passed counts.
    pub fn next_due(&self, now: Stamp, queues: &[String], held_back: &[String], skip: &[i64]) -> Result<Option<Job>> {
        for queue in self.by_turn(queues)? {
            if let Some(job) = self.next_in_queue(now, &queue, held_back, skip)? {
                return Ok(Some(job));
            }
        }
        Ok(None)
    }

    /// The same within one queue.
    pub fn next_in_queue(&self, now: Stamp, queue: &str, held_back: &[String], skip: &[i64]) -> Result<Option<Job>> {
        let ready = self.first_ready(queue, held_back, skip)?;
        let due = match self.next_wake()? {
            Some(wake) if wake <= now => self.first_ranked(DUE, params![queue, json(held_back), json(skip), now])?,
            _ => None,
        };
        Ok([ready, due]
            .into_iter()
            .flatten()
            .min_by_key(|(rank, job)| (*rank, job.submitted.max(job.run_after), job.id))
            .map(|(_, job)| job))
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

    fn first_ready(&self, queue: &str, held_back: &[String], skip: &[i64]) -> Result<Option<(i64, Job)>> {
        self.first_ranked(READY, params![queue, json(held_back), json(skip)])
    }

    /// The first job of an answer that can be read, with its rank.
    fn first_ranked(&self, sql: &str, params: &[&dyn ToSql]) -> Result<Option<(i64, Job)>> {
        let mut first = None;
        self.each_job(sql, params, |job, rank| {
            first = Some((rank, job));
            false
        })?;
        Ok(first)
    }
}

/// A list as one value of a statement.
pub(super) fn json<T: Serialize>(list: &[T]) -> String {
    serde_json::to_string(list).unwrap_or_else(|_| "[]".to_owned())
}
