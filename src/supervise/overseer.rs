//! What the supervisor asks of its caller, about once a second.

use std::time::Duration;

use super::tree::Stuck;

/// What is known of a running exporter.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Progress {
    /// From 0 to 100, as the exporter last said.
    pub percent: Option<u8>,
    /// What it said beside the number, made safe.
    pub text: Option<String>,
    pub elapsed: Duration,
    /// Bytes of the whole tree now.
    pub memory: u64,
    /// CPU time of the whole tree so far.
    pub cpu: Duration,
    /// Processes of the tree now.
    pub processes: usize,
    /// What is left although it was killed; empty unless the attempt cannot be ended.
    pub stuck: Vec<Stuck>,
}

/// What the caller wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopOrder {
    GoOn,
    /// The admin asked to end it.
    Cancel,
    /// The attempt was taken from us: end the tree and touch neither row nor cache.
    Taken,
}

/// The caller of the supervisor. Both are called from its loop and should return soon.
pub trait Overseer {
    /// About once a second, also while the tree is being ended (then the wish is not heeded).
    fn look(&mut self, progress: &Progress) -> StopOrder;

    /// What the exporter wrote, as it comes.
    fn said(&mut self, _bytes: &[u8]) {}
}
