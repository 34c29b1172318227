//! `new_per_client`: how fast one client may queue new jobs. What is there already, and what others want, does not count.

use crate::support::{
    classes::{DERIVED_QUEUES, request, run_all},
    site::Site,
};

const RATE: &str = "[queue.default]\nmax_per_client = 1000\nnew_per_client = \"3/10m\"\n";

#[track_caller]
fn retry_after(site: &Site, words: &str) -> f64 {
    let answer = request(site, &format!("{words} --format json")).exits(69).json();
    assert_eq!(answer["state"], "limited", "{answer}");
    answer["retry_after"].as_f64().expect("a number of seconds")
}

#[test]
fn a_client_beyond_its_rate_is_limited_until_the_moment_that_it_is_told() {
    let site = Site::new().more(RATE).create();
    for (title, second) in [("a", 0.0), ("b", 100.0), ("c", 200.0)] {
        site.clock(second);
        request(&site, &format!("epub title={title} --client ann")).exits(75);
    }
    request(&site, "epub title=d --client ann").exits(69).says("limited you have asked for too many new files");
    let wait = retry_after(&site, "epub title=d --client ann");
    assert!((340.0..=400.0).contains(&wait), "{wait}");
    request(&site, "epub title=d --client bob").exits(75);
    for number in 0..5 {
        site.ask(&format!("nobody{number}")).exits(75); // without a client nobody is counted
    }
    site.clock(200.0 + wait - 60.0);
    request(&site, "epub title=e --client ann").exits(69);
    site.clock(200.0 + wait);
    request(&site, "epub title=e --client ann").exits(75);
    assert!(retry_after(&site, "epub title=f --client ann") > 30.0, "one has left the window, one has come");
}

#[test]
fn hits_and_polls_are_not_counted_and_failed_jobs_that_are_queued_again_are() {
    let script = "[ \"$2\" = good ] && echo >\"$1\"";
    let site = Site::new().exporter_with(script, "failure_ttl = \"0s\"\nmax_attempts = 1").more(RATE).create();
    request(&site, "epub title=good --client ann").exits(75);
    run_all(&site);
    for _ in 0..5 {
        request(&site, "epub title=good --client ann").exits(0);
        request(&site, "epub title=bad --client ann --no-enqueue").exits(66);
    }
    for _ in 0..2 {
        request(&site, "epub title=bad --client ann").exits(75);
        request(&site, "epub title=bad --client ann").exits(75); // a poll
        run_all(&site);
    }
    request(&site, "epub title=bad --client ann").exits(69).says("limited ");
    // What the admin queues again is nobody's new work.
    site.run(&["jobs", "retry", "--status", "failed", "--yes"]).exits(0);
    assert_eq!(site.count("SELECT sum(count) FROM arrival"), 3);
    site.clock(700.0);
    site.tick().exits(0); // after ten minutes of silence nothing is dropped, but arrivals have had their time
    assert_eq!(site.count("SELECT count(*) FROM arrival"), 0);
}

/// The visitor has asked for one file, and may not be refused for the other.
#[test]
fn a_source_counts_in_its_own_queue_and_is_refused_to_nobody() {
    let rules = "[queue.default]\nmax_per_client = 1\nnew_per_client = \"1/10m\"\n";
    let site = Site::new().more(&format!("{rules}{DERIVED_QUEUES}")).create();
    request(&site, "pdf title=Emma --client ann").exits(75);
    assert_eq!(site.count("SELECT count(*) FROM job"), 2);
    assert_eq!(site.text("SELECT group_concat(queue || count) FROM arrival"), "default1,paper1");
    request(&site, "epub title=Nana --client ann").exits(69).says("limited ");
    // Its own queue has the same source in another's name.
    run_all(&site);
    request(&site, "same title=Emma --client bob").exits(75);
    request(&site, "same title=Nana --client cleo").exits(75);
    let cleo = "(SELECT client FROM job WHERE exporter = 'same' AND params LIKE '%Nana%')";
    let arrivals = format!("SELECT sum(count) FROM arrival WHERE client = {cleo} AND queue = 'default'");
    assert_eq!(site.count(&arrivals), 2);
}

#[test]
fn a_rate_may_be_none_and_schedules_have_none() {
    let more = "[queue.default]\nmax_per_client = 1000\nmax_queued = 1000\nnew_per_client = \"none\"\n\
                [schedule.often]\nexporter = \"epub\"\nparams = { title = \"again\" }\nevery = \"10ms\"\n";
    let site = Site::new().more(more).create();
    for number in 0..70 {
        request(&site, &format!("epub title=t{number} --client ann")).exits(75);
    }
    site.tick().exits(0);
    assert_eq!(site.count("SELECT count(*) FROM arrival"), 0);
    let site = Site::new().more("[queue.default]\nnew_per_client = \"often\"\n");
    site.run(&["check"]).exits(78).warns("\"new_per_client\" in [queue.default] is \"often\"; it must be a number");
}
