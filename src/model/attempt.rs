//! One run of an exporter for a job, and what is recorded of it.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{clock::Stamp, limits::Limits, status::Outcome};

/// A job that was claimed: what a run needs to know. Every statement that ends the attempt names `attempt`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Claim {
    pub job: i64,
    /// The attempt's id, a ULID.
    pub attempt: String,
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
#[derive(Clone, Debug, PartialEq)]
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
}

impl Record {
    /// A record of an attempt of which nothing is known but how it ended.
    pub fn bare(outcome: Outcome, ended: Stamp, duration: Duration) -> Self {
        Self {
            outcome,
            ended,
            duration,
            exit_code: None,
            signal: None,
            peak_memory: None,
            cpu_used: None,
            output_size: None,
            log_tail: String::new(),
            message: None,
            detail: None,
        }
    }
}

/// An attempt as history keeps it. `record` is `None` while it runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Attempt {
    pub id: String,
    pub job: i64,
    pub filename: String,
    pub exporter: String,
    pub params: String,
    pub queue: String,
    pub client: Option<String>,
    pub number: u32,
    pub submitted: Stamp,
    pub started: Stamp,
    /// The start that counts for `--after`: that of the source's attempt for a derived file.
    pub counts_from: Stamp,
    pub limits: Limits,
    pub record: Option<Record>,
}
