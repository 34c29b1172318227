//! One row of the queue: a wanted file that is queued, started or failed.

use super::{attempt::AttemptId, clock::Stamp, status::Status};

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
