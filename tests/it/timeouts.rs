//! Slots leaked with each time-out until nothing ran: five hundred in a row must leave four of them.

use std::fs::File;

use crate::support::{
    site::{Site, wait_until},
    strays::nobody_is_left,
    together::Beside,
};

const SETTINGS: &str = "timeout = \"50ms\"\nmax_attempts = 1\nkill_after = \"10s\"";

const QUEUE: &str = "[queue.default]\nmax_running = 4\nmax_queued = 2000\n[exporter.held]\nqueue = \"default\"\n\
    command = [\"/bin/sh\", \"-c\", '''until [ -e ../../../go ]; do sleep 0.02; done; echo held >\"$1\"''', \"sh\", \"{output}\"]\n\
    filename = \"{title}.txt\"\n[exporter.held.params.title]\nrequired = true\n";

fn site() -> Site {
    Site::new().exporter_with("exec sleep 1000", SETTINGS).more(QUEUE).create()
}

/// A tick that stays; what it says goes to a file, since nobody reads a pipe meanwhile.
fn linger(site: &Site) -> Beside {
    let mut command = site.command(&["tick", "--allow-root", "--for", "30m"]);
    Beside::start_into(&mut command, File::create(site.path("said")).expect("a file"))
}

/// The most attempts that were under way at a moment, by the history.
fn most_at_once(site: &Site) -> i64 {
    site.count(
        "SELECT max((SELECT count(*) FROM attempt AS other
                      WHERE other.started <= one.started AND other.ended > one.started))
           FROM attempt AS one",
    )
}

#[test]
fn after_five_hundred_time_outs_four_slots_are_free() {
    let site = site();
    let tick = linger(&site);
    for number in 0..500 {
        site.ask(&format!("book{number}")).exits(75);
    }
    for some in [100, 200, 300, 400, 500] {
        wait_until("more have timed out", || site.count("SELECT count(*) FROM job WHERE status = 2") >= some);
    }
    assert_eq!(site.count("SELECT count(*) FROM attempt WHERE result = 'timeout'"), 500);
    assert_eq!(most_at_once(&site), 4);

    for number in 0..5 {
        site.run(&["request", "held", &format!("title=hold{number}")]).exits(75);
    }
    wait_until("four slots are taken", || site.count("SELECT count(*) FROM job WHERE status = 1") == 4);
    assert_eq!(site.count("SELECT count(*) FROM job WHERE status = 0"), 1);
    std::fs::write(site.path("go"), "").unwrap();
    wait_until("the held ones are made", || site.count("SELECT count(*) FROM job WHERE status < 2") == 0);
    tick.stop().exits(0);
    site.tick().exits(0);
    nobody_is_left(&site);
    assert_eq!(site.names("s/work"), [""; 0]);
}
