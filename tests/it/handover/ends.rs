//! Who is killed or told to stop during the handover.

use nix::sys::signal::Signal;

use super::*;
use crate::support::{
    classes::shell,
    running::{go, kill_run, results},
    together::Beside,
};

#[track_caller]
fn dies(tick: Tick) {
    tick.beside.signal(Signal::SIGKILL);
    tick.beside.end().dies_of(9);
}

/// The next tick makes this book, and stops when it is told to.
#[track_caller]
fn goes_on(site: &Site, next: Tick, title: &str) {
    made(site, title);
    wait_for_runs(site);
    next.stops();
    assert_eq!(site.count("SELECT count(*) FROM attempt WHERE result <> 'ok'"), 0);
}

#[test]
fn the_next_tick_goes_on_wherever_the_old_one_is_killed() {
    for point in ["linger-took-lock", "tick-before-claim", "tick-before-checkpoint", "linger-over"] {
        let site = Site::new().create();
        site.ask("Emma").exits(75);
        let old = Tick::start(&site, "old", "0s", &[point]);
        old.reaches(point);
        let next = Tick::next(&site, &["linger-waits"]);
        next.reaches("linger-waits");
        dies(old);
        site.ask("Nana").exits(75);
        next.leaves("linger-waits");
        made(&site, "Emma");
        goes_on(&site, next, "Nana");
    }
}

#[test]
fn the_next_tick_goes_on_when_the_old_one_is_killed_while_it_sleeps() {
    let site = Site::new().create();
    let old = Tick::start(&site, "old", "10min", &[]);
    site.ask("Emma").exits(75);
    made(&site, "Emma");
    let next = Tick::next(&site, &[]);
    next.sleeps();
    dies(old);
    site.ask("Nana").exits(75);
    goes_on(&site, next, "Nana");
}

#[test]
fn a_tick_that_is_killed_while_it_waits_leaves_its_place_to_another() {
    let site = Site::new().create();
    let old = Tick::old(&site);
    let first = Tick::start(&site, "first", "10min", &["linger-waits"]);
    first.reaches("linger-waits");
    dies(first);
    let second = Tick::start(&site, "second", "10min", &[]);
    second.sleeps();
    dies(second);
    let next = Tick::next(&site, &[]);
    next.sleeps();
    site.ask("Emma").exits(75);
    old.ends();
    goes_on(&site, next, "Emma");
}

#[test]
fn a_tick_that_is_killed_with_the_lock_before_its_first_round_leaves_all_to_another() {
    let site = Site::new().create();
    let old = Tick::old(&site);
    let killed = Tick::start(&site, "killed", "10min", &["linger-took-lock"]);
    killed.sleeps();
    old.ends();
    killed.reaches("linger-took-lock");
    let next = Tick::next(&site, &[]);
    next.sleeps();
    site.ask("Emma").exits(75);
    dies(killed);
    goes_on(&site, next, "Emma");
}

/// Its seat is free again as soon as the next tick looks, though its run could not ring.
#[test]
fn a_run_that_is_killed_during_the_handover_is_reaped_by_the_next_tick() {
    let site = Site::new().exporter_with(WAITING, "retry_delay = \"1ms\"").create();
    site.ask("Emma").exits(75);
    let old = Tick::old(&site);
    wait_until("the exporter is up", || site.path("up").exists());
    let next = Tick::next(&site, &[]);
    next.sleeps();
    kill_run(&site);
    go(&site);
    old.ends();
    made(&site, "Emma");
    wait_for_runs(&site);
    next.stops();
    assert_eq!(results(&site), "lost ok");
}

#[test]
fn a_tick_that_only_waits_ends_at_once_when_it_is_told_to() {
    for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP] {
        let site = Site::new().create();
        let old = Tick::old(&site);
        let waiting = Tick::next(&site, &[]);
        waiting.sleeps();
        waiting.beside.signal(signal);
        waiting.beside.end().dies_of(signal as i32).stdout("").stderr("");
        // Its place is free.
        let next = Tick::start(&site, "another", "10min", &[]);
        next.sleeps();
        site.ask("Emma").exits(75);
        old.ends();
        goes_on(&site, next, "Emma");
    }
}

/// As a shell starts what it puts into the background, or nohup.
#[test]
fn a_tick_heeds_signals_that_its_parent_had_ignored() {
    let site = Site::new().create();
    let old = Tick::old(&site);
    for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP] {
        let ignoring = "trap '' TERM INT HUP; exec pressroom tick --allow-root --for 10min";
        let waiting = Beside::start(&mut shell(&site, ignoring));
        let waits = |line: &str| line.contains("-> FLOCK") && line.contains(&format!(" {} ", waiting.id()));
        wait_until("it waits for the lock", || fs::read_to_string("/proc/locks").unwrap().lines().any(waits));
        waiting.signal(signal);
        waiting.end().dies_of(signal as i32);
    }
    old.ends();
}

/// It does not take the lock first, if it was told to stop before it lay down.
#[test]
fn a_tick_that_is_told_to_stop_before_it_waits_never_takes_the_lock() {
    let site = Site::new().create();
    let old = Tick::old(&site);
    let waiting = Tick::next(&site, &["linger-waits"]);
    waiting.reaches("linger-waits");
    waiting.beside.signal(Signal::SIGTERM);
    waiting.leaves("linger-waits");
    waiting.beside.end().dies_of(15).stdout("").stderr("");
    old.ends();
    site.ask("Emma").exits(75);
    site.tick().exits(0).stderr("");
    site.ask("Emma").exits(0);
}

#[test]
fn a_tick_that_is_told_to_stop_with_the_lock_ends_after_its_round() {
    for point in ["linger-took-lock", "tick-before-claim", "tick-before-checkpoint", "linger-over"] {
        let site = Site::new().create();
        site.ask("Emma").exits(75);
        let working = Tick::start(&site, "working", "10min", &[point]);
        if point == "linger-over" {
            made(&site, "Emma");
            working.beside.signal(Signal::SIGTERM);
        }
        working.reaches(point);
        working.beside.signal(Signal::SIGTERM);
        working.leaves(point);
        working.beside.end().exits(0).stdout("").stderr("");
        made(&site, "Emma");
        wait_for_runs(&site);
    }
}
