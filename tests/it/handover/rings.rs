//! Rings and ends of runs at every moment of the handover.

use super::*;
use crate::support::running::{go, results};

/// One request and nothing else that could wake anybody: if its ring is lost, nobody starts it.
#[track_caller]
fn a_request_is_started(moment: &str, points: &[&str], at: impl FnOnce(&Site, Tick, &Tick)) {
    let site = Site::new().create();
    let old = Tick::old(&site);
    let next = Tick::next(&site, points);
    at(&site, old, &next);
    made(&site, moment);
    wait_for_runs(&site);
    next.stops();
    assert_eq!(site.count("SELECT count(*) FROM attempt"), 1);
}

#[test]
fn a_request_while_the_next_tick_begins_to_wait_is_started() {
    a_request_is_started("AtWaits", &["linger-waits"], |site, old, next| {
        next.reaches("linger-waits");
        site.ask("AtWaits").exits(75);
        next.leaves("linger-waits");
        next.sleeps();
        old.ends();
    });
}

#[test]
fn a_request_while_the_next_tick_waits_is_started() {
    a_request_is_started("Asleep", &[], |site, old, next| {
        next.sleeps();
        site.ask("Asleep").exits(75);
        old.ends();
    });
}

#[test]
fn a_request_before_the_first_round_of_the_next_tick_is_started() {
    a_request_is_started("AtTookLock", &["linger-took-lock"], |site, old, next| {
        next.sleeps();
        old.ends();
        next.reaches("linger-took-lock");
        site.ask("AtTookLock").exits(75);
        next.leaves("linger-took-lock");
    });
}

#[test]
fn a_request_after_the_first_claim_of_the_next_tick_is_started() {
    a_request_is_started("AfterClaim", &["tick-before-checkpoint"], |site, old, next| {
        next.sleeps();
        old.ends();
        next.reaches("tick-before-checkpoint");
        site.ask("AfterClaim").exits(75);
        next.leaves("tick-before-checkpoint");
    });
}

/// Ends the run of the old tick at a moment that `at` chooses; the next job must get its seat.
#[track_caller]
fn a_seat_is_freed(points: &[&str], at: impl FnOnce(&Site, Tick, &Tick)) {
    let site = Site::new().exporter(WAITING).more("[queue.default]\nmax_running = 1\n").create();
    site.ask("Emma").exits(75);
    site.ask("Nana").exits(75);
    let old = Tick::old(&site);
    wait_until("the exporter is up", || site.path("up").exists());
    let next = Tick::next(&site, points);
    next.reaches(points[0]);
    at(&site, old, &next);
    made(&site, "Nana");
    wait_for_runs(&site);
    next.stops();
    assert_eq!(results(&site), "ok ok");
}

#[track_caller]
fn its_run_ends(site: &Site) {
    go(site);
    made(site, "Emma");
    wait_until("its end is recorded", || site.count("SELECT count(*) FROM job") == 1);
}

#[test]
fn a_run_that_ends_while_the_next_tick_begins_to_wait_frees_its_seat() {
    a_seat_is_freed(&["linger-waits"], |site, old, next| {
        its_run_ends(site);
        next.leaves("linger-waits");
        next.sleeps();
        old.ends();
    });
}

#[test]
fn a_run_that_ends_once_the_next_tick_has_the_lock_frees_its_seat() {
    a_seat_is_freed(&["linger-waits", "linger-took-lock"], |site, old, next| {
        next.leaves("linger-waits");
        old.ends();
        next.reaches("linger-took-lock");
        its_run_ends(site);
        next.leaves("linger-took-lock");
    });
}

#[test]
fn a_run_that_ends_after_the_next_ticks_first_claim_frees_its_seat() {
    a_seat_is_freed(&["linger-waits", "tick-before-checkpoint"], |site, old, next| {
        next.leaves("linger-waits");
        old.ends();
        next.reaches("tick-before-checkpoint");
        its_run_ends(site);
        next.leaves("tick-before-checkpoint");
    });
}
