//! What administrators did: kept here by whoever carries it out, who may be the web user, until a tick writes it into the
//! activity log, and shown on the status page.

use rusqlite::{Row, params};

use super::{Result, Tx, View};
use crate::model::clock::Stamp;

/// So many are kept; of those that no tick has logged yet so many more.
const KEPT: i64 = 1000;
const UNLOGGED_KEPT: i64 = 10_000;
/// Bytes of a sentence.
const LONGEST: usize = 2000;

const NOTE: &str = "INSERT INTO action (at, who, what) VALUES (?, ?, ?)";
const FORGET: &str = "DELETE FROM action WHERE id <= (SELECT max(id) FROM action) - ? AND logged >= ?";
const LATEST: &str = "SELECT id, at, who, what FROM action ORDER BY id DESC LIMIT ?";
pub(super) const UNLOGGED: &str = "SELECT id, at, who, what FROM action WHERE logged = 0 ORDER BY id LIMIT ?";
const LOGGED: &str = "UPDATE action SET logged = 1 WHERE logged = 0 AND id <= ?";

/// One thing that an administrator did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Action {
    pub id: i64,
    pub at: Stamp,
    pub who: String,
    /// A sentence in the past tense.
    pub what: String,
}

impl View<'_> {
    /// The latest, the newest first.
    pub fn actions(&self, limit: u32) -> Result<Vec<Action>> {
        Ok(self.all(LATEST, params![limit], |row| Ok(action(row).ok()))?.into_iter().flatten().collect())
    }

    /// Those that are not in the activity log yet, the oldest first.
    pub fn unlogged_actions(&self, limit: u32) -> Result<Vec<Action>> {
        Ok(self.all(UNLOGGED, params![limit], |row| Ok(action(row).ok()))?.into_iter().flatten().collect())
    }
}

impl Tx<'_> {
    /// Keeps what somebody did, as part of the transaction that does it.
    pub fn note_action(&self, at: Stamp, who: &str, what: &str) -> Result<()> {
        let short = |text: &str| text[..text.floor_char_boundary(LONGEST)].to_owned();
        self.change(NOTE, params![at, short(who), short(what)])?;
        self.change(FORGET, params![UNLOGGED_KEPT, 0])?;
        Ok(())
    }

    /// Those up to this one are in the activity log, and the oldest of them are forgotten.
    pub fn actions_logged(&self, last: i64) -> Result<()> {
        self.change(LOGGED, params![last])?;
        self.change(FORGET, params![KEPT, 1])?;
        Ok(())
    }
}

fn action(row: &Row<'_>) -> rusqlite::Result<Action> {
    Ok(Action { id: row.get(0)?, at: row.get(1)?, who: row.get(2)?, what: row.get(3)? })
}
