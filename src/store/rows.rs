//! From rows of the tables to the words of the model, and back.

use std::time::Duration;

use rusqlite::{
    OptionalExtension, Params, Row, ToSql,
    types::{FromSql, FromSqlError, FromSqlResult, ToSqlOutput, ValueRef},
};

use super::{Result, View};
use crate::model::{
    attempt::{Attempt, Record},
    clock::{Stamp, millis},
    job::Job,
    limits::Limits,
    status::{Outcome, Status},
};

impl View<'_> {
    /// The first row of an answer.
    pub(super) fn one<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>> {
        Ok(self.conn.prepare_cached(sql)?.query_row(params, read).optional()?)
    }

    /// Every row of an answer.
    pub(super) fn all<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>> {
        Ok(self.conn.prepare_cached(sql)?.query_map(params, read)?.collect::<rusqlite::Result<_>>()?)
    }

    /// How many rows a statement changed.
    pub(super) fn change(&self, sql: &str, params: impl Params) -> Result<usize> {
        Ok(self.conn.prepare_cached(sql)?.execute(params)?)
    }
}

/// A row of `job`.
pub(super) fn job(row: &Row<'_>) -> rusqlite::Result<Job> {
    Ok(Job {
        id: row.get("id")?,
        filename: row.get("filename")?,
        exporter: row.get("exporter")?,
        params: row.get("params")?,
        queue: row.get("queue")?,
        priority: row.get("priority")?,
        client: row.get("client")?,
        status: row.get("status")?,
        submitted: row.get("submitted")?,
        run_after: row.get("run_after")?,
        last_asked: row.get("last_asked")?,
        started: row.get("started")?,
        failed: row.get("failed")?,
        attempt: row.get("attempt")?,
        attempts: row.get("attempts")?,
        percent: row.get("percent")?,
        message: row.get("message")?,
        result: row.get("result")?,
        again: row.get("again")?,
        cancel: row.get("cancel")?,
        source: row.get("source")?,
        source_after: row.get("source_after")?,
        waits_for_source: row.get::<_, i64>("waits")? == 2,
    })
}

/// A row of `attempt`.
pub(super) fn attempt(row: &Row<'_>) -> rusqlite::Result<Attempt> {
    Ok(Attempt {
        id: row.get("id")?,
        job: row.get("job")?,
        filename: row.get("filename")?,
        exporter: row.get("exporter")?,
        params: row.get("params")?,
        queue: row.get("queue")?,
        client: row.get("client")?,
        number: row.get("number")?,
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
        peak_memory: row.get::<_, Option<Count>>("peak_memory")?.map(|bytes| bytes.0),
        cpu_used: row.get::<_, Option<Millis>>("cpu_used")?.map(|used| used.0),
        output_size: row.get::<_, Option<Count>>("output_size")?.map(|bytes| bytes.0),
        log_tail: row.get::<_, Option<String>>("log_tail")?.unwrap_or_default(),
        message: row.get("message")?,
        detail: row.get("detail")?,
    })
}

/// A duration, in the database whole milliseconds.
pub(super) struct Millis(pub(super) Duration);

/// A number that is never negative.
pub(super) struct Count(pub(super) u64);

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
        Count::column_result(value).map(|ms| Self(Duration::from_millis(ms.0)))
    }
}

impl ToSql for Count {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(i64::try_from(self.0).unwrap_or(i64::MAX).into())
    }
}

impl FromSql for Count {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        let number = i64::column_result(value)?;
        u64::try_from(number).map(Self).map_err(|_| FromSqlError::OutOfRange(number))
    }
}

impl ToSql for Stamp {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(self.0.into())
    }
}

impl FromSql for Stamp {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        i64::column_result(value).map(Self)
    }
}

impl ToSql for Status {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(self.code().into())
    }
}

impl FromSql for Status {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        let code = i64::column_result(value)?;
        Self::from_code(code).ok_or(FromSqlError::OutOfRange(code))
    }
}

impl ToSql for Outcome {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(self.name().into())
    }
}

impl FromSql for Outcome {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        Self::from_name(value.as_str()?).ok_or(FromSqlError::InvalidType)
    }
}

impl ToSql for Limits {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        let text =
            serde_json::to_string(self).map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?;
        Ok(text.into())
    }
}

impl FromSql for Limits {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        serde_json::from_str(value.as_str()?).map_err(FromSqlError::other)
    }
}
