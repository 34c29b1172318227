//! Whether a database holds our tables and nothing else.
//!
//! Whoever may write the file may store code in it: triggers, views, generated columns, indexes over expressions. A
//! connection of ours runs none of that, and a schema that is not ours to the letter is refused before anything of it
//! is read.

use rusqlite::Connection;

use crate::store::{Result, StoreError};

/// The tables, as they stand.
pub(super) const SCHEMA: &str = include_str!("../../../schema.sql");

/// What schema.sql describes.
pub(super) const VERSION: i64 = 2;

/// The digests of what each version's `schema.sql` makes, the first version first. A test holds the last one to the file.
pub(super) const DIGESTS: [&str; 2] = ["3ad35d578b380c85c16189657ca4be9b", "b87ce3e617640e81951a2440d36595c9"];

const OBJECTS: &str = "SELECT type, name, tbl_name, coalesce(sql, '') FROM sqlite_schema ORDER BY type, name";

/// Type, name, table and text of everything that is stored.
type Object = (String, String, String, String);

/// Refuses a schema that is not the one of this version, naming what differs.
pub(super) fn expect(conn: &Connection, version: i64) -> Result<()> {
    let found = objects(conn)?;
    let known = usize::try_from(version - 1).ok().and_then(|place| DIGESTS.get(place));
    if known.is_some_and(|known| digest(&found) == *known) {
        return Ok(());
    }
    let object = if version == VERSION { difference(&found) } else { None };
    Err(StoreError::Altered(object.unwrap_or_else(|| format!("something in the schema of version {version}"))))
}

pub(super) fn digest(objects: &[Object]) -> String {
    let mut hasher = blake3::Hasher::new();
    for (kind, name, table, sql) in objects {
        for text in [kind, name, table, sql] {
            hasher.update(&(text.len() as u64).to_le_bytes());
            hasher.update(text.as_bytes());
        }
    }
    hasher.finalize().to_hex()[..32].to_owned()
}

pub(super) fn objects(conn: &Connection) -> Result<Vec<Object>> {
    let mut statement = conn.prepare(OBJECTS)?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// The first thing that is there and not ours, or ours and not there.
fn difference(found: &[Object]) -> Option<String> {
    let ours = fresh().ok()?;
    let name = |(kind, name, _, _): &Object| format!("{kind} {}", name.escape_debug());
    let strange = found.iter().find(|object| !ours.contains(object)).map(name);
    strange.or_else(|| ours.iter().find(|object| !found.contains(object)).map(name))
}

/// What a new database holds.
pub(super) fn fresh() -> Result<Vec<Object>> {
    let conn = Connection::open_in_memory()?;
    conn.execute_batch(SCHEMA)?;
    objects(&conn)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_is_that_of_the_file() {
        assert_eq!(DIGESTS.len(), usize::try_from(VERSION).unwrap());
        assert_eq!(
            digest(&fresh().unwrap()),
            DIGESTS[DIGESTS.len() - 1],
            "schema.sql has changed: is it a new version?"
        );
    }
}
