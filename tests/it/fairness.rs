//! A low priority waits but does not starve, and a client with many books does not hold up the next one's first.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::support::{
    classes::{NOTING, lines, request, run_all, shell},
    site::{Done, Site},
};

fn one_seat() -> Site {
    Site::new()
        .exporter(NOTING)
        .more("[queue.default]\nmax_running = 1\nmax_per_client = 400\nnew_per_client = \"none\"\n")
        .create()
}

/// One tick claims one job, since there is one seat.
fn next(site: &Site) -> String {
    site.tick().exits(0).stderr("");
    lines(site, "runs").pop().expect("a run")
}

#[test]
fn a_job_of_the_lowest_priority_runs_although_others_keep_coming() {
    let site = one_seat();
    request(&site, "epub title=patient --priority -10").exits(75);
    request(&site, "epub title=first --priority 10").exits(75);
    let mut rounds = 0;
    loop {
        site.clock(f64::from(rounds) * 600.0);
        request(&site, &format!("epub title=hasty{rounds} --priority 10")).exits(75);
        if next(&site) == "patient" {
            break;
        }
        rounds += 1;
        // A queue that is never empty must not run into queued_ttl here.
        site.database().execute("UPDATE job SET queued_since = queued_since + 600000", []).unwrap();
        assert!(rounds < 40, "it starves");
    }
    assert!((20..=22).contains(&rounds), "twenty steps of ten minutes, and not {rounds}");
}

#[test]
fn three_hundred_books_of_one_client_do_not_hold_up_the_first_of_another() {
    let site = one_seat();
    // Waiting counts in steps of ten minutes of the clock, and none may begin in the middle of this.
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64();
    site.clock(600.0 - now % 600.0);
    let script = "for i in $(seq 300); do pressroom request epub title=ann$i --client ann; [ $? = 75 ] || exit 1; done";
    Done::of(&mut shell(&site, script)).exits(0);
    request(&site, "epub title=bob1 --client bob").exits(75).stdout("queued 2\n");
    request(&site, "epub title=nobody").exits(75).stdout("queued 3\n");
    request(&site, "epub title=bob2 --client bob").exits(75).stdout("queued 5\n");
    let order: Vec<_> = (0..6).map(|_| next(&site)).collect();
    assert_eq!(order, ["ann1", "bob1", "nobody", "ann2", "bob2", "ann3"]);
}

/// Whoever waits long enough comes before those whose turn would be better.
#[test]
fn a_long_wait_makes_up_for_many_books() {
    let site = one_seat();
    for number in 1..=3 {
        request(&site, &format!("epub title=ann{number} --client ann")).exits(75);
    }
    site.clock(1900.0);
    request(&site, "epub title=bob1 --client bob").exits(75).stdout("queued 4\n");
    run_all(&site);
    assert_eq!(lines(&site, "runs"), ["ann1", "ann2", "ann3", "bob1"]);
}
