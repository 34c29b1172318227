//! A source that is pruned, refreshed, cancelled or dropped at each moment before the derived file is made of it: no PDF
//! is ever made from a source that is not there or too old, and no job waits for ever.

use std::fs;

use crate::support::{
    classes::{attempts, later, lines, request, run_all, set_mode, touch},
    formats::{EPUB, site},
    site::{Site, wait_until},
    together::{Paused, TICK, wait_for_runs},
};

/// Each run of the source leaves another text.
const NUMBERED: &str = r#"echo epub >>../../../runs; grep -c epub ../../../runs >"$1""#;
/// The same, as soon as the file `go` is there.
const WAITING: &str = r#"echo epub >>../../../runs; until [ -e ../../../go ]; do sleep 0.02; done; echo "$2" >"$1""#;

fn remove_epub(site: &Site) {
    fs::remove_file(site.cached("epub/Emma.epub")).expect("the EPUB is there");
}

fn pdf(site: &Site) -> String {
    fs::read_to_string(site.cached("pdf/Emma.pdf")).expect("the PDF is there")
}

/// Ticks until no job is left.
#[track_caller]
fn until_done(site: &Site) {
    wait_until("no job is left", || {
        site.tick().exits(0);
        site.count("SELECT count(*) FROM job WHERE status <= 1") == 0
    });
}

/// A PDF is queued, its source is made, and its own queue is paused.
fn between(script: &str) -> Site {
    let site = site(script);
    set_mode(&site, "paper", "paused");
    request(&site, "pdf title=Emma").exits(75);
    run_all(&site);
    site
}

#[test]
fn pruned_before_the_claim_it_is_made_anew() {
    let site = between(EPUB);
    remove_epub(&site);
    set_mode(&site, "paper", "open");
    until_done(&site);
    assert_eq!(lines(&site, "runs"), ["epub", "epub", "pdf"]);
    assert_eq!(pdf(&site), "Emma\npdf\n");
}

#[test]
fn refreshed_before_the_claim_the_new_one_is_used() {
    let site = between(NUMBERED);
    let after = jiff::Timestamp::now().to_string();
    site.run(&["request", "epub", "title=Emma", "--after", &after]).exits(75);
    run_all(&site);
    set_mode(&site, "paper", "open");
    until_done(&site);
    assert_eq!(pdf(&site), "2\npdf\n");
    site.run(&["request", "pdf", "title=Emma", "--after", &after]).exits(0);
}

#[test]
fn gone_between_the_claim_and_the_copy_no_pdf_is_made_and_the_next_request_makes_both() {
    let site = between(EPUB);
    set_mode(&site, "paper", "open");
    let tick = Paused::at(&site, "tick-claimed", &TICK);
    remove_epub(&site);
    tick.go_on().exits(0);
    assert!(!site.cached("pdf/Emma.pdf").exists());
    request(&site, "pdf title=Emma").exits(70);
    site.clock(301.0);
    request(&site, "pdf title=Emma").exits(75);
    until_done(&site);
    assert_eq!(lines(&site, "runs"), ["epub", "epub", "pdf"]);
}

/// The run reads one file or the other, whole, and says of the PDF no more than it knows.
#[test]
fn refreshed_between_the_claim_and_the_copy_the_pdf_counts_as_the_older_one() {
    let site = between(NUMBERED);
    set_mode(&site, "paper", "open");
    let tick = Paused::at(&site, "tick-claimed", &TICK);
    fs::write(site.path("s/cache/epub/new"), "refreshed\n").unwrap();
    fs::rename(site.path("s/cache/epub/new"), site.cached("epub/Emma.epub")).unwrap();
    tick.go_on().exits(0);
    assert_eq!(pdf(&site), "refreshed\npdf\n");
    assert_eq!(site.count("SELECT count(DISTINCT counts_from) FROM attempt"), 1);
}

#[test]
fn cancelled_while_it_runs_it_takes_the_pdf_with_it() {
    let site = site(WAITING);
    request(&site, "pdf title=Emma").exits(75);
    site.brief_tick().exits(0);
    wait_until("the EPUB is being made", || lines(&site, "runs").len() == 1);
    site.database().execute("UPDATE job SET cancel = 1 WHERE status = 1", []).unwrap();
    wait_for_runs(&site);
    request(&site, "pdf title=Emma").exits(70).stdout("failed_unknown the file that it is made from was cancelled\n");
    touch(&site, "go");
    site.tick().exits(0);
    assert_eq!(attempts(&site, "pdf"), 0);
}

#[test]
fn deleted_while_it_is_queued_it_is_queued_anew() {
    let site = site(EPUB);
    request(&site, "pdf title=Emma").exits(75);
    // As dropping it does: what waits for it goes on.
    let drop = "DELETE FROM job WHERE exporter = 'epub'; UPDATE job SET waits = 1 WHERE exporter = 'pdf'";
    site.database().execute_batch(drop).unwrap();
    until_done(&site);
    assert_eq!(lines(&site, "runs"), ["epub", "pdf"]);
    assert_eq!(pdf(&site), "Emma\npdf\n");
}

#[test]
fn kept_while_its_queue_is_paused_for_hours_it_is_made_for_the_pdf_in_the_end() {
    let site = site(EPUB);
    set_mode(&site, "default", "paused");
    request(&site, "pdf title=Emma").exits(75);
    for hours in 1..=3 {
        later(&site, f64::from(hours) * 3700.0);
    }
    assert_eq!(site.count("SELECT count(*) FROM job WHERE exporter = 'pdf'"), 1);
    set_mode(&site, "default", "open");
    until_done(&site);
    assert_eq!(attempts(&site, "pdf"), 1);
}

/// A PDF whose source has waited long and is being made at last is not dropped just then.
#[test]
fn queued_for_long_and_then_started_it_is_worth_waiting_for() {
    let site = site(WAITING);
    set_mode(&site, "default", "paused");
    request(&site, "pdf title=Emma").exits(75);
    later(&site, 3500.0);
    set_mode(&site, "default", "open");
    site.brief_tick().exits(0);
    wait_until("the EPUB is being made", || lines(&site, "runs").len() == 1);
    for seconds in [3700.0, 3701.0] {
        site.clock(seconds);
        site.brief_tick().exits(0);
    }
    touch(&site, "go");
    wait_for_runs(&site);
    until_done(&site);
    assert_eq!(pdf(&site), "Emma\npdf\n");
}

#[test]
fn edited_after_the_pdf_was_queued_both_are_made_once_from_the_new_text() {
    let site = between(NUMBERED);
    let edited = jiff::Timestamp::now().to_string();
    site.run(&["request", "pdf", "title=Emma", "--after", &edited]).exits(75);
    set_mode(&site, "paper", "open");
    until_done(&site);
    site.run(&["request", "pdf", "title=Emma", "--after", &edited]).exits(0);
    assert_eq!(lines(&site, "runs"), ["epub", "epub", "pdf"]);
    assert_eq!(pdf(&site), "2\npdf\n");
}

/// Killed before it could tell those who wait, it is found dead by the next tick, which tells them.
#[test]
fn lost_with_its_run_it_is_retried_and_the_pdf_waits() {
    let site = site(EPUB);
    request(&site, "pdf title=Emma").exits(75);
    site.run_at("run-prepared=kill", &TICK).exits(0);
    site.tick().exits(0);
    assert_eq!(site.text("SELECT result FROM attempt"), "lost");
    assert_eq!(site.count("SELECT count(*) FROM job WHERE status = 0"), 2);
    site.clock(60.0);
    site.tick().exits(0);
    until_done(&site);
    assert_eq!(pdf(&site), "Emma\npdf\n");
}
