//! From rows of the tables to the words of the model, and back.

use std::{thread::sleep, time::Duration};

use rusqlite::{
    MAIN_DB, Params, Row, Rows, Statement, ToSql,
    limits::Limit,
    params,
    types::{FromSql, FromSqlError, FromSqlResult, ToSqlOutput, ValueRef},
};
use serde::Serialize;

use super::{
    View,
    checked::{
        Filename, Json, LAST_ID, Params as JobParams, QueueName, RANKS, RowKind, Text, Tries, Unreadable, invalid, sure,
    },
};
use crate::{
    model::{
        clock::{Stamp, millis},
        job::{Attempt, Job, Record},
        status::{Outcome, Status},
    },
    store::{Result, StoreError},
};

/// How often, and how far apart, a log that is being put right is looked at.
const RECOVERY_LOOKS: u32 = 50;
const RECOVERY_PAUSE: Duration = Duration::from_millis(20);

impl View<'_> {
    /// The first row of an answer.
    pub(super) fn one<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>> {
        let mut statement = self.conn.prepare_cached(sql)?;
        let mut rows = self.answer(&mut statement, params)?;
        Ok(rows.next()?.map(read).transpose()?)
    }

    /// Every row of an answer.
    pub(super) fn all<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>> {
        let mut statement = self.conn.prepare_cached(sql)?;
        Ok(self.answer(&mut statement, params)?.mapped(read).collect::<rusqlite::Result<_>>()?)
    }

    /// The rows of an answer. Who may not write waits a moment where the log of the database has been left half written,
    /// by a process that was killed: whoever writes next puts it right.
    pub(super) fn answer<'s>(&self, statement: &'s mut Statement<'_>, params: impl Params) -> Result<Rows<'s>> {
        if !self.conn.is_readonly(MAIN_DB)? {
            return Ok(statement.query(params)?);
        }
        let mut first = statement.query(params)?.next().map(drop).map_err(StoreError::from);
        for _ in 0..RECOVERY_LOOKS {
            if !matches!(first, Err(StoreError::Unrecovered)) {
                break;
            }
            sleep(RECOVERY_PAUSE);
            first = statement.raw_query().next().map(drop).map_err(StoreError::from);
        }
        first?;
        Ok(statement.raw_query())
    }

    /// How many rows a statement changed.
    pub(super) fn change(&self, sql: &str, params: impl Params) -> Result<usize> {
        Ok(self.conn.prepare_cached(sql)?.execute(params)?)
    }

    /// The one job of an answer. A row that is not a job's is an error that names it, and is noted.
    pub(super) fn one_job(&self, sql: &str, params: impl Params) -> Result<Option<Job>> {
        self.one_checked(sql, params, |row| job(row).map_err(|error| Unreadable::of(RowKind::Job, "id", row, &error)))
    }

    /// The same of an attempt; the statement has the number of its row as `row`.
    pub(super) fn one_attempt(&self, sql: &str, params: impl Params) -> Result<Option<Attempt>> {
        let read = |row: &Row<'_>| attempt(row).map_err(|error| Unreadable::of(RowKind::Attempt, "row", row, &error));
        self.one_checked(sql, params, read)
    }

    fn one_checked<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnOnce(&Row<'_>) -> Result<T, Unreadable>,
    ) -> Result<Option<T>> {
        self.one(sql, params, |row| Ok(read(row)))?.map(|read| read.map_err(|found| self.unreadable(found))).transpose()
    }

    fn unreadable(&self, found: Unreadable) -> StoreError {
        self.notes.add(found.clone());
        StoreError::Unreadable(found)
    }

    /// Every job of an answer to a statement that begins with `SELECT *`. A row that cannot be read is noted and left
    /// out: it must not stop the others.
    pub(super) fn jobs(&self, sql: &str, params: &[&dyn ToSql]) -> Result<Vec<Job>> {
        let mut found = Vec::new();
        self.each_job(sql, params, |job, _| {
            found.push(job);
            true
        })?;
        Ok(found)
    }

    /// The same one after the other, each with its rank, until `show` says `false`.
    pub(super) fn each_job(
        &self,
        sql: &str,
        params: &[&dyn ToSql],
        mut show: impl FnMut(Job, i64) -> bool,
    ) -> Result<()> {
        let mut seen = 0;
        match self.walk(sql, params, &mut seen, &mut show) {
            Err(StoreError::TooBig) => self.walk_by_ids(sql, params, seen, &mut show),
            walked => walked,
        }
    }

    fn walk(
        &self,
        sql: &str,
        params: &[&dyn ToSql],
        seen: &mut usize,
        show: &mut impl FnMut(Job, i64) -> bool,
    ) -> Result<()> {
        let mut statement = self.conn.prepare_cached(sql)?;
        let mut rows = self.answer(&mut statement, params)?;
        while let Some(row) = rows.next()? {
            *seen += 1;
            match ranked(row) {
                Ok((job, rank)) => {
                    if !show(job, rank) {
                        break;
                    }
                }
                Err(error) => self.notes.add(Unreadable::of(RowKind::Job, "id", row, &error)),
            }
        }
        Ok(())
    }

    /// A row that is too long for us stops the answer that it is part of, so the rest is read row by row.
    fn walk_by_ids(
        &self,
        sql: &str,
        params: &[&dyn ToSql],
        seen: usize,
        show: &mut impl FnMut(Job, i64) -> bool,
    ) -> Result<()> {
        let ids = sql.replacen("SELECT *", "SELECT id", 1);
        let ids = self.with_room(|| self.all(&ids, params, |row| row.get::<_, i64>(0)))?;
        for id in ids.into_iter().skip(seen) {
            let read = self.one(JOB_WITH_RANK, params![id], |row| {
                Ok(ranked(row).map_err(|error| Unreadable::of(RowKind::Job, "id", row, &error)))
            });
            match read {
                Ok(None) => {}
                Ok(Some(Ok((job, rank)))) => {
                    if !show(job, rank) {
                        break;
                    }
                }
                Ok(Some(Err(found))) => self.notes.add(found),
                Err(StoreError::TooBig) => self.notes.add(self.too_long(id)),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// A row of which only the short columns can be read.
    pub(super) fn too_long(&self, id: i64) -> Unreadable {
        let attempt = self.one(STARTED_ATTEMPT, params![id], |row| row.get(0)).ok().flatten();
        Unreadable { kind: RowKind::Job, row: id, column: String::new(), attempt }
    }

    /// Every attempt of an answer to a statement with the number of its row as `row`; unreadable ones are left out.
    pub(super) fn attempts(&self, sql: &str, params: impl Params) -> Result<Vec<Attempt>> {
        let read =
            |row: &Row<'_>| Ok(attempt(row).map_err(|error| Unreadable::of(RowKind::Attempt, "row", row, &error)));
        let mut found = Vec::new();
        for read in self.all(sql, params, read)? {
            match read {
                Ok(attempt) => found.push(attempt),
                Err(unreadable) => self.notes.add(unreadable),
            }
        }
        Ok(found)
    }

    /// Does something for which values may be longer than those that are ever read as a whole.
    pub(super) fn with_room<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let usual = self.conn.set_limit(Limit::SQLITE_LIMIT_LENGTH, LONGEST_KEY)?;
        let done = work();
        self.conn.set_limit(Limit::SQLITE_LIMIT_LENGTH, usual)?;
        done
    }
}

/// Bytes of the longest value by which a row is found or removed.
const LONGEST_KEY: i32 = 256 << 20;

const JOB_WITH_RANK: &str = "SELECT * FROM job WHERE id = ?";

const STARTED_ATTEMPT: &str = "SELECT attempt FROM job WHERE id = ? AND status = 1";

/// A row of `job`. Columns that only statements use are looked at as well: one that no statement can calculate with
/// would stop the transaction in which it is met.
pub(super) fn job(row: &Row<'_>) -> rusqlite::Result<Job> {
    sure(row, "rank", RANKS)?;
    sure(row, "shutdowns", 0..=1_000_000)?;
    sure(row, "reported", 0..=1)?;
    row.get::<_, Stamp>("queued_since")?;
    row.get::<_, Option<Json>>("limits")?;
    let waits = sure(row, "waits", 0..=2)?;
    let job = Job {
        id: sure(row, "id", 1..=LAST_ID)?,
        filename: row.get::<_, Filename>("filename")?.0,
        exporter: row.get::<_, QueueName>("exporter")?.0,
        params: row.get::<_, JobParams>("params")?.0,
        queue: row.get::<_, QueueName>("queue")?.0,
        priority: sure(row, "priority", -10..=10)?,
        client: text(row, "client")?,
        status: row.get("status")?,
        submitted: row.get("submitted")?,
        run_after: row.get("run_after")?,
        last_asked: row.get("last_asked")?,
        started: row.get("started")?,
        failed: row.get("failed")?,
        attempt: row.get("attempt")?,
        attempts: row.get::<_, Tries>("attempts")?.0,
        percent: row.get::<_, Option<Percent>>("percent")?.map(|percent| percent.0),
        message: text(row, "message")?,
        result: row.get::<_, Option<Outcome>>("result")?.map(|outcome| outcome.name().to_owned()),
        again: row.get("again")?,
        cancel: sure(row, "cancel", 0..=1)? == 1,
        source: row.get::<_, Option<Filename>>("source")?.map(|source| source.0),
        source_after: row.get("source_after")?,
        waits_for_source: waits == 2,
    };
    if is_consistent(&job, waits) { Ok(job) } else { Err(invalid(row, "status")) }
}

/// What exists in which status, as the table's last CHECKs say it: they would refuse the next change of the row.
fn is_consistent(job: &Job, waits: i64) -> bool {
    let status_fits = match job.status {
        Status::Queued => {
            job.started.is_none() && job.failed.is_none() && job.percent.is_none() && job.again.is_none() && !job.cancel
        }
        Status::Started => {
            job.started.is_some() && job.failed.is_none() && job.attempt.is_some() && job.attempts > 0 && waits == 0
        }
        Status::FailedTimeout | Status::FailedUnknown => {
            job.failed.is_some() && job.result.is_some() && job.again.is_none() && !job.cancel && waits == 0
        }
    };
    status_fits && (waits != 2 || job.source.is_some())
}

fn ranked(row: &Row<'_>) -> rusqlite::Result<(Job, i64)> {
    Ok((job(row)?, row.get("rank")?))
}

/// A row of `attempt`.
pub(super) fn attempt(row: &Row<'_>) -> rusqlite::Result<Attempt> {
    Ok(Attempt {
        id: row.get("id")?,
        job: row.get("job")?,
        filename: row.get::<_, Filename>("filename")?.0,
        exporter: row.get::<_, QueueName>("exporter")?.0,
        params: row.get::<_, JobParams>("params")?.0,
        queue: row.get::<_, QueueName>("queue")?.0,
        client: text(row, "client")?,
        number: row.get::<_, Tries>("number")?.0,
        submitted: row.get("submitted")?,
        started: row.get("started")?,
        counts_from: row.get("counts_from")?,
        limits: row.get("limits")?,
        record: row.get::<_, Option<Outcome>>("result")?.map(|outcome| record(row, outcome)).transpose()?,
    })
}

fn record(row: &Row<'_>, outcome: Outcome) -> rusqlite::Result<Record> {
    Ok(Record {
        outcome,
        ended: row.get("ended")?,
        duration: row.get::<_, Millis>("duration")?.0,
        exit_code: row.get("exit_code")?,
        signal: row.get("signal")?,
        peak_memory: row.get::<_, Option<NonNegative>>("peak_memory")?.map(|bytes| bytes.0),
        cpu_used: row.get::<_, Option<Millis>>("cpu_used")?.map(|used| used.0),
        output_size: row.get::<_, Option<NonNegative>>("output_size")?.map(|bytes| bytes.0),
        log_tail: text(row, "log_tail")?.unwrap_or_default(),
        message: text(row, "message")?,
        detail: text(row, "detail")?,
        restarted: row.get("restarted").unwrap_or_default(),
        drop_reason: row.get("drop_reason")?,
    })
}

fn text(row: &Row<'_>, column: &str) -> rusqlite::Result<Option<String>> {
    Ok(row.get::<_, Option<Text>>(column)?.map(|text| text.0))
}

/// From 0 to 100.
struct Percent(u8);

impl FromSql for Percent {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        let number = u8::column_result(value)?;
        (number <= 100).then_some(Self(number)).ok_or(FromSqlError::OutOfRange(number.into()))
    }
}

/// A duration, in the database whole milliseconds.
pub(super) struct Millis(pub(super) Duration);

/// A number that is never negative.
pub(super) struct NonNegative(pub(super) u64);

impl Millis {
    /// As the database has it.
    pub(super) fn whole(&self) -> i64 {
        millis(self.0)
    }
}

impl ToSql for Millis {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(millis(self.0).into())
    }
}

impl FromSql for Millis {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        NonNegative::column_result(value).map(|ms| Self(Duration::from_millis(ms.0)))
    }
}

impl ToSql for NonNegative {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(i64::try_from(self.0).unwrap_or(i64::MAX).into())
    }
}

impl FromSql for NonNegative {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        let number = i64::column_result(value)?;
        u64::try_from(number).map(Self).map_err(|_| FromSqlError::OutOfRange(number))
    }
}

/// A list as one value of a statement.
pub(super) fn json<T: Serialize>(list: &[T]) -> String {
    serde_json::to_string(list).unwrap_or_else(|_| "[]".to_owned())
}
