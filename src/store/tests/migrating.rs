use std::thread;

use rusqlite::Connection;

use super::{
    super::{
        StoreError,
        migrating::{STEPS, VERSION, migrate, version},
        opening::SCHEMA,
    },
    *,
};
use crate::model::status::Status;

/// What each released version left, the oldest first.
const LEFT: &[&str] = &[include_str!("../../../tests/fixtures/version-1.sql")];

/// Two steps as an upgrade might have them.
const TWO: &[&str] = &[
    "ALTER TABLE meta ADD COLUMN colour TEXT NOT NULL DEFAULT 'blue'",
    "CREATE TABLE shelf (id INTEGER PRIMARY KEY) STRICT; INSERT INTO shelf VALUES (1)",
];

fn laid(dir: &TempDir, sql: &str) -> PathBuf {
    let path = dir.path().join("pressroom.db");
    Connection::open(&path).unwrap().execute_batch(sql).unwrap();
    path
}

fn number(conn: &Connection, sql: &str) -> rusqlite::Result<i64> {
    conn.query_row(sql, [], |row| row.get(0))
}

/// Columns, indexes and triggers, in words that do not depend on how they came to be.
fn shape(conn: &Connection) -> Vec<String> {
    const COLUMNS: &str = "
        SELECT format('%s.%s %s %d %s %d', t.name, c.name, c.type, c.\"notnull\", c.dflt_value, c.pk)
          FROM pragma_table_list t, pragma_table_xinfo(t.name) c
         WHERE t.schema = 'main' AND t.name NOT LIKE 'sqlite_%' ORDER BY 1";
    const REST: &str =
        "SELECT sql FROM sqlite_schema WHERE type IN ('index', 'trigger') AND sql IS NOT NULL ORDER BY name";
    let mut found = Vec::new();
    for sql in [COLUMNS, REST] {
        let mut statement = conn.prepare(sql).unwrap();
        let rows = statement.query_map([], |row| row.get::<_, String>(0)).unwrap();
        found.extend(rows.map(|row| row.unwrap().split_whitespace().collect::<Vec<_>>().join(" ")));
    }
    found
}

#[test]
fn there_is_a_step_and_a_fixture_for_every_version() {
    assert_eq!(VERSION, 1 + i64::try_from(STEPS.len()).unwrap());
    assert_eq!(LEFT.len(), STEPS.len() + 1);
    assert!(SCHEMA.contains(&format!("PRAGMA user_version = {VERSION};")));
}

/// Before its release a version may still change; then its fixture changes with it.
#[test]
fn a_database_of_any_version_becomes_what_a_new_one_is() {
    let fresh = Base::new();
    for sql in LEFT {
        let dir = TempDir::new().unwrap();
        let store = Store::open(&laid(&dir, sql)).unwrap();
        assert_eq!(shape(&store.conn), shape(&fresh.store.conn));
        assert_eq!(version(&store.conn).unwrap(), VERSION);
        assert_eq!(store.integrity().unwrap(), [""; 0]);
    }
}

#[test]
fn jobs_history_and_modes_are_still_there_after_an_upgrade() {
    for sql in LEFT {
        let dir = TempDir::new().unwrap();
        let store = Store::open(&laid(&dir, sql)).unwrap();
        let view = store.view();
        let status = |name: &str| view.job(name).unwrap().map(|job| job.status);
        assert_eq!(status("epub/Bad.epub"), Some(Status::FailedUnknown));
        assert_eq!(status("epub/Slow.epub"), Some(Status::Started));
        assert_eq!(status("epub/Emma.epub"), Some(Status::Queued));
        assert_eq!(status("pdf/Nana.pdf"), Some(Status::Queued));
        assert_eq!(view.latest_ok("epub/Candide.epub").unwrap().map(|attempt| attempt.number), Some(1));
        assert_eq!(view.queue("slow").unwrap().mode, super::super::Mode::Paused);
        assert_eq!(view.queue("default").unwrap().queued, 4);
        assert_eq!(view.client_pending("default", "192.0.2.1").unwrap(), 2);
    }
}

#[test]
fn steps_are_taken_in_order_and_only_those_that_are_missing() {
    let dir = TempDir::new().unwrap();
    let mut conn = Connection::open(laid(&dir, LEFT[0])).unwrap();
    migrate(&mut conn, &TWO[..1]).unwrap();
    assert_eq!(version(&conn).unwrap(), 2);
    migrate(&mut conn, TWO).unwrap();
    migrate(&mut conn, TWO).unwrap();
    assert_eq!(version(&conn).unwrap(), 3);
    assert_eq!(number(&conn, "SELECT count(*) FROM shelf"), Ok(1));
    assert_eq!(number(&conn, "SELECT count(*) FROM meta WHERE colour = 'blue'"), Ok(1));
}

#[test]
fn a_step_that_fails_leaves_the_version_before_it_whole() {
    let dir = TempDir::new().unwrap();
    let mut conn = Connection::open(laid(&dir, LEFT[0])).unwrap();
    let before = shape(&conn);
    migrate(&mut conn, &[TWO[0], "CREATE TABLE job (id INTEGER)"]).unwrap_err();
    assert_eq!(version(&conn).unwrap(), 1);
    assert_eq!(shape(&conn), before);
}

#[test]
fn of_many_that_open_an_old_database_at_once_one_upgrades_it() {
    let dir = TempDir::new().unwrap();
    let path = laid(&dir, LEFT[0]);
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let mut conn = Connection::open(&path).unwrap();
                conn.busy_timeout(Duration::from_mins(1)).unwrap();
                migrate(&mut conn, TWO).unwrap();
            });
        }
    });
    let conn = Connection::open(&path).unwrap();
    assert_eq!((version(&conn).unwrap(), number(&conn, "SELECT count(*) FROM shelf")), (3, Ok(1)));
}

#[test]
fn a_newer_database_is_refused_and_not_touched() {
    let base = Base::new();
    let path = base.path();
    base.store.conn.pragma_update(None, "user_version", VERSION + 1).unwrap();
    for refused in [Store::open(&path).err(), Store::open_readonly(&path).err(), Store::create(&path, "x").err()] {
        assert!(matches!(refused, Some(StoreError::Newer(version)) if version == VERSION + 1), "{refused:?}");
    }
    assert_eq!(version(&base.store.conn).unwrap(), VERSION + 1);
}
