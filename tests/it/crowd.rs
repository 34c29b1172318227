//! Hundreds of requests at once (invariant 1): one row for a name, and no answer but those of docs/states.md.

use std::{collections::BTreeSet, fs, process::Command};

use crate::support::{
    site::Site,
    together::{TICK, at_once, request},
};

/// Notes each run in a file beside the site.
const NOTING: &str = r#"echo "$2" >>../../../runs; echo "$2" >"$1""#;

/// A request that waits for its turn as long as a machine with other work may need for two hundred of them.
fn patient(site: &Site, title: &str) -> Command {
    let mut command = site.command(&request(title));
    command.env("PRESSROOM_TEST_BUSY", "60000");
    command
}

#[test]
fn two_hundred_requests_for_one_key_make_one_row_and_one_run() {
    let site = Site::new().exporter(NOTING).create();
    let answers = at_once((0..200).map(|_| patient(&site, "Emma")));
    for answer in &answers {
        answer.exits(75).stdout("queued 1\n").stderr("");
    }
    assert_eq!(site.count("SELECT count(*) FROM job"), 1);
    assert_eq!(site.count("SELECT seq FROM sqlite_sequence WHERE name = 'job'"), 1, "no row was made and lost");
    site.tick().exits(0).stdout("").stderr("");
    assert_eq!(fs::read_to_string(site.path("runs")).unwrap(), "Emma\n");
    assert_eq!(site.count("SELECT count(*) FROM attempt"), 1);
}

#[test]
fn two_hundred_requests_for_two_hundred_keys_make_two_hundred_rows() {
    let site = Site::new().create();
    let answers = at_once((0..200).map(|number| patient(&site, &format!("book{number}"))));
    let places: BTreeSet<_> = answers.iter().map(|answer| answer.exits(75).stderr("").out()).collect();
    assert!(places.iter().all(|place| place.starts_with("queued ")), "{places:?}");
    assert_eq!(site.count("SELECT count(*) FROM job WHERE status = 0"), 200);
    assert_eq!(site.count("SELECT count(DISTINCT filename) FROM job"), 200);
    assert_eq!(site.count("SELECT queued FROM queue WHERE name = 'default'"), 200);
    assert_eq!(site.text("PRAGMA integrity_check"), "ok");
}

/// Whatever the moment, a request finds the job or its file, and never a reason to make it again.
#[test]
fn requests_that_come_while_a_job_is_made_and_published_make_it_once() {
    let site = Site::new().exporter(NOTING).create();
    site.ask("Emma").exits(75);
    let requests = (0..60).map(|_| patient(&site, "Emma"));
    let answers = at_once([site.command(&TICK)].into_iter().chain(requests));
    answers[0].exits(0).stderr("");
    let ready = format!("ready {}\n", site.cached("epub/Emma.epub").display());
    for answer in &answers[1..] {
        let said = answer.out();
        assert!(said == ready || said == "queued 1\n" || said == "started ?\n", "{said:?} {}", answer.err());
        answer.exits(if said == ready { 0 } else { 75 });
    }
    site.ask("Emma").exits(0).stdout(&ready);
    assert_eq!(fs::read_to_string(site.path("runs")).unwrap(), "Emma\n");
    assert_eq!(site.count("SELECT seq FROM sqlite_sequence WHERE name = 'job'"), 1);
}

/// The write-ahead log is kept by those who close, and cut back by tick.
#[test]
fn a_crowd_leaves_the_log_beside_the_database_and_tick_copies_it_back() {
    let site = Site::new().create();
    at_once((0..30).map(|number| patient(&site, &format!("book{number}"))));
    let bytes = |name: &str| fs::metadata(site.path(name)).unwrap().len();
    bytes("s/queue/pressroom.db-wal"); // it is there
    // Nothing runs beside it: a reader in the middle of the log keeps the rest from being copied.
    site.database().execute("UPDATE queue SET mode = 'paused'", []).unwrap();
    site.tick().exits(0).stderr("");
    assert_eq!(bytes("s/queue/pressroom.db-wal"), 0, "the next process that opens it alone need not read it");
    // With the log copied back, the file alone tells everything.
    fs::copy(site.path("s/queue/pressroom.db"), site.path("alone.db")).unwrap();
    let alone = rusqlite::Connection::open(site.path("alone.db")).unwrap();
    let rows: i64 =
        alone.query_row("SELECT seq FROM sqlite_sequence WHERE name = 'job'", [], |row| row.get(0)).unwrap();
    assert_eq!(rows, 30);
}
