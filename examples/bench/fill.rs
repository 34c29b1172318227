//! A long queue and a long history, written past the program: asking a million times would take a quarter of an hour.

use std::fmt::Write as _;

use anyhow::{Context, Result};
use rusqlite::{Connection, params};

use crate::{process::time, site::Site};

/// The jobs were queued one after the other in the last half hour.
const JOB: [(&str, &str); 5] = [
    ("filename", "'book/q' || n || '.bin'"),
    ("params", "json_object('title', 'q' || n)"),
    ("rank", "rank - (count - n) * 1800 / count / 600"),
    ("submitted", "submitted - (count - n) * 1800000 / count"),
    ("queued_since", "queued_since - (count - n) * 1800000 / count"),
];

/// The attempts ended one after the other in the last 29 days, so that none of them nor its log is due to be forgotten.
const ATTEMPT: [(&str, &str); 6] = [
    ("id", "printf('%026d', n)"),
    ("job", "n + 10"),
    ("filename", "'book/h' || n || '.bin'"),
    ("started", "started - (count - n) * 2505600000 / count"),
    ("log", "0"),
    ("ended", "ended - (count - n) * 2505600000 / count"),
];

/// How many rows, and what else differs from one to the next.
pub struct Rows {
    pub jobs: u32,
    pub attempts: u32,
    /// Columns of jobs, as expressions of `n`.
    pub of_jobs: &'static [(&'static str, &'static str)],
    /// Columns of attempts.
    pub of_attempts: &'static [(&'static str, &'static str)],
}

/// Copies a job that was queued and an attempt that has ended, so that whatever columns there are, they fit. Before
/// it, both must have happened, or a tick that finds its last round long ago holds back at first.
pub fn fill(site: &Site, rows: &Rows) -> Result<()> {
    eprintln!("  filling the database with {} jobs and {} attempts", rows.jobs, rows.attempts);
    site.queue("template")?;
    let conn = site.database()?;
    // A crash in here costs nobody anything.
    conn.execute_batch("PRAGMA synchronous = OFF; PRAGMA cache_size = -200000; BEGIN")?;
    copy(&conn, "job", "id", &[&JOB, rows.of_jobs].concat(), rows.jobs)?;
    copy(&conn, "attempt", "", &[&ATTEMPT, rows.of_attempts].concat(), rows.attempts)?;
    conn.execute_batch("COMMIT; PRAGMA wal_checkpoint(TRUNCATE)")?;
    time(&mut site.command(&["status"]), &[0, 1, 2]).map(drop)
}

/// `changed`: columns that differ from row to row, as expressions of n. `left_out`: one that numbers itself.
fn copy(conn: &Connection, table: &str, left_out: &str, changed: &[(&str, &str)], count: u32) -> Result<()> {
    let mut columns = conn.prepare("SELECT name FROM pragma_table_info(?)")?;
    let columns: Vec<String> = columns.query_map([table], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    let (mut into, mut from) = (String::new(), String::new());
    for column in columns.iter().filter(|column| *column != left_out) {
        let value = changed.iter().find(|(name, _)| name == column).map_or(column.as_str(), |(_, value)| value);
        let comma = if into.is_empty() { "" } else { ", " };
        let _ = write!(into, "{comma}{column}");
        let _ = write!(from, "{comma}{value}");
    }
    let sql = format!(
        "WITH RECURSIVE number (n, count) AS (SELECT 1, ?1 UNION ALL SELECT n + 1, count FROM number WHERE n < ?1),
              one AS MATERIALIZED (SELECT * FROM {table} ORDER BY rowid DESC LIMIT 1)
         INSERT INTO {table} ({into}) SELECT {from} FROM number, one"
    );
    conn.execute(&sql, params![count]).with_context(|| format!("cannot fill {table}"))?;
    Ok(())
}
