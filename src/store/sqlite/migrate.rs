//! From the schema of an earlier version to this one.
//!
//! `schema.sql` is always the newest schema. A tick or `check --create` that opens an older database builds it anew in
//! one transaction, so that there is never half a version, and so that an upgraded database has exactly the tables of
//! a new one: old tables are renamed, those of `schema.sql` are made, rows are copied by the columns that both have,
//! and the steps of the versions in between are taken. A change of `schema.sql` after a release comes with a step
//! here, the next `user_version` there, the digest of the version before in [`super::schema`], and a database of that
//! version in `tests/fixtures/`. Columns that the statements of the version before need stay: runs that started before an
//! upgrade end after it.

use rusqlite::{Connection, TransactionBehavior};

use super::{keeping::row_size, schema::SCHEMA};
use crate::store::Result;

/// What has to be done to copied rows; the first leads from version 1 to 2, and so on.
pub(super) const STEPS: &[&str] = &[
    // Counts of their own for delayed jobs, ranks that count from when a job may start, sizes of the history.
    concat!(
        "UPDATE queue SET queued = (SELECT count(*) FROM job WHERE job.queue = queue.name AND status = 0),
                      delayed = (SELECT count(*) FROM job WHERE job.queue = queue.name AND status = 0 AND waits = 1);
     UPDATE job SET rank = rank - submitted / 600000 + max(submitted, run_after) / 600000,
                    due = max(submitted, run_after);
     UPDATE attempt SET row_size = ",
        row_size!(),
        ";
     UPDATE meta SET history_size = (SELECT coalesce(sum(row_size), 0) FROM attempt WHERE ended IS NOT NULL);"
    ),
];

const OBJECTS: &str = "
    SELECT name FROM sqlite_schema WHERE type = ? AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name";

const COLUMNS: &str = "
    SELECT new.name FROM pragma_table_info(?1) AS new JOIN pragma_table_info('old_' || ?1) AS old ON old.name = new.name";

/// Ids go on where they were.
const SEQUENCE: &str = "
    DELETE FROM sqlite_sequence WHERE name = 'job';
    UPDATE sqlite_sequence SET name = 'job' WHERE name = 'old_job'";

/// Builds an older database anew as one of `schema`, and takes the `steps` that are missing. One that has become
/// `newest` meanwhile is left alone.
pub(super) fn migrate(conn: &mut Connection, schema: &str, steps: &[&str]) -> Result<()> {
    let newest = 1 + i64::try_from(steps.len()).unwrap_or(i64::MAX);
    let transaction = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Looked at under the lock: another process may have been faster.
    let old = version(&transaction)?;
    if old < newest {
        rebuild(&transaction, schema)?;
        for step in steps.iter().skip(usize::try_from(old - 1).unwrap_or(0)) {
            transaction.execute_batch(step)?;
        }
        transaction.pragma_update(None, "user_version", newest)?;
        tracing::info!(from = old, to = newest, "schema upgraded");
    }
    Ok(transaction.commit()?)
}

/// This version's tables, with the rows of the old ones.
pub(super) fn upgrade(conn: &mut Connection) -> Result<()> {
    migrate(conn, SCHEMA, STEPS)
}

fn rebuild(conn: &Connection, schema: &str) -> Result<()> {
    for (kind, word) in [("trigger", "TRIGGER"), ("view", "VIEW"), ("index", "INDEX")] {
        for name in objects(conn, kind)? {
            conn.execute_batch(&format!("DROP {word} \"{name}\""))?;
        }
    }
    let tables = objects(conn, "table")?;
    for table in &tables {
        conn.execute_batch(&format!("ALTER TABLE \"{table}\" RENAME TO \"old_{table}\""))?;
    }
    conn.execute_batch(schema)?;
    conn.execute_batch("DELETE FROM meta")?; // the old row comes in place of the new one
    for table in &tables {
        copy(conn, table)?;
    }
    conn.execute_batch(SEQUENCE)?;
    tables.iter().try_for_each(|table| Ok(conn.execute_batch(&format!("DROP TABLE \"old_{table}\""))?))
}

fn objects(conn: &Connection, kind: &str) -> Result<Vec<String>> {
    let mut statement = conn.prepare(OBJECTS)?;
    Ok(statement.query_map([kind], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?)
}

/// A row that breaks a rule of the new table is left behind: it was not written by us.
fn copy(conn: &Connection, table: &str) -> Result<()> {
    let mut statement = conn.prepare(COLUMNS)?;
    let columns = statement.query_map([table], |row| Ok(format!("\"{}\"", row.get::<_, String>(0)?)))?;
    let columns = columns.collect::<rusqlite::Result<Vec<_>>>()?.join(", ");
    if columns.is_empty() {
        return Ok(()); // a table that there is no more
    }
    let sql = format!("INSERT OR IGNORE INTO \"{table}\" ({columns}) SELECT {columns} FROM \"old_{table}\"");
    Ok(conn.execute_batch(&sql)?)
}

pub(super) fn version(conn: &Connection) -> Result<i64> {
    Ok(conn.pragma_query_value(None, "user_version", |row| row.get(0))?)
}
