//! Somebody removes `tick.lock` while a tick lingers: that tick ends, and no two work at the same time.

use std::fs;

use crate::support::{
    site::{Site, wait_until},
    together::{Beside, Paused, wait_for_runs},
};

/// Tells of any other that runs at the same time.
const ALONE: &str =
    "mkdir ../../../busy || echo two >>../../../twice; sleep 0.05; rmdir ../../../busy; echo book >\"$1\"";

fn one_at_a_time() -> Site {
    let head = "state_dir = \"s\"\n[cache]\nmin_free = \"0B\"\n[host]\nmin_free_memory = \"0B\"\nmax_running = 1\n";
    Site::new().head(head).exporter(ALONE).create()
}

fn lingering(site: &Site, name: &str) -> Beside {
    let said = fs::File::create(site.path(name)).unwrap();
    Beside::start_into(&mut site.command(&["tick", "--allow-root", "--for", "10min"]), said)
}

#[track_caller]
fn was_told(site: &Site, name: &str) {
    let told = fs::read_to_string(site.path(name)).unwrap();
    assert!(told.contains("tick.lock was removed while this tick held it, so this tick ends"), "{told}");
    assert_eq!(told.lines().count(), 1, "{told}");
}

fn made(site: &Site) -> usize {
    site.names("s/cache/epub").len()
}

#[test]
fn a_lingering_tick_whose_lock_is_removed_ends_and_the_next_one_works_alone() {
    let site = one_at_a_time();
    for book in 0..20 {
        site.ask(&format!("b{book}")).exits(75);
    }
    let first = lingering(&site, "first");
    wait_until("some are made", || made(&site) > 2);
    fs::remove_file(site.path("s/tick.lock")).unwrap();
    let second = lingering(&site, "second");
    first.end().exits(0);
    was_told(&site, "first");
    wait_until("all are made", || made(&site) == 20);
    wait_for_runs(&site);
    second.stop().exits(0);
    assert_eq!(fs::read_to_string(site.path("second")).unwrap(), "");
    assert!(!site.path("twice").exists(), "two ran at the same time");
    assert_eq!(site.count("SELECT count(*) FROM attempt WHERE result <> 'ok'"), 0);
}

/// A successor that waits for the removed file is let in only once it holds the new one.
#[test]
fn who_waits_for_a_lock_that_was_removed_takes_the_one_in_its_place() {
    let site = one_at_a_time();
    let first = Paused::at(&site, "linger-over", &["tick", "--allow-root", "--for", "0s"]);
    let waiting = lingering(&site, "waiting");
    let waits = |line: &str| line.contains("-> FLOCK") && line.contains(&format!(" {} ", waiting.id()));
    wait_until("it waits for the lock", || fs::read_to_string("/proc/locks").unwrap().lines().any(waits));
    fs::remove_file(site.path("s/tick.lock")).unwrap();
    let third = lingering(&site, "third");
    let lock = || fs::File::open(site.path("s/tick.lock")).is_ok_and(|lock| lock.try_lock().is_err());
    wait_until("the third one is at work", lock);
    first.go_on().exits(0);
    site.ask("Emma").exits(75);
    wait_until("it is made", || made(&site) == 1);
    wait_for_runs(&site);
    third.stop().exits(0);
    site.ask("Nana").exits(75);
    wait_until("the one that waited goes on", || made(&site) == 2);
    wait_for_runs(&site);
    waiting.stop().exits(0);
    for name in ["waiting", "third"] {
        assert_eq!(fs::read_to_string(site.path(name)).unwrap(), "", "{name}");
    }
}

#[test]
fn a_tick_whose_lock_is_removed_in_the_middle_of_its_round_claims_nothing() {
    let site = one_at_a_time();
    site.ask("Emma").exits(75);
    let tick = Paused::at(&site, "tick-before-claim", &["tick", "--allow-root"]);
    fs::remove_file(site.path("s/tick.lock")).unwrap();
    tick.go_on().exits(0).warns("tick.lock was removed while this tick held it");
    assert_eq!(site.count("SELECT count(*) FROM job WHERE status = 0 AND attempts = 0"), 1);
    site.run(&["status"]).exits(1).says("tick.lock was removed: two ticks can be at work");
    site.tick().exits(0).stderr("");
    site.run(&["status"]).exits(0);
    site.ask("Emma").exits(0);
}
