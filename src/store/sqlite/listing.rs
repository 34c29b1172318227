//! Lists for the admin: which jobs match, in which order, and what jobs and attempts are asked alike.
//!
//! A list is made in two steps: first the ids that match, which are few bytes each, then one row after the other. So
//! sorting a hundred thousand jobs keeps their ids in memory and not their texts, and no read is open while whoever
//! asked leafs through the answer. Jobs are read as a whole, at most as many as there can be files waiting.

use rusqlite::{ToSql, params_from_iter};

use super::View;
use crate::{
    model::{clock::Stamp, status::Status},
    store::Result,
};

/// What rows are about. Empty lists and `None` match everything.
#[derive(Clone, Debug, Default)]
pub struct JobFilter {
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

/// Which jobs, in which order, how many.
#[derive(Clone, Debug)]
pub struct JobQuery {
    pub about: JobFilter,
    /// One of these; none: all.
    pub statuses: Vec<Status>,
    pub order: JobOrder,
    pub reverse: bool,
    /// `None`: all.
    pub limit: Option<u32>,
    /// Only those with smaller ids: the next page of a list that begins with the newest.
    pub below: Option<i64>,
}

/// Conditions and their values, in the order in which they stand.
#[derive(Default)]
pub(super) struct Where {
    text: Vec<String>,
    pub(super) values: Vec<Box<dyn ToSql>>,
}

impl Where {
    pub(super) fn and(&mut self, text: impl Into<String>, values: impl IntoIterator<Item = Box<dyn ToSql>>) {
        self.text.push(text.into());
        self.values.extend(values);
    }

    pub(super) fn equal(&mut self, column: &str, value: Option<&String>) {
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

    pub(super) fn between(&mut self, column: &str, about: &JobFilter) {
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
            // Parameters that are no JSON would stop the whole list.
            self.and(
                "CASE WHEN json_valid(params) THEN CAST(json_extract(params, ?) AS TEXT) = ? ELSE 0 END",
                [boxed(path), boxed(value.clone())],
            );
        }
    }

    /// What rows hold beyond what an index knows.
    pub(super) fn contents(&mut self, about: &JobFilter) {
        self.equal("queue", about.queue.as_ref());
        self.one_of("client", &about.clients);
        self.params(&about.params);
    }

    pub(super) fn text(&self) -> String {
        if self.text.is_empty() { "1".to_owned() } else { self.text.join(" AND ") }
    }
}

pub(super) fn boxed(value: impl ToSql + 'static) -> Box<dyn ToSql> {
    Box::new(value)
}

pub(super) fn direction(reverse: bool) -> &'static str {
    if reverse { " DESC" } else { "" }
}

/// -1 is SQLite's word for all.
pub(super) fn limit(limit: Option<u32>) -> i64 {
    limit.map_or(-1, i64::from)
}

impl View<'_> {
    /// The ids of the jobs that match. `since` and `until` are about their submission.
    pub fn job_ids(&self, query: &JobQuery) -> Result<Vec<i64>> {
        let (sql, values) = job_sql(query);
        self.with_room(|| self.all(&sql, params_from_iter(values), |row| row.get(0)))
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

/// The statement that answers a query, for a look at its plan.
#[cfg(test)]
pub(super) fn job_statement(query: &JobQuery) -> String {
    job_sql(query).0
}
