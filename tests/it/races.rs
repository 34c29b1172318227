//! Races decided by pause points, not by luck: two looks of a request, prune against publish and against readers.

use std::fs;

use crate::support::{
    site::{Site, wait_until},
    together::{Beside, Paused, TICK, request, wait_for_round, wait_for_runs},
};

const NOTING: &str = r#"echo "$2" >>../../../runs; echo "$2" >"$1""#;

fn runs(site: &Site) -> usize {
    fs::read_to_string(site.path("runs")).unwrap_or_default().lines().count()
}

fn ready(site: &Site) -> String {
    format!("ready {}\n", site.cached("epub/Emma.epub").display())
}

#[track_caller]
fn a_job_that_ends_at(point: &str) {
    let site = Site::new().exporter(NOTING).create();
    site.ask("Emma").exits(75);
    let asking = Paused::at(&site, point, &request("Emma"));
    site.tick().exits(0);
    assert_eq!(site.count("SELECT count(*) FROM job"), 0);
    asking.go_on().exits(0).stdout(&ready(&site));
    site.tick().exits(0);
    assert_eq!(runs(&site), 1);
    assert_eq!(site.count("SELECT seq FROM sqlite_sequence WHERE name = 'job'"), 1);
}

#[test]
fn a_job_that_ends_after_the_look_at_the_file_is_not_made_again() {
    a_job_that_ends_at("request-looked-at-file");
}

#[test]
fn a_job_that_ends_between_file_and_row_is_not_made_again() {
    a_job_that_ends_at("request-before-row");
}

/// Here nothing is there at the first looks: the job comes and goes before the request has the write lock.
#[test]
fn a_job_that_comes_and_ends_before_the_write_is_not_made_again() {
    let site = Site::new().exporter(NOTING).create();
    let asking = Paused::at(&site, "request-before-write", &request("Emma"));
    site.ask("Emma").exits(75);
    site.tick().exits(0);
    asking.go_on().exits(0).stdout(&ready(&site));
    assert_eq!((runs(&site), site.count("SELECT count(*) FROM job")), (1, 0));
}

/// The loser of a race gets the winner's answer.
#[test]
fn a_request_that_comes_second_to_the_write_finds_the_firsts_row() {
    let site = Site::new().create();
    let asking = Paused::at(&site, "request-before-write", &request("Emma"));
    site.ask("Emma").exits(75).stdout("queued 1\n");
    asking.go_on().exits(75).stdout("queued 1\n");
    assert_eq!(site.count("SELECT count(*) FROM job"), 1);
}

/// Who only looks must not take the moment of publishing for "neither file nor row".
#[test]
fn a_look_while_the_file_is_published_does_not_find_it_absent() {
    let site = Site::new().exporter(NOTING).create();
    site.ask("Emma").exits(75);
    let words = ["request", "epub", "title=Emma", "--no-enqueue"];
    let looking = Paused::at(&site, "request-before-row", &words);
    site.tick().exits(0);
    looking.go_on().exits(0).stdout(&ready(&site));
}

/// Prune has chosen the old file; then a new one is published in its place, which must stay.
#[test]
fn prune_leaves_a_file_that_was_published_after_it_chose() {
    let site = Site::new().exporter(NOTING).create();
    site.ask("Emma").exits(75);
    site.tick().exits(0);
    site.clock(540.0);
    site.tick().exits(0); // a tick in between, so that the next one is no surprise to the clock
    let old = fs::read(site.cached("epub/Emma.epub")).unwrap();
    site.clock(721.0);
    site.ask("Emma").exits(75).stdout("queued 1\n");
    let publishing = Beside::start(
        site.command(&TICK)
            .env("PRESSROOM_FAILPOINT", format!("run-prepared=pause:{}", site.path("publish").display())),
    );
    wait_until("the run is about to publish", || site.path("publish.reached").exists());
    wait_for_round(&site);
    let pruning = Paused::at(&site, "prune-chose", &TICK);
    fs::write(site.path("publish"), "").unwrap();
    publishing.end().exits(0);
    pruning.go_on().exits(0).stderr("");
    assert_eq!(fs::read(site.cached("epub/Emma.epub")).unwrap(), old);
    site.ask("Emma").exits(0).stdout(&ready(&site));
    assert_eq!(runs(&site), 2);
}

/// The other way round: while the old file is pruned a request has queued the job, so the file stays for the run.
#[test]
fn prune_leaves_a_file_that_was_asked_for_after_it_chose() {
    let site = Site::new().create();
    site.ask("Emma").exits(75);
    site.tick().exits(0);
    site.clock(540.0);
    site.tick().exits(0);
    site.clock(721.0);
    let pruning = Paused::at(&site, "prune-chose", &["tick", "--allow-root"]);
    site.ask("Emma").exits(75).stdout("queued 1\n");
    pruning.go_on().exits(0).stderr("");
    wait_for_runs(&site);
    site.ask("Emma").exits(0).stdout(&ready(&site));
}

/// "ready" at the last moment of ttl is good for grace, whatever prune does meanwhile.
#[test]
fn a_reader_with_a_ready_answer_finds_the_file_for_grace() {
    let site = Site::new().create();
    site.ask("Emma").exits(75);
    site.tick().exits(0);
    site.clock(595.0);
    site.tick().exits(0);
    site.ask("Emma").exits(0).stdout(&ready(&site));
    site.clock(710.0);
    site.tick().exits(0).stderr("");
    assert!(site.cached("epub/Emma.epub").exists(), "grace is not over");
    site.run(&["request", "epub", "title=Emma", "--no-enqueue"]).exits(66).stdout("absent\n");
    site.clock(721.0);
    site.tick().exits(0).stderr("");
    assert!(!site.cached("epub/Emma.epub").exists());
}

/// A failure that a run records while the report is written is told by the next tick.
#[test]
fn a_failure_that_comes_during_the_report_is_reported_next_time() {
    let site = Site::new()
        .exporter(r#"go=go; [ "$2" != Emma ] || go=first; until [ -e ../../../$go ]; do sleep 0.01; done; exit 3"#)
        .create();
    site.ask("Emma").exits(75);
    site.brief_tick().exits(0).stderr("");
    fs::write(site.path("first"), "").unwrap();
    wait_for_runs(&site);
    site.ask("Nana").exits(75);
    let telling = Paused::at(&site, "report-told", &["tick", "--allow-root"]);
    fs::write(site.path("go"), "").unwrap();
    wait_for_runs(&site);
    telling.go_on().exits(0).warns("epub/Emma.epub");
    site.tick().exits(0).warns("epub/Nana.epub");
    site.tick().exits(0).stderr("");
}
