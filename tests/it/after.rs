//! `--after`: only a file whose attempt started at or after a moment counts.

use jiff::{SignedDuration, Timestamp};

use crate::support::{
    site::{Done, Site, wait_until},
    together::wait_for_runs,
};

const NOTING: &str = r#"echo "$2" >>../../../runs; until [ ! -e ../../../hold ]; do sleep 0.01; done; echo "$2" >"$1""#;

fn from_now(ms: i64) -> String {
    (Timestamp::now() + SignedDuration::from_millis(ms)).to_string()
}

#[track_caller]
fn ask_after(site: &Site, after: &str) -> Done {
    site.run(&["request", "epub", "title=Emma", "--after", after])
}

fn made() -> Site {
    let site = Site::new().exporter(NOTING).create();
    site.ask("Emma").exits(75);
    site.tick().exits(0);
    site
}

fn runs(site: &Site) -> usize {
    std::fs::read_to_string(site.path("runs")).unwrap_or_default().lines().count()
}

fn hold(site: &Site) {
    std::fs::write(site.path("hold"), "").unwrap();
}

fn release(site: &Site) {
    std::fs::remove_file(site.path("hold")).unwrap();
    wait_for_runs(site);
}

#[test]
fn a_file_begun_later_counts() {
    let site = made();
    ask_after(&site, &from_now(-60_000)).exits(0).says("ready ");
}

#[test]
fn a_file_begun_earlier_is_made_again_however_fresh() {
    let site = made();
    ask_after(&site, &from_now(0)).exits(75).says("queued 1");
    site.ask("Emma").exits(0); // who does not mind is served meanwhile
    wait_until("the job may start", || {
        site.tick().exits(0);
        runs(&site) == 2
    });
}

/// Its mtime is late enough, but it was begun before.
#[test]
fn a_file_that_ended_later_but_began_earlier_does_not_count() {
    let site = Site::new().exporter(NOTING).create();
    hold(&site);
    site.ask("Emma").exits(75);
    site.brief_tick().exits(0);
    let edited = from_now(0);
    wait_until("a millisecond has passed", || Timestamp::now() > edited.parse::<Timestamp>().unwrap());
    release(&site);
    ask_after(&site, &edited).exits(75).says("queued 1");
}

/// What began in the very second of an edit may have read the old text.
#[test]
fn a_time_is_rounded_up_to_its_last_digits_unit() {
    let site = made();
    let started = site.count("SELECT started FROM attempt");
    let second = Timestamp::from_millisecond(started / 1000 * 1000).unwrap().to_string();
    ask_after(&site, &second).exits(75);
    assert_eq!(site.count("SELECT run_after FROM job"), started / 1000 * 1000 + 1000);
}

#[test]
fn with_milliseconds_the_next_one_counts() {
    let site = made();
    let started = site.count("SELECT started FROM attempt");
    let at = |ms: i64| {
        format!("{}.{:03}Z", Timestamp::from_second(ms / 1000).unwrap().strftime("%Y-%m-%dT%H:%M:%S"), ms % 1000)
    };
    ask_after(&site, &at(started - 1)).exits(0);
    ask_after(&site, &at(started)).exits(75);
    assert_eq!(site.count("SELECT run_after FROM job"), started + 1);
}

#[test]
fn one_more_run_is_noted_once_for_the_latest_moment_and_follows() {
    let site = Site::new().exporter(NOTING).create();
    hold(&site);
    site.ask("Emma").exits(75);
    site.brief_tick().exits(0);
    wait_until("the exporter runs", || runs(&site) == 1);
    ask_after(&site, &from_now(-3_600_000)).exits(75).stdout("started ?\n");
    assert_eq!(site.count("SELECT count(again) FROM job"), 0, "the attempt that runs is new enough");
    let (first, second) = (from_now(0), from_now(30));
    ask_after(&site, &first).exits(75).stdout("started ?\n");
    let noted = site.count("SELECT again FROM job");
    ask_after(&site, &second).exits(75).stdout("started ?\n");
    let later = site.count("SELECT again FROM job");
    assert!(later > noted);
    ask_after(&site, &first).exits(75).stdout("started ?\n");
    assert_eq!(site.count("SELECT again FROM job"), later);
    release(&site);
    site.ask("Emma").exits(0);
    assert!(site.count("SELECT run_after FROM job WHERE status = 0 AND attempts = 0") >= later);
    wait_until("it has run once more", || {
        site.tick().exits(0);
        site.count("SELECT count(*) FROM job") == 0
    });
    assert_eq!(runs(&site), 2);
    assert!(site.count("SELECT max(started) FROM attempt") >= later);
}

#[test]
fn a_job_for_a_moment_ahead_is_not_started_before_it() {
    let site = Site::new().exporter(NOTING).create();
    ask_after(&site, &from_now(4_000)).exits(75).says("queued");
    site.tick().exits(0).stderr("");
    assert_eq!(runs(&site), 0);
    site.clock(6.0);
    site.tick().exits(0);
    assert_eq!(runs(&site), 1);
    assert!(site.count("SELECT counts_from FROM attempt") >= site.count("SELECT submitted FROM attempt") + 4000);
}

#[test]
fn a_queued_job_waits_for_the_later_moment_and_never_for_an_earlier_one() {
    let site = Site::new().create();
    ask_after(&site, &from_now(3_000)).exits(75);
    let first = site.count("SELECT run_after FROM job");
    ask_after(&site, &from_now(1_000)).exits(75);
    assert_eq!(site.count("SELECT run_after FROM job"), first);
    ask_after(&site, &from_now(4_500)).exits(75);
    assert!(site.count("SELECT run_after FROM job") > first);
}

#[test]
fn more_than_five_seconds_ahead_is_invalid() {
    let site = Site::new().create();
    ask_after(&site, &from_now(4_000)).exits(75);
    ask_after(&site, &from_now(60_000)).exits(65).stdout("invalid the time given with --after lies ahead\n");
    ask_after(&site, "yesterday").exits(64).warns("\"yesterday\" is not a time");
}

#[test]
fn a_failure_counts_only_if_it_started_since() {
    let site = Site::new().exporter("exit 1").create();
    site.ask("Emma").exits(75);
    site.tick().exits(0);
    ask_after(&site, &from_now(-60_000)).exits(70).says("failed_unknown");
    site.ask("Emma").exits(70);
    ask_after(&site, &from_now(0)).exits(75).says("queued 1");
}

/// The round of a tick may be long; what it claims late has started late.
#[test]
fn a_job_asked_for_during_a_round_and_claimed_by_it_counts() {
    let site = made();
    let round = crate::support::together::Paused::at(&site, "tick-before-claim", &["tick", "--allow-root", "--wait"]);
    let edited = from_now(0);
    ask_after(&site, &edited).exits(75);
    wait_until("the moment has come", || {
        Timestamp::now().as_millisecond() > edited.parse::<Timestamp>().unwrap().as_millisecond() + 2
    });
    round.go_on().exits(0);
    ask_after(&site, &edited).exits(0).says("ready ");
    assert_eq!(runs(&site), 2);
}
