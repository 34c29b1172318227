//! One row of the queue, a wanted file that is queued, started or failed; one run of an exporter for it, and what is
//! recorded of that.

use std::{fmt, ops::Deref, time::Duration};

use serde::{Deserialize, Serialize};
use ulid::Ulid;

use super::{
    clock::Stamp,
    limits::Limits,
    status::{DropReason, Outcome, Status},
};

/// A row of the `job` table.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    pub id: i64,
    pub filename: String,
    pub exporter: String,
    /// The parameters as a JSON object.
    pub params: String,
    pub queue: String,
    /// From -10 to 10; higher is sooner.
    pub priority: i64,
    /// A keyed hash, never the address itself when it came over HTTP.
    pub client: Option<String>,
    pub status: Status,
    pub submitted: Stamp,
    /// Not started before this moment.
    pub run_after: Stamp,
    pub last_asked: Stamp,
    pub started: Option<Stamp>,
    /// When it failed for good.
    pub failed: Option<Stamp>,
    /// The running attempt's id, or the last one's.
    pub attempt: Option<AttemptId>,
    pub attempts: u32,
    /// From 0 to 100, as the exporter said.
    pub percent: Option<u8>,
    /// For the visitor.
    pub message: Option<String>,
    /// How the last attempt ended.
    pub result: Option<String>,
    /// One more run was noted; it is not started before this moment.
    pub again: Option<Stamp>,
    /// The admin asked to end it.
    pub cancel: bool,
    /// The filename of the source that it is made from.
    pub source: Option<String>,
    /// The source's making must have begun then or later.
    pub source_after: Option<Stamp>,
    /// It waits for its source to be made.
    pub waits_for_source: bool,
}

/// The id of an attempt: a ULID in its canonical form. Nothing else becomes part of a path below `work/` or `log/`, and
/// the only ways to one are a ULID and the check of [`AttemptId::parse`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct AttemptId(String);

impl AttemptId {
    /// `None`: it is not the id of an attempt.
    pub fn parse(text: &str) -> Option<Self> {
        let digit = |byte: u8| byte.is_ascii_digit() || (byte.is_ascii_uppercase() && !b"ILOU".contains(&byte));
        let is_ulid = text.len() == 26 && text.bytes().all(digit) && text.as_bytes()[0] <= b'7';
        is_ulid.then(|| Self(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<Ulid> for AttemptId {
    fn from(id: Ulid) -> Self {
        Self(id.to_string())
    }
}

impl Deref for AttemptId {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl PartialEq<&str> for AttemptId {
    fn eq(&self, other: &&str) -> bool {
        self.0 == **other
    }
}

impl fmt::Display for AttemptId {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(&self.0)
    }
}

impl TryFrom<String> for AttemptId {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text).ok_or_else(|| format!("`{}` is not the id of an attempt", text.escape_debug()))
    }
}

impl From<AttemptId> for String {
    fn from(id: AttemptId) -> Self {
        id.0
    }
}

/// A job that was claimed: what a run needs to know. Every statement that ends the attempt names `attempt`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Claim {
    pub job: i64,
    pub attempt: AttemptId,
    pub filename: String,
    pub exporter: String,
    /// The parameters as a JSON object.
    pub params: String,
    pub queue: String,
    /// Which attempt of this job it is, from 1.
    pub number: u32,
    pub submitted: Stamp,
    pub started: Stamp,
    /// The limits that it runs under, escalated ones included.
    pub limits: Limits,
    /// The filename of the job's source, if it is a derived format.
    pub source: Option<String>,
    pub client: Option<String>,
}

/// How an attempt ended and what it used.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Record {
    pub outcome: Outcome,
    pub ended: Stamp,
    /// On the monotonic clock.
    pub duration: Duration,
    pub exit_code: Option<i32>,
    pub signal: Option<i32>,
    /// Bytes, of the whole tree.
    pub peak_memory: Option<u64>,
    /// User and system time of the whole tree.
    pub cpu_used: Option<Duration>,
    /// Bytes of the published file.
    pub output_size: Option<u64>,
    /// The end of the log, at most 4 KiB.
    pub log_tail: String,
    /// One line for the visitor, without paths, commands or log text.
    pub message: Option<String>,
    /// One sentence for the admin: what exactly was wrong.
    pub detail: Option<String>,
    /// It was lost without any fault of its exporter's: the machine was restarted, or its job was removed.
    pub restarted: bool,
    /// Of a job that was dropped.
    pub drop_reason: Option<DropReason>,
}

impl Record {
    /// A record of an attempt of which nothing is known but how it ended.
    pub fn bare(outcome: Outcome, ended: Stamp, duration: Duration) -> Self {
        Self { outcome, ended, duration, ..Self::default() }
    }
}

/// An attempt as history keeps it. `record` is `None` while it runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Attempt {
    pub id: AttemptId,
    pub job: i64,
    pub filename: String,
    pub exporter: String,
    pub params: String,
    pub queue: String,
    pub client: Option<String>,
    /// From 1; 0 if the job was dropped while it was queued, without an attempt.
    pub number: u32,
    pub submitted: Stamp,
    pub started: Stamp,
    /// The start that counts for `--after`: that of the source's attempt for a derived file.
    pub counts_from: Stamp,
    pub limits: Limits,
    pub record: Option<Record>,
}

impl Attempt {
    /// Whether it is no attempt: its job was dropped while it was queued.
    pub fn is_drop(&self) -> bool {
        self.record.as_ref().is_some_and(|record| record.outcome == Outcome::Dropped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attempt_is_named_by_a_ulid_and_nothing_else() {
        assert!(AttemptId::parse(&AttemptId::from(Ulid::from_parts(7, 7))).is_some());
        for name in ["", "..", "01ARZ3NDEKTSV4RRFFQ69G5FA", "01arz3ndektsv4rrffq69g5fav", "81ARZ3NDEKTSV4RRFFQ69G5FAV"]
        {
            assert_eq!(AttemptId::parse(name), None, "{name}");
            assert!(serde_json::from_value::<AttemptId>(name.into()).is_err(), "{name}");
        }
    }
}
