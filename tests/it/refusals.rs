//! "unavailable" and "limited": why a request may not queue a job just now. What is there already is served all the same.

use serde_json::json;

use crate::support::site::{Done, Site};

const JSON: [&str; 5] = ["request", "epub", "title=Nana", "--format", "json"];

#[track_caller]
fn ask_as(site: &Site, title: &str, client: &str) -> Done {
    site.run(&["request", "epub", &format!("title={title}"), "--client", client])
}

/// A ready file and a queued job, which no refusal touches.
fn with_a_file_and_a_job(more: &str) -> Site {
    let site = Site::new().more(more).create();
    site.ask("Emma").exits(75);
    site.tick().exits(0);
    site.ask("Jane").exits(75);
    site
}

#[track_caller]
fn refused(site: &Site, reason: &str) {
    site.ask("Nana").exits(69).stdout(&format!("unavailable {reason}\n")).stderr("");
    let answer = site.run(&JSON).exits(69).json();
    assert_eq!((&answer["state"], &answer["reason"]), (&json!("unavailable"), &json!(reason)));
    assert!(answer["retry_after"].as_u64().unwrap() > 0);
    assert_eq!(site.count("SELECT count(*) FROM job WHERE filename = 'epub/Nana.epub'"), 0);
    site.ask("Emma").exits(0);
    site.ask("Jane").exits(75);
}

#[test]
fn a_full_queue_is_unavailable() {
    let site = with_a_file_and_a_job("[queue.default]\nmax_queued = 1\n");
    refused(&site, "too many files are waiting already");
}

/// Even if its job has to wait longer, as its `--after` says: it has its place.
#[test]
fn a_job_keeps_its_place_in_a_full_queue() {
    let site = with_a_file_and_a_job("[queue.default]\nmax_queued = 1\n");
    let soon = jiff::Timestamp::now() + jiff::SignedDuration::from_secs(2);
    site.run(&["request", "epub", "title=Jane", "--after", &soon.to_string()]).exits(75).says("queued");
    assert_eq!(site.count("SELECT waits FROM job"), 1);
}

#[test]
fn a_draining_queue_is_unavailable_and_a_paused_one_queues_on() {
    let site = with_a_file_and_a_job("");
    site.database().execute("UPDATE queue SET mode = 'draining'", []).unwrap();
    refused(&site, "no new files are accepted at the moment");
    site.database().execute("UPDATE queue SET mode = 'paused'", []).unwrap();
    site.ask("Nana").exits(75).stdout("queued 2\n");
    site.tick().exits(0).stderr("");
    site.ask("Nana").exits(75).stdout("queued 2\n");
}

/// Below `min_free` nothing is claimed, so nothing is promised.
#[test]
fn a_low_disk_is_unavailable() {
    let site = with_a_file_and_a_job("");
    let low = "state_dir = \"s\"\n[cache]\nmin_free = \"900PB\"\n[host]\nmin_free_memory = \"0B\"\n";
    let site = site.head(low);
    refused(&site, "the server is low on disk space");
    site.tick().exits(0).stderr("");
    assert_eq!(site.count("SELECT count(*) FROM job WHERE status = 0"), 1, "nothing is claimed");
}

#[test]
fn an_exporter_that_cannot_be_started_is_unavailable_for_a_while() {
    let site = Site::new().create();
    site.ask("Jane").exits(75);
    site.tick().exits(0);
    let site = site.more("[exporter.broken]\ncommand = [\"/nowhere/at-all\"]\nfilename = \"{title}.pdf\"\n[exporter.broken.params.title]\n");
    for number in 0..5 {
        site.run(&["request", "broken", &format!("title={number}")]).exits(75);
        site.tick().exits(0);
    }
    site.run(&["request", "broken", "title=6"])
        .exits(69)
        .stdout("unavailable this export keeps failing at the moment\n");
    site.run(&["request", "broken", "title=1"]).exits(70);
    site.ask("Emma").exits(75); // other exporters go on
    site.mailed().exits(0).warns("failed: spawn, /nowhere/at-all is not an executable file");
    site.clock(301.0);
    site.run(&["request", "broken", "title=6"]).exits(75);
}

#[test]
fn a_busy_database_is_unavailable_and_hits_and_polls_do_not_notice() {
    let site = with_a_file_and_a_job("");
    let database = site.database();
    database.execute_batch("BEGIN IMMEDIATE").unwrap();
    let ask = |title: &str| Done::of(site.command(&["request", "epub", title]).env("PRESSROOM_TEST_BUSY", "200"));
    ask("title=Nana").exits(69).stdout("unavailable the database is busy\n").stderr("");
    ask("title=Emma").exits(0);
    ask("title=Jane").exits(75).stdout("queued 1\n");
    database.execute_batch("ROLLBACK").unwrap();
    ask("title=Nana").exits(75).stdout("queued 2\n");
}

/// A round of tick goes on without what it could not write, and says so.
#[test]
fn a_tick_survives_a_busy_database() {
    let site = with_a_file_and_a_job("");
    let database = site.database();
    database.execute_batch("BEGIN IMMEDIATE").unwrap();
    let tick = Done::of(site.command(&["tick", "--allow-root"]).env("PRESSROOM_TEST_BUSY", "100"));
    tick.exits(0).warns("claim: the database is busy");
    database.execute_batch("ROLLBACK").unwrap();
    site.tick().exits(0).stderr("");
    site.ask("Jane").exits(0);
}

#[test]
fn one_client_may_have_so_many_pending_jobs_and_others_are_not_touched() {
    let site = Site::new().more("[queue.default]\nmax_per_client = 2\n").create();
    ask_as(&site, "one", "ann").exits(75);
    ask_as(&site, "two", "ann").exits(75);
    ask_as(&site, "three", "ann").exits(69).stdout("limited too many of your files are waiting already\n").stderr("");
    ask_as(&site, "two", "ann").exits(75); // asking again is no new job
    ask_as(&site, "three", "bob").exits(75);
    site.ask("four").exits(75); // without a client nobody is counted
    let answer = site.run(&["request", "epub", "title=five", "--client", "ann", "--format", "json"]).exits(69).json();
    assert_eq!(answer["state"], "limited");
    site.tick().exits(0);
    ask_as(&site, "five", "ann").exits(75);
}
