//! Pruning: what is there, what goes, and taking it away.
//!
//! The caller removes inside a short transaction, leaving out every name that the queue still needs.

use std::{io, time::Duration};

use super::Cache;
use crate::model::clock::Stamp;

/// A finished file that a scan found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub filename: String,
    /// Bytes.
    pub size: u64,
    pub made: Stamp,
    pub mtime_ns: i128,
    pub inode: u64,
    pub device: u64,
}

impl Entry {
    pub fn exporter(&self) -> &str {
        self.filename.split_once('/').map_or(self.filename.as_str(), |(exporter, _)| exporter)
    }
}

/// A name that an attempt has left while it published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Temp {
    pub exporter: String,
    pub attempt: String,
}

/// The entries that go, expired ones first, then the oldest until the rest fits into `max_size` bytes; none that is
/// younger than `grace` goes for its size. `rules` gives an exporter's ttl and stale.
pub fn choose(
    _entries: &[Entry],
    _rules: impl Fn(&str) -> (Option<Duration>, Duration),
    _grace: Duration,
    _max_size: u64,
    _now: Stamp,
) -> Vec<Entry> {
    todo!()
}

impl Cache {
    /// Every finished file. What cannot be read becomes a sentence in `problems` and does not stop the rest.
    pub fn scan(&self, _problems: &mut Vec<String>) -> Vec<Entry> {
        todo!()
    }

    /// Names that attempts have left while publishing; whose attempt is gone can be removed.
    pub fn temps(&self, _problems: &mut Vec<String>) -> Vec<Temp> {
        todo!()
    }

    /// Sets files from more than a minute ahead back to `now`, in the cache and in `entries`; tells how many.
    pub fn heal_future(&self, _entries: &mut [Entry], _now: Stamp, _problems: &mut Vec<String>) -> usize {
        todo!()
    }

    /// Unlinks the entry if it is still the file that was scanned. `false`: it has gone, or was replaced.
    pub fn remove(&self, _entry: &Entry) -> io::Result<bool> {
        todo!()
    }

    /// Sets the time at which the file was made. `false`: there is no such file.
    pub fn age(&self, _filename: &str, _to: Stamp) -> io::Result<bool> {
        todo!()
    }
}
