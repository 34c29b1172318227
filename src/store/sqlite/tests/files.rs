use std::{
    collections::BTreeMap,
    env, fs,
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::Path,
    process::Command,
};

use rusqlite::Connection;

use super::*;
use crate::store::StoreError;

/// Every file beside the database: a hash of its bytes, and when it was changed last.
fn contents(dir: &Path) -> BTreeMap<String, (blake3::Hash, i64, i64)> {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap());
    entries
        .map(|entry| {
            let meta = entry.metadata().unwrap();
            let name = entry.file_name().into_string().unwrap();
            (name, (blake3::hash(&fs::read(entry.path()).unwrap()), meta.mtime(), meta.mtime_nsec()))
        })
        .collect()
}

fn names(dir: &Path) -> Vec<String> {
    contents(dir).into_keys().collect()
}

const ALL_THREE: [&str; 3] = ["pressroom.db", "pressroom.db-shm", "pressroom.db-wal"];

#[test]
fn only_create_makes_a_database() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("pressroom.db");
    assert!(matches!(Store::open(&path), Err(StoreError::Missing)));
    assert!(matches!(Store::open_readonly(&path), Err(StoreError::Missing)));
    assert_eq!(names(dir.path()), [""; 0]);
    Store::create(&path, "").unwrap();
    assert!(Store::open(&path).is_ok());
}

#[test]
fn an_empty_file_made_beforehand_keeps_its_mode_and_gives_it_to_its_neighbours() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("pressroom.db");
    fs::write(&path, "").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o660)).unwrap();
    assert!(matches!(Store::open(&path), Err(StoreError::Missing)));
    assert!(matches!(Store::open_readonly(&path), Err(StoreError::Missing)));
    Store::create(&path, "").unwrap();
    drop(Store::open(&path).unwrap());
    for name in ALL_THREE {
        let mode = fs::metadata(dir.path().join(name)).unwrap().mode();
        assert_eq!(mode & 0o777, 0o660, "{name}");
    }
}

#[test]
fn creating_again_changes_no_job() {
    let mut base = Base::new();
    let job = base.queued("Emma");
    Store::create(&base.path(), "machine").unwrap();
    assert_eq!(base.job("Emma"), job);
}

#[test]
fn a_file_that_is_not_a_database_is_foreign_and_left_as_it_is() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("pressroom.db");
    fs::write(&path, "a letter to the editor\n".repeat(100)).unwrap();
    let before = contents(dir.path());
    assert!(matches!(Store::open(&path), Err(StoreError::Foreign)));
    assert!(matches!(Store::open_readonly(&path), Err(StoreError::Foreign)));
    assert!(matches!(Store::create(&path, ""), Err(StoreError::Foreign)));
    assert_eq!(contents(dir.path()), before);
}

#[test]
fn another_programs_database_is_foreign_and_left_as_it_is() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("pressroom.db");
    Connection::open(&path).unwrap().execute_batch("CREATE TABLE recipe (name TEXT)").unwrap();
    let before = contents(dir.path());
    assert!(matches!(Store::open(&path), Err(StoreError::Foreign)));
    assert!(matches!(Store::open_readonly(&path), Err(StoreError::Foreign)));
    assert!(matches!(Store::create(&path, ""), Err(StoreError::Foreign)));
    assert_eq!(contents(dir.path()), before);
}

#[test]
fn a_newer_database_is_refused_by_its_version() {
    let base = Base::new();
    base.store.conn.pragma_update(None, "user_version", 3).unwrap();
    for refused in [Store::open(&base.path()).err(), Store::open_readonly(&base.path()).err()] {
        assert!(matches!(refused, Some(StoreError::Newer(3))));
    }
    let refused = Store::create(&base.path(), "").unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the database has schema version 3, which this pressroom does not know; install the newer pressroom"
    );
}

#[test]
fn a_directory_in_its_place_is_named_with_the_reason() {
    let dir = TempDir::new().unwrap();
    let refused = Store::open(dir.path()).err().unwrap().to_string();
    assert!(refused.contains(dir.path().to_str().unwrap()) && refused.contains("directory"), "{refused}");
}

#[test]
fn the_log_and_its_index_survive_the_last_connection() {
    let mut base = Base::new();
    base.queued("Emma");
    let Base { dir, store, .. } = base;
    drop(store);
    assert_eq!(names(dir.path()), ALL_THREE);
    let wal = fs::metadata(dir.path().join("pressroom.db-wal")).unwrap().len();
    assert!(wal > 0, "nobody copied it back");
    let store = Store::open(&dir.path().join("pressroom.db")).unwrap();
    assert!(store.view().job(&file("Emma")).unwrap().is_some());
}

/// Each of them opens the database while nobody else has it open, and reads the whole log first.
#[test]
fn one_after_the_other_without_a_tick_keeps_the_log_short() {
    let base = Base::new();
    let (path, wal) = (base.path(), base.dir.path().join("pressroom.db-wal"));
    let Base { dir: _dir, store, .. } = base;
    drop(store);
    for number in 0..200 {
        let mut store = Store::open(&path).unwrap();
        store.immediate(|tx| Ok(tx.insert(&wish(&format!("book{number}")))?)).unwrap();
    }
    let pages = fs::metadata(&wal).unwrap().len() / 4096;
    assert!((1..200).contains(&pages), "{pages} pages");
}

#[test]
fn a_checkpoint_empties_the_log_unless_somebody_reads_it() {
    let mut base = Base::new();
    let wal = base.dir.path().join("pressroom.db-wal");
    let size = || fs::metadata(&wal).unwrap().len();
    base.queued("Emma");
    let reader = Store::open(&base.path()).unwrap();
    let reading = reader.conn.unchecked_transaction().unwrap();
    let jobs = || reading.query_row("SELECT count(*) FROM job", [], |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(jobs(), 1);
    base.queued("Nana");
    base.store.checkpoint().unwrap();
    assert!(size() > 0, "it is still being read");
    assert_eq!(jobs(), 1);
    drop(reading);
    base.store.checkpoint().unwrap();
    assert_eq!(size(), 0);
    assert_eq!(base.store.integrity().unwrap(), [""; 0]);
}

#[test]
#[ignore = "a part of the next test, in a process of its own"]
fn one_looking_process() {
    if let Some(path) = env::var_os("STORE_LOOK_DB") {
        look_at(path.as_ref());
    }
}

#[track_caller]
fn look_at(path: &Path) {
    let look = Store::open_readonly(path).unwrap();
    assert!(look.view().job(&file("Emma")).unwrap().is_some(), "what is only in the log is seen");
    assert!(look.view().next_ready(&["default".into()], &[], &[]).unwrap().is_some());
}

#[test]
fn looking_while_others_have_it_open_changes_not_a_byte() {
    let mut base = Base::new();
    base.queued("Emma");
    let before = contents(base.dir.path());
    // Connections of one process share their view of the index, so the looker has to be another one.
    let looker = Command::new(env::current_exe().unwrap())
        .args(["--exact", "store::sqlite::tests::files::one_looking_process", "--ignored"])
        .env("STORE_LOOK_DB", base.path())
        .output()
        .unwrap();
    assert!(looker.status.success(), "{}", String::from_utf8_lossy(&looker.stdout));
    assert_eq!(contents(base.dir.path()), before);
}

#[test]
fn looking_while_nobody_has_it_open_changes_not_a_byte() {
    let mut base = Base::new();
    base.queued("Emma");
    let Base { dir, store, .. } = base;
    drop(store);
    let before = contents(dir.path());
    look_at(&dir.path().join("pressroom.db"));
    assert_eq!(contents(dir.path()), before);
}

#[test]
fn looking_without_a_log_changes_not_a_byte_and_leaves_nothing_beside() {
    let mut base = Base::new();
    base.queued("Emma");
    base.store.checkpoint().unwrap();
    let Base { dir, store, .. } = base;
    drop(store);
    for name in &ALL_THREE[1..] {
        fs::remove_file(dir.path().join(name)).unwrap();
    }
    let before = contents(dir.path());
    look_at(&dir.path().join("pressroom.db"));
    assert_eq!(contents(dir.path()), before);
}

#[test]
fn a_looker_cannot_write() {
    let base = Base::new();
    let mut look = Store::open_readonly(&base.path()).unwrap();
    assert!(look.immediate(|tx| Ok(tx.insert(&wish("Emma"))?)).is_err());
}

#[test]
fn a_path_may_hold_what_a_uri_may_not() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("50% off? #1 ä.db");
    Store::create(&path, "").unwrap();
    assert!(Store::open_readonly(&path).is_ok());
}

#[test]
fn a_connection_that_writes_has_the_settings_that_keep_promises() {
    let base = Base::new();
    let store = Store::open(&base.path()).unwrap();
    let pragma = |name| store.conn.pragma_query_value(None, name, |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!((pragma("synchronous"), pragma("wal_autocheckpoint")), (2, 0));
    store.relax().unwrap();
    assert_eq!(pragma("synchronous"), 1);
    store.strict().unwrap();
    assert_eq!(pragma("synchronous"), 2);
    let mode: String = store.conn.pragma_query_value(None, "journal_mode", |row| row.get(0)).unwrap();
    assert_eq!(mode, "wal");
}

/// Code that somebody has stored in the database, and the part of the refusal that names it.
const FOREIGN: [(&str, &str); 5] = [
    (
        "CREATE TRIGGER mine BEFORE UPDATE OF status ON job BEGIN UPDATE job SET filename = 'pdf/a.pdf'; END",
        "trigger mine",
    ),
    ("CREATE VIEW mine AS SELECT 1", "view mine"),
    ("CREATE TABLE mine (a)", "table mine"),
    ("CREATE INDEX mine ON job (message)", "index mine"),
    ("DROP INDEX job_wake", "index job_wake"),
];

#[test]
fn a_schema_that_is_not_ours_to_the_letter_is_refused_by_the_name_of_what_differs() {
    for (sql, object) in FOREIGN {
        let base = Base::new();
        Connection::open(base.path()).unwrap().execute_batch(sql).unwrap();
        let (open, look) = (Store::open(&base.path()).err(), Store::open_readonly(&base.path()).err());
        for refused in [open, look, Store::open_and_upgrade(&base.path()).err(), Store::create(&base.path(), "").err()]
        {
            let sentence = refused.expect(sql).to_string();
            assert!(sentence.contains(object), "{sentence}");
        }
    }
}

/// It may have been stored after the look at the schema.
#[test]
fn nothing_that_is_stored_in_the_database_is_ever_run() {
    let mut base = Base::new();
    base.queued("Emma");
    for (sql, _) in &FOREIGN[..2] {
        Connection::open(base.path()).unwrap().execute_batch(sql).unwrap();
    }
    base.started("Nana");
    assert_eq!(base.job("Emma").filename, file("Emma"));
    assert!(base.store.conn.prepare("SELECT * FROM mine").is_err(), "a view");
}

#[test]
fn a_link_in_the_place_of_the_database_is_not_followed() {
    let base = Base::new();
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("pressroom.db");
    std::os::unix::fs::symlink(base.path(), &path).unwrap();
    for refused in [Store::open(&path).err(), Store::open_and_upgrade(&path).err()] {
        assert!(refused.unwrap().to_string().contains("symbolic link"));
    }
    assert!(Store::open_readonly(&path).is_err());
    // A link above it is the admin's.
    let above = TempDir::new().unwrap();
    std::os::unix::fs::symlink(base.dir.path(), above.path().join("queue")).unwrap();
    assert!(Store::open(&above.path().join("queue/pressroom.db")).is_ok());
}

#[test]
fn a_value_of_megabytes_is_not_read() {
    let base = Base::new();
    let sql = "INSERT INTO schedule (name, last, next) VALUES (printf('%.*c', 9000000, 'x'), 1, 1)";
    Connection::open(base.path()).unwrap().execute_batch(sql).unwrap();
    let read = base.store.view().all("SELECT name FROM schedule", [], |row| row.get::<_, String>(0));
    assert!(read.is_err());
}

#[test]
fn the_file_of_a_new_database_can_shrink() {
    let base = Base::new();
    let mode: i64 = base.store.conn.pragma_query_value(None, "auto_vacuum", |row| row.get(0)).unwrap();
    assert_eq!(mode, 2, "incremental");
}
