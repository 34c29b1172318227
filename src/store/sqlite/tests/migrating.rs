use std::thread;

use rusqlite::Connection;

use super::*;
use crate::{
    model::status::Status,
    store::{
        StoreError,
        sqlite::{
            migrate::{STEPS, migrate, version},
            schema::{self, SCHEMA, VERSION},
        },
    },
};

/// What each released version left, the oldest first.
const LEFT: &[&str] = &[include_str!("../../../../tests/fixtures/version-1.sql")];

/// Two steps as an upgrade might have them.
const TWO: &[&str] = &[
    "INSERT INTO schedule (name, last, next) VALUES ('one', 1, 1)",
    "UPDATE schedule SET last = last + 1; INSERT INTO schedule (name, last, next) VALUES ('two', 2, 2)",
];

fn laid(dir: &TempDir, sql: &str) -> PathBuf {
    let path = dir.path().join("pressroom.db");
    Connection::open(&path).unwrap().execute_batch(sql).unwrap();
    path
}

fn number(conn: &Connection, sql: &str) -> rusqlite::Result<i64> {
    conn.query_row(sql, [], |row| row.get(0))
}

#[test]
fn there_is_a_step_and_a_fixture_for_every_earlier_version() {
    assert_eq!(VERSION, 1 + i64::try_from(STEPS.len()).unwrap());
    assert_eq!(LEFT.len(), STEPS.len());
    assert!(SCHEMA.contains(&format!("PRAGMA user_version = {VERSION};")));
}

#[test]
fn the_tables_of_every_version_are_known() {
    for (sql, known) in LEFT.iter().zip(schema::DIGESTS) {
        let dir = TempDir::new().unwrap();
        let conn = Connection::open(laid(&dir, sql)).unwrap();
        assert_eq!(schema::digest(&schema::objects(&conn).unwrap()), known);
    }
}

#[test]
fn a_database_of_any_version_becomes_what_a_new_one_is() {
    let fresh = Base::new();
    for sql in LEFT {
        let dir = TempDir::new().unwrap();
        let store = Store::open_and_upgrade(&laid(&dir, sql)).unwrap();
        assert_eq!(schema::objects(&store.conn).unwrap(), schema::objects(&fresh.store.conn).unwrap());
        assert_eq!(version(&store.conn).unwrap(), VERSION);
        assert_eq!(store.integrity().unwrap(), [""; 0]);
        assert_eq!(store.view().miscounts().unwrap(), [""; 0]);
        assert_eq!(number(&store.conn, "PRAGMA auto_vacuum"), Ok(2));
    }
}

#[test]
fn jobs_history_and_modes_are_still_there_after_an_upgrade() {
    for sql in LEFT {
        let dir = TempDir::new().unwrap();
        let mut store = Store::open_and_upgrade(&laid(&dir, sql)).unwrap();
        let newest = store.immediate(|tx| Ok(tx.insert(&wish("New"))?)).unwrap();
        let view = store.view();
        let status = |name: &str| view.job(name).unwrap().map(|job| job.status);
        assert_eq!(status("epub/Bad.epub"), Some(Status::FailedUnknown));
        assert_eq!(status("epub/Slow.epub"), Some(Status::Started));
        assert_eq!(status("epub/Emma.epub"), Some(Status::Queued));
        assert_eq!(status("pdf/Nana.pdf"), Some(Status::Queued));
        assert_eq!(view.latest_ok("epub/Candide.epub").unwrap().map(|attempt| attempt.number), Some(1));
        assert_eq!(view.queue("slow").unwrap().mode, crate::store::Mode::Paused);
        assert_eq!(view.queue("default").unwrap().queued, 5);
        assert_eq!(view.client_pending("default", "192.0.2.1").unwrap(), 2);
        assert!(newest.id > 6, "ids go on: {}", newest.id);
    }
}

#[test]
fn steps_are_taken_in_order_and_only_those_that_are_missing() {
    let dir = TempDir::new().unwrap();
    let mut conn = Connection::open(laid(&dir, LEFT[0])).unwrap();
    migrate(&mut conn, SCHEMA, &TWO[..1]).unwrap();
    assert_eq!(version(&conn).unwrap(), 2);
    migrate(&mut conn, SCHEMA, TWO).unwrap();
    migrate(&mut conn, SCHEMA, TWO).unwrap();
    assert_eq!(version(&conn).unwrap(), 3);
    assert_eq!(number(&conn, "SELECT last FROM schedule WHERE name = 'one'"), Ok(2));
    assert_eq!(number(&conn, "SELECT count(*) FROM schedule WHERE name IN ('one', 'two')"), Ok(2));
}

#[test]
fn a_step_that_fails_leaves_the_version_before_it_whole() {
    let dir = TempDir::new().unwrap();
    let mut conn = Connection::open(laid(&dir, LEFT[0])).unwrap();
    let before = schema::objects(&conn).unwrap();
    migrate(&mut conn, SCHEMA, &[TWO[0], "CREATE TABLE job (id INTEGER)"]).unwrap_err();
    assert_eq!(version(&conn).unwrap(), 1);
    assert_eq!(schema::objects(&conn).unwrap(), before);
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
                migrate(&mut conn, SCHEMA, &TWO[..1]).unwrap();
            });
        }
    });
    let conn = Connection::open(&path).unwrap();
    assert_eq!((version(&conn).unwrap(), number(&conn, "SELECT last FROM schedule WHERE name = 'one'")), (2, Ok(1)));
}

/// The tables of a version are known to the letter: nothing strange is carried over, and nothing strange is run.
#[test]
fn an_old_database_with_something_foreign_in_it_is_refused() {
    let dir = TempDir::new().unwrap();
    let path = laid(&dir, LEFT[0]);
    let trigger = "CREATE TRIGGER mine BEFORE UPDATE ON job BEGIN DELETE FROM job; END";
    Connection::open(&path).unwrap().execute_batch(trigger).unwrap();
    let refused = Store::open_and_upgrade(&path).err().unwrap();
    assert!(matches!(refused, StoreError::Altered(ref object) if object.contains("version 1")), "{refused:?}");
    assert_eq!(version(&Connection::open(&path).unwrap()).unwrap(), 1);
}

/// Whoever only looks, and every request: they run as less trusted users.
#[test]
fn only_a_tick_upgrades_a_database() {
    let dir = TempDir::new().unwrap();
    let path = laid(&dir, LEFT[0]);
    for refused in [Store::open(&path).err(), Store::open_unverified(&path).err(), Store::open_readonly(&path).err()] {
        assert!(matches!(refused, Some(StoreError::Older(1))), "{refused:?}");
    }
    assert_eq!(version(&Connection::open(&path).unwrap()).unwrap(), 1);
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
