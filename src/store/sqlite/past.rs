//! Lists of past attempts, of which there may be millions: they are walked along an index and given out page by page.
//!
//! Between two pages no read is open, so that whoever leafs through a list holds up nobody's log, and the memory that
//! is needed does not grow with the history.

use std::{fmt, str::FromStr};

use rusqlite::{Row, ToSql, params, params_from_iter};

use super::{
    View,
    listing::{JobFilter, Where, boxed, direction, limit},
};
use crate::{
    model::{clock::Stamp, job::Attempt, status::Outcome},
    store::Result,
};

/// What no index can tell is looked for among so many of the newest attempts.
pub const LOOK_BACK: u32 = 100_000;

/// So many row numbers are read at once.
const PAGE: u32 = 1000;

/// The order of a list of attempts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttemptOrder {
    Ended,
    Duration,
    Memory,
    Cpu,
}

impl AttemptOrder {
    const fn column(self) -> &'static str {
        match self {
            Self::Ended => "ended",
            Self::Duration => "duration",
            Self::Memory => "peak_memory",
            Self::Cpu => "cpu_used",
        }
    }
}

/// Which past attempts, in which order, how many.
#[derive(Clone, Debug)]
pub struct AttemptQuery {
    pub about: JobFilter,
    /// One of these; none: all.
    pub outcomes: Vec<Outcome>,
    pub order: AttemptOrder,
    pub reverse: bool,
    /// `None`: all.
    pub limit: Option<u32>,
    /// Only what stands behind this end and row in a list that begins with the newest: its next page.
    pub below: Option<AttemptCursor>,
}

impl AttemptQuery {
    fn is_newest_first(&self) -> bool {
        self.order == AttemptOrder::Ended && self.reverse
    }

    /// Whether the indexes do not tell all that is asked.
    fn is_deep(&self) -> bool {
        let about = &self.about;
        about.queue.is_some()
            || !about.clients.is_empty()
            || !about.params.is_empty()
            || self.order != AttemptOrder::Ended
    }
}

/// Whose attempts.
#[derive(Clone, Copy, Debug)]
pub enum Whose<'a> {
    File(&'a str),
    /// Of a job that may be gone.
    Job(i64),
}

pub(super) const KNOWS_EXPORTER: &str = "
    SELECT EXISTS (SELECT 1 FROM job WHERE exporter = ?1 AND status = 0)
        OR EXISTS (SELECT 1 FROM job WHERE exporter = ?1 AND status = 1)
        OR EXISTS (SELECT 1 FROM job WHERE exporter = ?1 AND status >= 2)
        OR EXISTS (SELECT 1 FROM attempt WHERE exporter = ?1 AND ended IS NOT NULL)";

const KNOWS_QUEUE: &str = "SELECT EXISTS (SELECT 1 FROM queue WHERE name = ?)";

pub(super) const ROWS_OF_FILE: &str = "SELECT rowid FROM attempt WHERE filename = ? ORDER BY rowid DESC LIMIT ?";
pub(super) const ROWS_OF_JOB: &str = "SELECT rowid FROM attempt WHERE job = ? ORDER BY rowid DESC LIMIT ?";

/// A place in a list of attempts, from which its next page is read. Written as a word for an address, and only compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttemptCursor {
    ended: Stamp,
    row: i64,
}

impl fmt::Display for AttemptCursor {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{}.{}", self.ended.0, self.row)
    }
}

impl FromStr for AttemptCursor {
    type Err = ();

    fn from_str(word: &str) -> Result<Self, ()> {
        let (ended, row) = word.split_once('.').ok_or(())?;
        Ok(Self { ended: Stamp(ended.parse().map_err(drop)?), row: row.parse().map_err(drop)? })
    }
}

type Statement = (String, Vec<Box<dyn ToSql>>);

impl View<'_> {
    /// Whether anything of an exporter is left, which may be configured no longer.
    pub fn knows_exporter(&self, name: &str) -> Result<bool> {
        Ok(self.one(KNOWS_EXPORTER, params![name], |row| row.get(0))?.unwrap_or(false))
    }

    /// Whether a job was ever in this queue.
    pub fn knows_queue(&self, name: &str) -> Result<bool> {
        Ok(self.one(KNOWS_QUEUE, params![name], |row| row.get(0))?.unwrap_or(false))
    }

    /// Shows the ended attempts that match, each with its place in the list, until `show` says `false`. `since` and `until` are about their end. Queue,
    /// client, parameters and orders other than by end are looked at in the newest [`LOOK_BACK`] attempts that match
    /// the rest; the answer is whether there are older ones, at which nobody has looked and which might belong here.
    pub fn each_attempt(
        &self,
        query: &AttemptQuery,
        mut show: impl FnMut(AttemptCursor, &Attempt) -> bool,
    ) -> Result<bool> {
        if query.is_deep() {
            let rows = self.rows(deep_sql(query))?;
            let is_whole = query.is_newest_first() && query.limit.is_some_and(|limit| rows.len() >= limit as usize);
            self.show(rows.into_iter().map(|cursor| cursor.row), &mut show)?;
            return Ok(!is_whole && self.rows(beyond_sql(query))?.pop().is_some());
        }
        let (mut left, mut after) = (query.limit.unwrap_or(u32::MAX), None);
        while left > 0 {
            let rows = self.rows(page_sql(query, after, left.min(PAGE)))?;
            let Some(last) = rows.last().copied() else { break };
            if !self.show(rows.into_iter().map(|cursor| cursor.row), &mut show)? {
                break;
            }
            after = Some(last);
            left = left.saturating_sub(PAGE);
        }
        Ok(false)
    }

    /// The newest [`LOOK_BACK`] attempts of a file or a job, running ones as well, the newest first, until `show` says
    /// `false`; the answer is whether there are older ones.
    pub fn each_attempt_of(&self, whose: Whose, mut show: impl FnMut(AttemptCursor, &Attempt) -> bool) -> Result<bool> {
        let most = LOOK_BACK + 1;
        let mut rows: Vec<i64> = match whose {
            Whose::File(filename) => self.all(ROWS_OF_FILE, params![filename, most], |row| row.get(0))?,
            Whose::Job(id) => self.all(ROWS_OF_JOB, params![id, most], |row| row.get(0))?,
        };
        let are_more = rows.len() > LOOK_BACK as usize;
        rows.truncate(LOOK_BACK as usize);
        let all = self.show(rows.into_iter(), &mut show)?;
        Ok(all && are_more)
    }

    fn rows(&self, (sql, values): Statement) -> Result<Vec<AttemptCursor>> {
        // A moment that is none sorts as the first.
        let read = |row: &Row<'_>| Ok(AttemptCursor { ended: row.get(0).unwrap_or_default(), row: row.get(1)? });
        self.with_room(|| self.all(&sql, params_from_iter(values), read))
    }

    /// `false`: enough. An attempt that has gone since it was found is left out.
    fn show(
        &self,
        rows: impl Iterator<Item = i64>,
        show: &mut impl FnMut(AttemptCursor, &Attempt) -> bool,
    ) -> Result<bool> {
        for row in rows {
            let Some(attempt) = self.attempt_at(row)? else { continue };
            let ended = attempt.record.as_ref().map(|record| record.ended).unwrap_or_default();
            if !show(AttemptCursor { ended, row }, &attempt) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// The next attempts in their order, as far as the indexes tell all that is asked.
fn page_sql(query: &AttemptQuery, after: Option<AttemptCursor>, most: u32) -> Statement {
    let (walk, values) = walk_sql(query, "ended, rowid AS n", after);
    let direction = direction(query.reverse);
    (format!("{walk} ORDER BY ended{direction}, n{direction} LIMIT {most}"), values)
}

/// What the newest attempts hold.
fn deep_sql(query: &AttemptQuery) -> Statement {
    let (walk, mut values) =
        walk_sql(query, "rowid AS n, ended, duration, peak_memory, cpu_used, queue, client, params", None);
    let mut look = Where::default();
    look.contents(&query.about);
    values.append(&mut look.values);
    let (column, direction) = (query.order.column(), direction(query.reverse));
    let sql = format!(
        "SELECT ended, n FROM ({walk} ORDER BY ended DESC LIMIT {LOOK_BACK}) WHERE {}
          ORDER BY {column}{direction}, n{direction} LIMIT {}",
        look.text(),
        limit(query.limit)
    );
    (sql, values)
}

/// One attempt that is older than what was looked at.
fn beyond_sql(query: &AttemptQuery) -> Statement {
    let (walk, values) = walk_sql(query, "ended, rowid AS n", None);
    (format!("{walk} ORDER BY ended DESC LIMIT 1 OFFSET {LOOK_BACK}"), values)
}

/// One way along an index, or several that SQLite merges, since each is in the order of the ends.
fn walk_sql(query: &AttemptQuery, columns: &str, after: Option<AttemptCursor>) -> Statement {
    let (mut texts, mut values) = (Vec::new(), Vec::new());
    for (index, outcomes) in ways(query) {
        let mut walk = way(query, &outcomes, after);
        texts.push(format!("SELECT {columns} FROM attempt INDEXED BY {index} WHERE {}", walk.text()));
        values.append(&mut walk.values);
    }
    (texts.join(" UNION ALL "), values)
}

/// The index to walk along, and the outcomes to look for on the way; with an exporter one walk for each outcome.
fn ways(query: &AttemptQuery) -> Vec<(&'static str, Vec<Outcome>)> {
    let wanted = if query.outcomes.is_empty() { Outcome::ALL.to_vec() } else { query.outcomes.clone() };
    if query.about.exporter.is_some() {
        return wanted.into_iter().map(|outcome| ("attempt_result", vec![outcome])).collect();
    }
    vec![("attempt_ended", query.outcomes.clone())]
}

fn way(query: &AttemptQuery, outcomes: &[Outcome], after: Option<AttemptCursor>) -> Where {
    let mut walk = Where::default();
    walk.and("ended IS NOT NULL", []);
    walk.equal("exporter", query.about.exporter.as_ref());
    match outcomes {
        [one] => walk.and(format!("result = '{}'", one.name()), []),
        [] => {}
        many => {
            let names: Vec<_> = many.iter().map(|outcome| format!("'{}'", outcome.name())).collect();
            walk.and(format!("result IN ({})", names.join(", ")), []);
        }
    }
    walk.between("ended", &query.about);
    if let Some(place) = query.below {
        walk.beyond("<", place);
    }
    if let Some(place) = after {
        walk.beyond(if query.reverse { "<" } else { ">" }, place);
    }
    walk
}

impl Where {
    fn beyond(&mut self, comparison: &str, AttemptCursor { ended, row }: AttemptCursor) {
        self.and(format!("(ended, rowid) {comparison} (?, ?)"), [boxed(ended), boxed(row)]);
    }
}

/// The statements that answer a query, for a look at their plans.
#[cfg(test)]
pub(super) fn statements(query: &AttemptQuery) -> Vec<String> {
    let after = Some(AttemptCursor { ended: Stamp(0), row: 0 });
    if query.is_deep() {
        return vec![deep_sql(query).0, beyond_sql(query).0];
    }
    vec![page_sql(query, None, PAGE).0, page_sql(query, after, PAGE).0]
}
