//! What a row may hold: each value becomes a checked type where it is read. The database is written by a less trusted
//! user, whom neither CHECKs nor STRICT hold back.

use std::{cell::RefCell, fmt};

use rusqlite::{
    Row, ToSql,
    types::{FromSql, FromSqlError, FromSqlResult, ToSqlOutput, Value, ValueRef},
};
use serde::de::IgnoredAny;

use crate::model::{
    clock::Stamp,
    filename::{is_filename, is_name},
    job::AttemptId,
    limits::Limits,
    status::{DropReason, Outcome, Status},
};

/// An id beyond this is none of ours. After the largest that there can be, no job could be queued any more.
pub(super) const LAST_ID: i64 = 1 << 53;

/// The last millisecond of the year 9999.
const LAST: i64 = 253_402_300_799_999;
/// How often a job can have been tried, or its runs been shut down.
const MOST_TRIES: u32 = 1_000_000;
/// Ranks are minutes of this age of the world, give or take some thousands.
const LARGEST_RANK: i64 = 1 << 40;
/// Bytes of parameters.
const LONGEST_PARAMS: usize = 1 << 20;
/// Bytes of any other text.
const LONGEST_TEXT: usize = 128 << 10;
/// So many unreadable rows are remembered at once; the rest is found later.
const MOST_NOTED: usize = 500;

/// A table whose rows stand for one thing each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowKind {
    Job,
    Attempt,
}

/// A row that holds what none of ours can hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    pub kind: RowKind,
    /// The id of the job, or the number of the attempt's row.
    pub row: i64,
    /// The first column that cannot be read; empty if it is not even known which.
    pub column: String,
    /// The attempt that a job's row names, if it is started and names one.
    pub attempt: Option<AttemptId>,
}

impl fmt::Display for Unreadable {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let table = match self.kind {
            RowKind::Job => "job",
            RowKind::Attempt => "attempt",
        };
        match &self.column[..] {
            "" => write!(to, "row {} of table {table} cannot be read: it is too long", self.row),
            column => write!(to, "row {} of table {table} cannot be read: its {column} is not valid", self.row),
        }
    }
}

impl Unreadable {
    /// `number` is the column that identifies the row.
    pub(super) fn of(kind: RowKind, number: &str, row: &Row<'_>, error: &rusqlite::Error) -> Self {
        let is_started = row.get_ref("status").is_ok_and(|status| status == ValueRef::Integer(1));
        Self {
            kind,
            row: row.get(number).unwrap_or(0),
            column: column(row, error),
            attempt: if is_started { row.get("attempt").ok() } else { None },
        }
    }
}

fn column(row: &Row<'_>, error: &rusqlite::Error) -> String {
    use rusqlite::Error::{FromSqlConversionFailure, IntegralValueOutOfRange, InvalidColumnType, Utf8Error};
    let (FromSqlConversionFailure(index, ..)
    | IntegralValueOutOfRange(index, _)
    | InvalidColumnType(index, ..)
    | Utf8Error(index, _)) = error
    else {
        return String::new();
    };
    row.as_ref().column_name(*index).map_or_else(|_| String::new(), str::to_owned)
}

/// The unreadable rows that were met, each once.
#[derive(Debug, Default)]
pub(super) struct UnreadableRows(RefCell<Vec<Unreadable>>);

impl UnreadableRows {
    pub(super) fn add(&self, found: Unreadable) {
        let mut notes = self.0.borrow_mut();
        if notes.len() < MOST_NOTED && notes.iter().all(|known| (known.kind, known.row) != (found.kind, found.row)) {
            tracing::debug!(row = %found, "unreadable");
            notes.push(found);
        }
    }

    pub(super) fn take(&self) -> Vec<Unreadable> {
        self.0.take()
    }
}

/// A name in the cache, of our grammar.
pub(super) struct Filename(pub(super) String);

/// The name of an exporter or a queue.
pub(super) struct QueueName(pub(super) String);

/// The parameters of a job.
pub(super) struct Params(pub(super) String);

/// JSON that is read when it is needed.
pub(super) struct Json;

/// Text of limited length.
pub(super) struct Text(pub(super) String);

/// How often something was tried.
pub(super) struct Tries(pub(super) u32);

fn text(value: ValueRef<'_>, is_fine: impl FnOnce(&str) -> bool) -> FromSqlResult<String> {
    let text = value.as_str()?;
    is_fine(text).then(|| text.to_owned()).ok_or(FromSqlError::InvalidType)
}

impl FromSql for Filename {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        text(value, is_filename).map(Self)
    }
}

impl FromSql for QueueName {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        text(value, is_name).map(Self)
    }
}

impl FromSql for Params {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        text(value, |text| text.len() <= LONGEST_PARAMS && text.starts_with('{') && is_json(text)).map(Self)
    }
}

/// Without reading what it says; what nests too deep is none.
fn is_json(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text).is_ok()
}

impl FromSql for Json {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        text(value, |text| text.len() <= LONGEST_TEXT && is_json(text)).map(|_| Self)
    }
}

impl FromSql for Text {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        text(value, |text| text.len() <= LONGEST_TEXT).map(Self)
    }
}

impl FromSql for Tries {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        u32::column_result(value).and_then(|number| {
            (number <= MOST_TRIES).then_some(Self(number)).ok_or(FromSqlError::OutOfRange(number.into()))
        })
    }
}

impl FromSql for AttemptId {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        Self::parse(value.as_str()?).ok_or(FromSqlError::InvalidType)
    }
}

impl ToSql for AttemptId {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok((**self).into())
    }
}

impl ToSql for Stamp {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(self.0.into())
    }
}

/// From 1970 to the year 9999.
impl FromSql for Stamp {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        within(value, 0..=LAST).map(Self)
    }
}

/// A number that is read only to be sure of it: a statement of ours calculates with it.
pub(super) fn sure(row: &Row<'_>, column: &str, range: std::ops::RangeInclusive<i64>) -> rusqlite::Result<i64> {
    let index = row.as_ref().column_index(column)?;
    within(row.get_ref(index)?, range).map_err(|_| invalid(row, column))
}

/// The error of a value that none of ours can be.
pub(super) fn invalid(row: &Row<'_>, column: &str) -> rusqlite::Error {
    row.as_ref().column_index(column).map_or_else(
        |error| error,
        |index| rusqlite::Error::InvalidColumnType(index, column.to_owned(), Value::Null.data_type()),
    )
}

/// The range of ranks.
pub(super) const RANKS: std::ops::RangeInclusive<i64> = -LARGEST_RANK..=LARGEST_RANK;

fn within(value: ValueRef<'_>, range: std::ops::RangeInclusive<i64>) -> FromSqlResult<i64> {
    let number = i64::column_result(value)?;
    range.contains(&number).then_some(number).ok_or(FromSqlError::OutOfRange(number))
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

impl ToSql for DropReason {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(self.name().into())
    }
}

impl FromSql for DropReason {
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
