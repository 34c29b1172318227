//! `--not-before`: a job that is put off, and somebody who wants it sooner.

use crate::support::{
    classes::{NOTING, later, lines, request, run_all},
    site::Site,
};

/// So many seconds from now on, as the command line wants it.
fn ahead(seconds: i64) -> String {
    (jiff::Timestamp::now() + jiff::SignedDuration::from_secs(seconds)).to_string()
}

fn site() -> Site {
    Site::new().exporter(NOTING).create()
}

#[test]
fn a_delayed_job_is_started_when_its_time_has_come_and_is_not_dropped_before() {
    let site = site();
    request(&site, &format!("epub title=Emma --not-before {}", ahead(8000))).exits(75).says("queued ");
    later(&site, 7900.0); // longer than queued_ttl
    assert_eq!(lines(&site, "runs").len(), 0);
    site.clock(8001.0);
    run_all(&site);
    assert_eq!(lines(&site, "runs"), ["Emma"]);
}

#[test]
fn whoever_asks_without_delay_does_not_wait_for_the_delay_of_another() {
    let site = site();
    request(&site, &format!("epub title=Emma --not-before {}", ahead(3600))).exits(75);
    request(&site, &format!("epub title=Emma --not-before {}", ahead(7200))).exits(75);
    site.tick().exits(0);
    assert_eq!(lines(&site, "runs").len(), 0);
    request(&site, "epub title=Emma --no-enqueue").exits(75);
    assert_eq!(site.count("SELECT waits FROM job"), 1, "who only looks changes nothing");
    site.ask("Emma").exits(75).stdout("queued 1\n");
    site.tick().exits(0);
    site.ask("Emma").exits(0);
}

#[test]
fn of_two_delays_the_shorter_one_counts() {
    let site = site();
    request(&site, &format!("epub title=Emma --not-before {}", ahead(7200))).exits(75);
    request(&site, &format!("epub title=Emma --not-before {}", ahead(600))).exits(75);
    site.clock(590.0);
    site.tick().exits(0);
    assert_eq!(lines(&site, "runs").len(), 0);
    site.clock(601.0);
    run_all(&site);
    assert_eq!(lines(&site, "runs").len(), 1);
}

/// The delay after a failure is not a wish that somebody else's could shorten.
#[test]
fn a_retry_keeps_its_delay_whoever_asks() {
    let site = Site::new().exporter("echo run >>../../../runs; exit 75").create();
    site.ask("Emma").exits(75);
    site.tick().exits(0);
    site.ask("Emma").exits(75);
    site.tick().exits(0);
    assert_eq!(lines(&site, "runs").len(), 1);
}

#[test]
fn the_source_of_a_delayed_job_is_made_when_its_time_has_come() {
    let pdf = "[exporter.pdf]\nsource = \"epub\"\ncommand = [\"/bin/cp\", \"{source}\", \"{output}\"]\nfilename = \"{title}.pdf\"\n";
    let site = site().more(pdf);
    request(&site, &format!("pdf title=Emma --not-before {}", ahead(3600))).exits(75);
    assert_eq!(site.count("SELECT count(*) FROM job"), 1);
    site.ask("Emma").exits(75); // a book for somebody else, long before
    run_all(&site);
    site.clock(3601.0);
    run_all(&site);
    assert_eq!(lines(&site, "runs").len(), 2, "the book that is an hour old is no source");
    assert!(site.cached("pdf/Emma.pdf").exists());
}

#[test]
fn at_three_o_clock_a_batch_stands_behind_the_visitor_who_came_before() {
    let site = Site::new().exporter(NOTING).more("[queue.default]\nmax_running = 1\n").create();
    for title in ["batch1", "batch2"] {
        request(&site, &format!("epub title={title} --not-before {}", ahead(8000))).exits(75);
    }
    site.clock(7900.0);
    site.ask("visitor").exits(75).stdout("queued 1\n");
    site.clock(8001.0);
    request(&site, "epub title=urgent --priority 10").exits(75);
    run_all(&site);
    assert_eq!(lines(&site, "runs"), ["urgent", "visitor", "batch1", "batch2"]);
}

#[test]
fn jobs_whose_time_has_not_come_and_the_others_do_not_take_each_others_places() {
    let site = Site::new().exporter(NOTING).more("[queue.default]\nmax_queued = 2\n").create();
    let later = |title: &str| request(&site, &format!("epub title={title} --not-before {}", ahead(8000)));
    later("a").exits(75);
    later("b").exits(75);
    later("c").exits(69).says("unavailable too many files are waiting already");
    site.ask("d").exits(75).stdout("queued 1\n");
    site.ask("e").exits(75);
    site.ask("f").exits(69).says("unavailable");
    let queue = site.run(&["queues", "list", "--format", "json"]).json();
    assert_eq!((&queue["queued"], &queue["delayed"]), (&4.into(), &2.into()));
    site.run(&["queues", "list"]).says("DELAYED").says("2 of 2  2");
    site.run(&["check", "--allow-root"]).exits(0);
    run_all(&site);
    site.ask("f").exits(75);
    later("c").exits(69);
}

/// Its rank counts from the moment at which it may start, whatever changes that.
#[test]
fn a_rank_follows_the_moment_at_which_a_job_may_start() {
    let wrong = "SELECT count(*) FROM job WHERE due <> max(submitted, run_after) OR rank <> due / 600000 - priority";
    let site = site();
    request(&site, &format!("epub title=Emma --not-before {}", ahead(7200))).exits(75);
    assert_eq!(site.count(wrong), 0);
    request(&site, &format!("epub title=Emma --not-before {}", ahead(3600))).exits(75);
    assert_eq!(site.count(wrong), 0);
    site.ask("Emma").exits(75);
    assert_eq!(site.count(wrong), 0);
    let site = Site::new().exporter_with("exit 75", "retry_delay = \"1h\"").create();
    site.ask("Emma").exits(75);
    site.tick().exits(0);
    assert_eq!(site.count("SELECT count(*) FROM job WHERE waits = 1 AND run_after > submitted + 1800000"), 1);
    assert_eq!(site.count(wrong), 0);
}
