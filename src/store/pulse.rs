//! Whether there may be something to start: for a tick that nobody has told.

use super::{Result, View};

/// Changes when another connection has committed; what this one writes does not count.
const VERSION: &str = "PRAGMA data_version";

/// The newest job, how many are started, and what the queues count and allow. Queues are few, unless somebody who may
/// write the database has made them many.
const PULSE: &str = "
    SELECT (SELECT coalesce(max(id), 0) FROM job) || ' ' || (SELECT count(*) FROM job WHERE status = 1) || ' ' ||
           total(queued) || ' ' || total(delayed) || ' ' || total(mode = 'open')
      FROM (SELECT queued, delayed, mode FROM queue LIMIT 1000)";

/// What was there at one moment; compared with the next.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pulse {
    version: Option<i64>,
    counts: Option<String>,
}

impl View<'_> {
    /// How it is now.
    pub fn pulse(&self) -> Result<Pulse> {
        let version = self.version()?; // first: what is committed in between shows as a change
        Ok(Pulse { version, counts: self.counts()? })
    }

    /// Whether jobs have come, ended or been let go since then. Where nobody has written this costs next to nothing.
    pub fn has_changed(&self, last: &mut Pulse) -> Result<bool> {
        let version = self.version()?;
        if version == last.version {
            return Ok(false);
        }
        last.version = version;
        Ok(self.counts()? != last.counts)
    }

    fn version(&self) -> Result<Option<i64>> {
        self.one(VERSION, [], |row| row.get(0))
    }

    fn counts(&self) -> Result<Option<String>> {
        self.one(PULSE, [], |row| row.get(0))
    }
}
