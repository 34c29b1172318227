//! How long a failure is the answer, and how long rows are kept.

use crate::support::site::Site;

/// Two ticks: the first one after a jump of the clock expires nothing.
fn ticks_at(site: &Site, seconds: f64) {
    site.clock(seconds);
    site.tick().exits(0);
    site.tick().exits(0);
}

fn look(site: &Site) -> crate::support::site::Done {
    site.run(&["request", "epub", "title=Emma", "--no-enqueue"])
}

#[test]
fn a_failure_is_the_answer_for_failure_ttl_and_then_a_request_may_try_again() {
    let site = Site::new().exporter_with("exit 1", "failure_ttl = \"5m\"").create();
    site.ask("Emma").exits(75);
    site.tick().exits(0);
    site.clock(295.0);
    site.ask("Emma").exits(70).stdout("failed_unknown the export failed\n");
    site.clock(310.0);
    look(&site).exits(70);
    site.ask("Emma").exits(75).stdout("queued 1\n");
    assert_eq!(site.count("SELECT attempts FROM job"), 0);
    site.tick().exits(0);
    site.mailed().exits(0).warns("failed: exit");
    assert_eq!(site.count("SELECT count(*) FROM attempt WHERE number = 1"), 2, "both are first attempts");
    site.ask("Emma").exits(70);
}

#[test]
fn a_failure_is_forgotten_after_failure_keep() {
    let site = Site::new().exporter_with("exit 1", "failure_keep = \"1d\"").create();
    site.ask("Emma").exits(75);
    site.tick().exits(0);
    ticks_at(&site, 86_000.0);
    look(&site).exits(70);
    ticks_at(&site, 86_500.0);
    look(&site).exits(66).stdout("absent\n");
}

#[test]
fn a_job_that_could_not_be_started_is_dropped_after_queued_ttl() {
    let site = Site::new().exporter_with("exit 1", "queued_ttl = \"1h\"").create();
    site.tick().exits(0);
    site.ask("Emma").exits(75);
    let ages = |seconds: i64| {
        site.database().execute("UPDATE job SET queued_since = submitted - ?", [seconds * 1000]).unwrap();
        site.database().execute("UPDATE queue SET mode = 'paused'", []).unwrap();
        site.tick().exits(0);
    };
    ages(3500);
    look(&site).exits(75).stdout("queued 1\n");
    ages(3700);
    look(&site).exits(66);
}

#[test]
fn a_job_that_nobody_asks_about_is_dropped_after_abandon_after() {
    let site = Site::new().exporter_with("exit 1", "abandon_after = \"5m\"").create();
    site.ask("Emma").exits(75);
    site.database().execute("UPDATE queue SET mode = 'paused'", []).unwrap();
    ticks_at(&site, 250.0);
    look(&site).exits(75);
    ticks_at(&site, 1000.0);
    look(&site).exits(66);
}
