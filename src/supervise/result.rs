//! How an exporter ended and what it used, before anybody judges.

use std::time::Duration;

/// Why the run asked the tree to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndedBy {
    Timeout,
    Cpu,
    Memory,
    WorkSize,
    Cancel,
    Shutdown,
    /// The attempt is no longer ours.
    Taken,
}

/// The facts of one ended attempt. The tree is gone when this exists.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProcessResult {
    /// Of the leader. Without it and without a signal nobody knows how it ended.
    pub exit_code: Option<i32>,
    pub signal: Option<i32>,
    /// If set, exit code and file mean nothing.
    pub asked: Option<EndedBy>,
    /// From the start to the leader's end, suspend included.
    pub duration: Duration,
    /// Bytes of the whole tree.
    pub peak_memory: u64,
    /// User and system time of the whole tree.
    pub cpu_used: Duration,
    /// The most processes that were seen at once.
    pub peak_processes: usize,
    /// Bytes that the exporter had in its work directory at most.
    pub peak_work: u64,
    /// Bytes of the largest file that lies there at the end.
    pub largest_file: u64,
    /// The end of the log, at most 4 KiB, fit to be shown.
    pub log_tail: String,
    /// What the exporter said to the visitor.
    pub message: Option<String>,
    /// A file of exactly `file_size` bytes lies in the work directory.
    pub file_at_limit: bool,
    /// The output has exactly `file_size` bytes.
    pub output_at_limit: bool,
}
