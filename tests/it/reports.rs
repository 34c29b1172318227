//! Each newly failed job is told once on the tick's stderr, which cron mails.

use crate::support::{
    site::Site,
    together::{AFTER_ITS_ROUND, end_unheard},
};

fn failing(script: &str, books: usize) -> Site {
    let site = Site::new().exporter(&format!("{AFTER_ITS_ROUND}{script}")).more("[queue.default]\nmax_running = 50\n");
    let site = site
        .head("state_dir = \"s\"\n[cache]\nmin_free = \"0B\"\n[host]\nmin_free_memory = \"0B\"\nmax_running = 50\n");
    let site = site.create();
    end_unheard(&site, "book", books);
    assert_eq!(site.count("SELECT count(*) FROM job WHERE status = 3"), i64::try_from(books).unwrap());
    site
}

#[test]
fn a_failure_is_told_once_with_what_an_admin_needs() {
    let site = failing("echo why; exit 3", 1);
    let tick = site.tick();
    let attempt = site.text("SELECT id FROM attempt");
    tick.exits(0).stdout("").stderr(&format!(
        "pressroom: job 1 (epub/book0.epub) failed: exit, exit status 3, attempt 1 of it, log/{attempt}.log\n"
    ));
    site.tick().exits(0).stdout("").stderr("");
}

#[test]
fn of_many_failures_twenty_are_told_and_the_rest_counted() {
    let site = failing("exit 3", 25);
    let tick = site.tick();
    tick.exits(0).warns("pressroom: 5 more jobs have failed\n");
    assert_eq!(tick.err().lines().filter(|line| line.contains("failed: exit, exit status 3")).count(), 20);
    assert_eq!(tick.err().lines().count(), 21);
    site.tick().exits(0).stderr("");
}

/// Bad input is the visitor's matter.
#[test]
fn bad_input_is_not_mailed_and_hides_no_other_failure() {
    let site = failing("case $2 in book2*) exit 3;; *) exit 65;; esac", 25);
    let tick = site.tick();
    assert_eq!(tick.err().lines().filter(|line| line.contains("exit status 3")).count(), 6, "{}", tick.err());
    assert_eq!(tick.err().lines().count(), 6, "{}", tick.err());
    site.tick().exits(0).stderr("");
}

#[test]
fn a_job_that_fails_again_after_a_new_request_is_told_again() {
    let site = failing("exit 3", 1);
    site.tick().exits(0).warns("failed: exit");
    site.clock(400.0);
    end_unheard(&site, "book", 1);
    site.tick().exits(0).warns("failed: exit");
}
