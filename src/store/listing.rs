//! Lists for the admin: which jobs and attempts match, in which order.
//!
//! A list is made in two steps: first the ids that match, which are few bytes each, then one row after the other. So
//! sorting a hundred thousand jobs keeps their ids in memory and not their texts. Jobs are read as a whole, at most as
//! many as there can be files waiting; attempts, of which there may be millions, are read along an index.

use rusqlite::{ToSql, params_from_iter};

use super::{Result, View};
use crate::model::{clock::Stamp, status::Outcome, status::Status};

/// What no index can tell is looked for among so many of the newest attempts.
pub const LOOK_BACK: u32 = 100_000;

/// What rows are about. Empty lists and `None` match everything.
#[derive(Clone, Debug, Default)]
pub struct About {
    pub exporter: Option<String>,
    pub queue: Option<String>,
    /// One of these: a client as it was given and as its hash.
    pub clients: Vec<String>,
    /// Names and values that all must be so.
    pub params: Vec<(String, String)>,
    /// At or after this moment.
    pub since: Option<Stamp>,
    /// Before this moment.
    pub until: Option<Stamp>,
}

/// The order of a list of jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobOrder {
    Id,
    Filename,
    Status,
    Submitted,
    Started,
    Failed,
    Attempts,
    Priority,
    /// By queue, in the order in which they will be claimed.
    Turn,
}

impl JobOrder {
    const fn columns(self) -> &'static [&'static str] {
        match self {
            Self::Id => &["id"],
            Self::Filename => &["filename"],
            Self::Status => &["status", "id"],
            Self::Submitted => &["submitted", "id"],
            Self::Started => &["started", "id"],
            Self::Failed => &["failed", "id"],
            Self::Attempts => &["attempts", "id"],
            Self::Priority => &["priority", "id"],
            Self::Turn => &["queue", "waits", "rank", "submitted", "id"],
        }
    }
}

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

/// Which jobs, in which order, how many.
#[derive(Clone, Debug)]
pub struct JobQuery {
    pub about: About,
    /// One of these; none: all.
    pub statuses: Vec<Status>,
    pub order: JobOrder,
    pub reverse: bool,
    /// `None`: all.
    pub limit: Option<u32>,
    /// Only those with smaller ids: the next page of a list that begins with the newest.
    pub below: Option<i64>,
}

/// Which past attempts, in which order, how many.
#[derive(Clone, Debug)]
pub struct AttemptQuery {
    pub about: About,
    /// One of these; none: all.
    pub outcomes: Vec<Outcome>,
    pub order: AttemptOrder,
    pub reverse: bool,
    /// `None`: all.
    pub limit: Option<u32>,
    /// Only what stands behind this end and row in a list that begins with the newest: its next page.
    pub below: Option<(Stamp, i64)>,
}

impl AttemptQuery {
    /// Whether the indexes do not tell all that is asked.
    fn is_deep(&self) -> bool {
        let about = &self.about;
        about.queue.is_some()
            || !about.clients.is_empty()
            || !about.params.is_empty()
            || self.order != AttemptOrder::Ended
    }
}

/// Conditions and their values, in the order in which they stand.
#[derive(Default)]
struct Where {
    text: Vec<String>,
    values: Vec<Box<dyn ToSql>>,
}

impl Where {
    fn and(&mut self, text: impl Into<String>, values: impl IntoIterator<Item = Box<dyn ToSql>>) {
        self.text.push(text.into());
        self.values.extend(values);
    }

    fn equal(&mut self, column: &str, value: Option<&String>) {
        if let Some(value) = value {
            self.and(format!("{column} = ?"), [boxed(value.clone())]);
        }
    }

    fn one_of(&mut self, column: &str, values: &[String]) {
        if !values.is_empty() {
            let marks = vec!["?"; values.len()].join(", ");
            self.and(format!("{column} IN ({marks})"), values.iter().cloned().map(boxed));
        }
    }

    fn between(&mut self, column: &str, about: &About) {
        if let Some(since) = about.since {
            self.and(format!("{column} >= ?"), [boxed(since)]);
        }
        if let Some(until) = about.until {
            self.and(format!("{column} < ?"), [boxed(until)]);
        }
    }

    /// Numbers are compared as they are written.
    fn params(&mut self, params: &[(String, String)]) {
        for (name, value) in params {
            let path = format!("$.\"{name}\"");
            self.and("CAST(json_extract(params, ?) AS TEXT) = ?", [boxed(path), boxed(value.clone())]);
        }
    }

    /// What rows hold beyond what an index knows.
    fn contents(&mut self, about: &About) {
        self.equal("queue", about.queue.as_ref());
        self.one_of("client", &about.clients);
        self.params(&about.params);
    }

    fn text(&self) -> String {
        if self.text.is_empty() { "1".to_owned() } else { self.text.join(" AND ") }
    }
}

fn boxed(value: impl ToSql + 'static) -> Box<dyn ToSql> {
    Box::new(value)
}

fn direction(reverse: bool) -> &'static str {
    if reverse { " DESC" } else { "" }
}

/// -1 is SQLite's word for all.
fn limit(limit: Option<u32>) -> i64 {
    limit.map_or(-1, i64::from)
}

impl View<'_> {
    /// The ids of the jobs that match. `since` and `until` are about their submission.
    pub fn job_ids(&self, query: &JobQuery) -> Result<Vec<i64>> {
        let (sql, values) = job_sql(query);
        self.all(&sql, params_from_iter(values), |row| row.get(0))
    }

    /// The row numbers of the ended attempts that match, for [`View::attempt_at`]. `since` and `until` are about
    /// their end. Queue, client, parameters and orders other than by end are looked at in the newest
    /// [`LOOK_BACK`] attempts that match the rest.
    pub fn attempt_rows(&self, query: &AttemptQuery) -> Result<Vec<i64>> {
        let mut found = Vec::new();
        for (index, outcomes) in ways(query) {
            let (sql, values) = attempt_sql(query, index, &outcomes);
            found.extend(
                self.all(&sql, params_from_iter(values), |row| Ok((row.get::<_, Option<i64>>(0)?, row.get(1)?)))?,
            );
        }
        found.sort_unstable();
        if query.reverse {
            found.reverse();
        }
        found.truncate(query.limit.map_or(usize::MAX, |limit| limit as usize));
        Ok(found.into_iter().map(|(_, row)| row).collect())
    }
}

/// Along the ids, where those are wanted in turn: a page is short, and any other index would have all that it finds
/// sorted first. What has been started is few, and found at once.
fn walk(query: &JobQuery) -> &'static str {
    match (query.order, query.limit, &query.statuses[..]) {
        (JobOrder::Id, Some(_), [Status::Started]) => " INDEXED BY job_started",
        (JobOrder::Id, Some(_), _) => " NOT INDEXED",
        _ => "",
    }
}

fn job_sql(query: &JobQuery) -> (String, Vec<Box<dyn ToSql>>) {
    let mut conditions = Where::default();
    // As numbers in the text: a partial index is used only for a condition that is seen when the plan is made.
    match &query.statuses[..] {
        [] => {}
        [one] => conditions.and(format!("status = {}", one.code()), []),
        many => {
            let codes: Vec<_> = many.iter().map(|status| status.code().to_string()).collect();
            conditions.and(format!("status IN ({})", codes.join(", ")), []);
        }
    }
    if let Some(id) = query.below {
        conditions.and("id < ?", [boxed(id)]);
    }
    conditions.equal("exporter", query.about.exporter.as_ref());
    conditions.between("submitted", &query.about);
    conditions.contents(&query.about);
    let direction = direction(query.reverse);
    let order: Vec<_> = query.order.columns().iter().map(|column| format!("{column}{direction}")).collect();
    let sql = format!(
        "SELECT id FROM job{} WHERE {} ORDER BY {} LIMIT {}",
        walk(query),
        conditions.text(),
        order.join(", "),
        limit(query.limit)
    );
    (sql, conditions.values)
}

/// The index to walk along, and the outcomes to look for on the way; with an exporter one walk for each outcome.
fn ways(query: &AttemptQuery) -> Vec<(&'static str, Vec<Outcome>)> {
    let wanted = if query.outcomes.is_empty() { Outcome::ALL.to_vec() } else { query.outcomes.clone() };
    if query.about.exporter.is_some() {
        return wanted.into_iter().map(|outcome| ("attempt_result", vec![outcome])).collect();
    }
    vec![("attempt_ended", query.outcomes.clone())]
}

fn attempt_sql(query: &AttemptQuery, index: &str, outcomes: &[Outcome]) -> (String, Vec<Box<dyn ToSql>>) {
    let (mut walk, mut look) = (Where::default(), Where::default());
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
    if let Some((ended, row)) = query.below {
        walk.and("ended <= ? AND (ended < ? OR rowid < ?)", [boxed(ended), boxed(ended), boxed(row)]);
    }
    look.contents(&query.about);
    let (column, most) = (query.order.column(), limit(query.limit));
    let direction = direction(query.reverse);
    let walked = walk.text();
    let sql = if query.is_deep() {
        format!(
            "SELECT {column}, n FROM (SELECT rowid AS n, * FROM attempt INDEXED BY {index} WHERE {walked}
              ORDER BY ended DESC, rowid DESC LIMIT {LOOK_BACK}) WHERE {} ORDER BY {column}{direction}, n{direction} LIMIT {most}",
            look.text()
        )
    } else {
        format!(
            "SELECT ended, rowid FROM attempt INDEXED BY {index} WHERE {walked}
              ORDER BY ended{direction}, rowid{direction} LIMIT {most}"
        )
    };
    walk.values.extend(look.values);
    (sql, walk.values)
}

/// The statement that answers a query, for a look at its plan.
#[cfg(test)]
pub(super) fn job_statement(query: &JobQuery) -> String {
    job_sql(query).0
}

/// The statements that answer a query, for a look at their plans.
#[cfg(test)]
pub(super) fn attempt_statements(query: &AttemptQuery) -> Vec<String> {
    ways(query).into_iter().map(|(index, outcomes)| attempt_sql(query, index, &outcomes).0).collect()
}
