//! When an administrator closed a breaker. Whether one is open is computed from the attempts since.

use rusqlite::params;

use super::{Result, Tx, View};
use crate::model::clock::Stamp;

const CLOSED: &str = "SELECT closed FROM breaker WHERE exporter = ?";

const CLOSE: &str = "
    INSERT INTO breaker (exporter, closed) VALUES (?1, ?2)
        ON CONFLICT (exporter) DO UPDATE SET closed = ?2";

impl View<'_> {
    /// The moment up to which an exporter's attempts do not count for its breaker.
    pub fn breaker_closed(&self, exporter: &str) -> Result<Option<Stamp>> {
        Ok(self.one(CLOSED, params![exporter], |row| Ok(row.get(0).ok()))?.flatten())
    }
}

impl Tx<'_> {
    /// What failed up to now says nothing about the exporter any more.
    pub fn close_breaker(&self, exporter: &str, now: Stamp) -> Result<()> {
        self.change(CLOSE, params![exporter, now]).map(drop)
    }
}
