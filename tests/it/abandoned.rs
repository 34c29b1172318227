//! Jobs that nobody asks about any more are dropped, where that is wanted; who still asks is noted, and seldom.

use crate::support::{
    classes::{NOTING, later, request, set_mode},
    site::Site,
    together::Beside,
};

const ABANDON: &str = "abandon_after = \"5m\"";

fn site(extra: &str) -> Site {
    let site = Site::new().exporter_with(NOTING, extra).create();
    set_mode(&site, "default", "paused");
    site.ask("Emma").exits(75);
    site
}

fn jobs(site: &Site) -> i64 {
    site.count("SELECT count(*) FROM job")
}

fn asked(site: &Site) -> i64 {
    site.count("SELECT last_asked - submitted FROM job")
}

#[test]
fn a_queued_job_that_nobody_asks_about_is_dropped() {
    let site = site(ABANDON);
    later(&site, 290.0);
    assert_eq!(jobs(&site), 1);
    later(&site, 310.0);
    assert_eq!(jobs(&site), 0);
    site.ask("Emma").exits(75).stdout("queued 1\n");
}

#[test]
fn a_job_that_somebody_asks_about_stays() {
    let site = site(ABANDON);
    site.clock(200.0);
    site.ask("Emma").exits(75);
    later(&site, 450.0);
    assert_eq!(jobs(&site), 1);
    later(&site, 510.0);
    assert_eq!(jobs(&site), 0);
}

#[test]
fn that_somebody_asked_is_written_at_most_every_thirty_seconds() {
    let site = site(ABANDON);
    site.clock(25.0);
    site.ask("Emma").exits(75);
    assert_eq!(asked(&site), 0);
    site.clock(40.0);
    site.ask("Emma").exits(75);
    let first = asked(&site);
    assert!((35_000..60_000).contains(&first), "{first}");
    site.clock(55.0);
    site.ask("Emma").exits(75);
    assert_eq!(asked(&site), first);
}

#[test]
fn where_nothing_is_abandoned_a_poll_writes_nothing() {
    let site = site("");
    site.clock(200.0);
    let version = || site.count("SELECT max(last_asked) FROM job");
    let before = version();
    site.ask("Emma").exits(75);
    assert_eq!(version(), before);
}

/// A page that polls without queueing, and a shell that waits, ask too.
#[test]
fn whoever_waits_is_asking() {
    let site = site(ABANDON);
    site.clock(100.0);
    request(&site, "epub title=Emma --no-enqueue").exits(75);
    assert!(asked(&site) >= 95_000);
    let waiting = Beside::start(&mut site.command(&["request", "epub", "title=Emma", "--wait", "1min"]));
    site.clock(200.0);
    crate::support::site::wait_until("it has asked", || asked(&site) >= 195_000);
    drop(waiting);
}

/// The write that notes it waits for nobody's sake: the answer is what counts.
#[test]
fn a_request_that_cannot_note_it_answers_all_the_same() {
    let site = site(ABANDON);
    site.clock(100.0);
    let writer = site.database();
    writer.execute_batch("BEGIN IMMEDIATE").unwrap();
    let mut command = site.command(&["request", "epub", "title=Emma"]);
    crate::support::site::Done::of(command.env("PRESSROOM_TEST_BUSY", "100")).exits(75).stdout("queued 1\n");
    writer.execute_batch("ROLLBACK").unwrap();
}

#[test]
fn a_source_is_not_abandoned_while_something_waits_for_it() {
    let pdf = r#"
[exporter.pdf]
source = "epub"
command = ["/bin/cp", "{source}", "{output}"]
filename = "{title}.pdf"
abandon_after = "20m"
"#;
    let site = site(ABANDON).more(pdf);
    request(&site, "pdf title=Emma").exits(75);
    for minutes in 1..=3 {
        later(&site, f64::from(minutes) * 360.0);
        assert_eq!(jobs(&site), 2);
    }
    later(&site, 1230.0);
    later(&site, 1231.0);
    assert_eq!(jobs(&site), 0);
}
