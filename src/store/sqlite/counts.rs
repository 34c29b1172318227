//! Counts of pending jobs: kept by the statements that change a job, in the same transaction, and by nothing that is
//! stored in the database (no trigger runs there).
//!
//! Requests are admitted by these counts, so that no request has to count rows. Whoever changes a job's status, queue
//! or waiting does it within [`Tx::counting`], deletes it by [`Tx::delete_counted`], or tells [`Tx::entered`] of a new
//! row. `check` compares the counts with the rows.

use rusqlite::{Params, Row, named_params, params};

use super::{
    Tx, View,
    history::Tally,
    rows::{Millis, NonNegative},
};
use crate::{
    model::{clock::Stamp, job::Record, status::Status},
    store::Result,
};

pub(super) const COUNTED: &str = "SELECT queue, client, status, waits FROM job WHERE id = ?";

const ENTER_QUEUE: &str = "
    INSERT INTO queue (name, queued, delayed) VALUES (?1, 1, ?2)
        ON CONFLICT (name) DO UPDATE SET queued = queued + 1, delayed = delayed + ?2";

const LEAVE_QUEUE: &str = "UPDATE queue SET queued = queued - 1, delayed = delayed - ?2 WHERE name = ?1";

const SHIFT_DELAYED: &str = "UPDATE queue SET delayed = delayed + ?2 WHERE name = ?1";

const ENTER_CLIENT: &str = "
    INSERT INTO client (queue, client, pending) VALUES (?1, ?2, 1)
        ON CONFLICT (queue, client) DO UPDATE SET pending = pending + 1";

const LEAVE_CLIENT: &str = "UPDATE client SET pending = pending - 1 WHERE queue = ?1 AND client = ?2";

const FORGET_CLIENT: &str = "DELETE FROM client WHERE queue = ?1 AND client = ?2 AND pending <= 0";

/// A job must not wait for a source that nobody makes any more (dropped, cancelled): it is woken, and at its claim the
/// source is queued anew, or the job fails with the reason.
const WAKE_DEPENDENTS: &str = "
    UPDATE job SET waits = 1 WHERE source = ? AND status = 0 AND waits = 2 RETURNING queue";

/// Counts of queues that differ from the rows.
const WRONG_QUEUES: &str = "
    SELECT name, queued, delayed, rows, late FROM (
        SELECT name, queued, delayed,
               (SELECT count(*) FROM job WHERE job.queue = queue.name AND status = 0) AS rows,
               (SELECT count(*) FROM job WHERE job.queue = queue.name AND status = 0 AND waits = 1) AS late
          FROM queue)
     WHERE queued <> rows OR delayed <> late";

/// Queues and clients whose pending jobs are counted wrongly, or not at all.
const WRONG_CLIENTS: &str = "
    WITH rows AS (SELECT queue, client, count(*) AS pending FROM job
                   WHERE status <= 1 AND client IS NOT NULL GROUP BY queue, client)
    SELECT count(*) FROM (
        SELECT queue, client FROM (SELECT * FROM rows EXCEPT SELECT queue, client, pending FROM client)
        UNION
        SELECT queue, client FROM (SELECT queue, client, pending FROM client EXCEPT SELECT * FROM rows))";

const HISTORY: &str = "
    SELECT (SELECT CAST(total(log_size) + total(row_size) AS INTEGER) FROM attempt WHERE ended IS NOT NULL),
           history_size
      FROM meta";

const RECOUNT: [&str; 5] = [
    "INSERT OR IGNORE INTO queue (name) SELECT DISTINCT queue FROM job WHERE status = 0",
    "UPDATE queue SET queued = (SELECT count(*) FROM job WHERE job.queue = queue.name AND status = 0),
                      delayed = (SELECT count(*) FROM job WHERE job.queue = queue.name AND status = 0 AND waits = 1)",
    "DELETE FROM client",
    "INSERT INTO client (queue, client, pending)
     SELECT queue, client, count(*) FROM job WHERE status <= 1 AND client IS NOT NULL GROUP BY queue, client",
    "UPDATE meta SET history_size = (SELECT CAST(total(log_size) + total(row_size) AS INTEGER) FROM attempt
                                      WHERE ended IS NOT NULL)",
];

const ADD_TALLY: &str = "
    INSERT INTO tally (exporter, measure, result, bound, count, total)
    VALUES (:exporter, :measure, :result, :bound, 1, :total)
        ON CONFLICT DO UPDATE SET count = count + 1, total = total + excluded.total";

/// What of a job the counts depend on.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Counted {
    queue: String,
    client: Option<String>,
    status: Status,
    /// It waits for its time.
    is_delayed: bool,
}

impl Counted {
    pub(super) fn queued(queue: &str, client: Option<&str>, is_delayed: bool) -> Self {
        Self { queue: queue.to_owned(), client: client.map(str::to_owned), status: Status::Queued, is_delayed }
    }

    fn of(row: &Row<'_>) -> rusqlite::Result<Self> {
        let is_delayed = row.get::<_, i64>("waits")? == 1;
        Ok(Self { queue: row.get("queue")?, client: row.get("client")?, status: row.get("status")?, is_delayed })
    }

    /// Its queue while it is queued, and whether it waits for its time there.
    fn place(&self) -> Option<(&str, bool)> {
        (self.status == Status::Queued).then_some((&*self.queue, self.is_delayed))
    }

    /// Queue and client while it is pending.
    fn pending(&self) -> Option<(&str, &str)> {
        let is_pending = matches!(self.status, Status::Queued | Status::Started);
        Some((&*self.queue, self.client.as_deref().filter(|_| is_pending)?))
    }
}

impl Tx<'_> {
    /// Does something to one job and counts it where it then is. `change` tells whether it changed anything.
    pub(super) fn counting(&self, id: i64, change: impl FnOnce() -> Result<bool>) -> Result<bool> {
        let before = self.one(COUNTED, params![id], Counted::of)?;
        let changed = change()?;
        if changed {
            let after = self.one(COUNTED, params![id], Counted::of)?;
            self.recount(before.as_ref(), after.as_ref())?;
        }
        Ok(changed)
    }

    /// Counts a row that was inserted.
    pub(super) fn entered(&self, job: &Counted) -> Result<()> {
        self.recount(None, Some(job))
    }

    /// Deletes at most one job by a statement that returns `filename, queue, client, status, waits`. Who waited for
    /// its file waits no longer.
    pub(super) fn delete_counted(&self, sql: &str, params: impl Params) -> Result<bool> {
        let gone = self.one(sql, params, |row| Ok((row.get::<_, String>("filename")?, Counted::of(row)?)))?;
        let Some((filename, job)) = gone else { return Ok(false) };
        self.recount(Some(&job), None)?;
        for queue in self.all(WAKE_DEPENDENTS, params![filename], |row| row.get::<_, String>(0))? {
            self.shift_delayed(&queue, 1)?;
        }
        Ok(true)
    }

    /// So many more jobs of a queue wait for their time.
    pub(super) fn shift_delayed(&self, queue: &str, by: i64) -> Result<()> {
        self.change(SHIFT_DELAYED, params![queue, by]).map(drop)
    }

    /// Entering comes before leaving, so that no count passes through less than it is.
    fn recount(&self, before: Option<&Counted>, after: Option<&Counted>) -> Result<()> {
        let (from, to) = (before.and_then(Counted::place), after.and_then(Counted::place));
        if from != to {
            if let Some((queue, is_delayed)) = to {
                self.change(ENTER_QUEUE, params![queue, is_delayed])?;
            }
            if let Some((queue, is_delayed)) = from {
                self.change(LEAVE_QUEUE, params![queue, is_delayed])?;
            }
        }
        let (from, to) = (before.and_then(Counted::pending), after.and_then(Counted::pending));
        if from != to {
            if let Some((queue, client)) = to {
                self.change(ENTER_CLIENT, params![queue, client])?;
            }
            if let Some((queue, client)) = from {
                self.change(LEAVE_CLIENT, params![queue, client])?;
                self.change(FORGET_CLIENT, params![queue, client])?;
            }
        }
        Ok(())
    }

    /// Counts everything anew from the rows. Reads all pending ones, and the history.
    pub(super) fn recount_all(&self) -> Result<()> {
        RECOUNT.iter().try_for_each(|sql| self.change(sql, []).map(drop))
    }

    /// Counts the end of an attempt for monitoring, and how long its job waited if it was the first one.
    pub(super) fn tally(&self, exporter: &str, number: u32, waited: Stamp, record: &Record) -> Result<()> {
        let add = |measure: &str, ms: i64| {
            let bound = Tally::BOUNDS_MS.into_iter().find(|bound| i128::from(*bound) >= i128::from(ms)).unwrap_or(0);
            self.change(
                ADD_TALLY,
                named_params! {
                    ":exporter": exporter, ":measure": measure, ":result": record.outcome,
                    ":bound": NonNegative(bound), ":total": ms,
                },
            )
        };
        add("run", Millis(record.duration).whole())?;
        if number == 1 {
            add("wait", waited.0.max(0))?;
        }
        Ok(())
    }
}

impl View<'_> {
    /// One sentence for each count that differs from the rows. Reads all pending ones, and the history.
    pub fn miscounts(&self) -> Result<Vec<String>> {
        let mut wrong = self.all(WRONG_QUEUES, [], |row| {
            let (name, number) = (row.get::<_, String>("name")?, |column| row.get::<_, i64>(column));
            let (counted, there) = (number("queued")?, number("rows")?);
            let (delayed, late) = (number("delayed")?, number("late")?);
            Ok(format!(
                "queue {name} counts {counted} queued jobs ({delayed} delayed) where there are {there} ({late})"
            ))
        })?;
        let clients = self.one(WRONG_CLIENTS, [], |row| row.get::<_, i64>(0))?.unwrap_or(0);
        if clients > 0 {
            wrong.push(format!("the pending jobs of {clients} clients are counted wrongly"));
        }
        let sizes = self.one(HISTORY, [], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?)))?;
        if let Some((there, counted)) = sizes.filter(|(there, counted)| there != counted) {
            wrong.push(format!("the history counts {counted} bytes where there are {there}"));
        }
        Ok(wrong)
    }
}
