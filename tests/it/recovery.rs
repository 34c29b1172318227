//! What becomes of an attempt whose run, or tick, or machine has died.

use std::process::{Command, Stdio};

use nix::sys::signal::Signal;

use crate::support::{
    running::{HELD, go, held, held_by, kill_run, note, noted, results, signal_run, start},
    site::{Site, wait_until},
    strays::{nobody_is_left, strays},
    together::{Beside, wait_for_runs},
};

/// The next attempt comes half a minute later, so that a test can look in between.
const LATER: &str = "max_attempts = 3";
const HALF_A_MINUTE: f64 = 40.0;

/// The next tick ends what is left, counts the attempt and starts the next one.
#[test]
fn a_killed_run_is_lost_its_tree_is_ended_and_the_next_attempt_succeeds() {
    let site = held(LATER);
    let before = strays(&site);
    kill_run(&site);
    wait_until("the leader has died with its run", || strays(&site).len() < before.len());
    assert!(!strays(&site).is_empty(), "the daemon is still there");
    site.brief_tick().exits(0).stdout("").stderr("");
    nobody_is_left(&site);
    assert_eq!(results(&site), "lost");
    assert_eq!(site.text("SELECT log_tail || detail FROM attempt"), "its run process died");
    go(&site);
    site.clock(HALF_A_MINUTE);
    site.tick().exits(0).stderr("");
    site.ask("Emma").exits(0);
    assert_eq!(results(&site), "lost ok");
    assert_eq!(site.count("SELECT max(number) FROM attempt"), 2);
}

#[test]
fn a_lost_attempt_counts_so_a_poison_job_ends() {
    let site = held("max_attempts = 2");
    kill_run(&site);
    site.brief_tick().exits(0).stderr("");
    site.clock(HALF_A_MINUTE);
    start(&site);
    kill_run(&site);
    site.brief_tick().exits(0).warns("job 1 (epub/Emma.epub) failed: lost, its run process died");
    site.brief_tick().exits(0).stderr("");
    assert_eq!(results(&site), "lost lost");
    site.ask("Emma").exits(70).says("failed_unknown");
    nobody_is_left(&site);
}

#[test]
fn a_lost_attempt_keeps_the_end_of_its_log_and_a_detail() {
    let site = held_by(&format!("echo last words\n{HELD}"), LATER);
    wait_until("the log is written", || {
        let attempt = site.text("SELECT attempt FROM job");
        std::fs::read(site.path("s/log").join(format!("{attempt}.log"))).is_ok_and(|log| !log.is_empty())
    });
    kill_run(&site);
    site.brief_tick().exits(0);
    assert_eq!(site.text("SELECT log_tail FROM attempt"), "last words\n");
}

#[test]
fn a_killed_tick_takes_no_run_with_it() {
    let site = Site::new().exporter_with(HELD, LATER).create();
    let tick = Beside::start(&mut site.command(&["tick", "--allow-root", "--for", "10m"]));
    site.ask("Emma").exits(75);
    wait_until("the exporter is up", || site.path("up").exists());
    tick.signal(Signal::SIGKILL);
    tick.end().dies_of(9);
    site.brief_tick().exits(0).stderr("");
    site.ask("Emma").exits(75).says("started");
    go(&site);
    wait_for_runs(&site);
    assert_eq!(results(&site), "ok");
    site.ask("Emma").exits(0);
    site.tick().exits(0);
    nobody_is_left(&site);
}

#[test]
fn a_run_and_its_tick_killed_together_are_recovered_from() {
    let site = Site::new().exporter_with(HELD, LATER).create();
    let tick = Beside::start(&mut site.command(&["tick", "--allow-root", "--for", "10m"]));
    site.ask("Emma").exits(75);
    wait_until("the exporter is up", || site.path("up").exists());
    tick.signal(Signal::SIGKILL);
    kill_run(&site);
    tick.end().dies_of(9);
    go(&site);
    site.brief_tick().exits(0);
    site.clock(HALF_A_MINUTE);
    wait_until("it is made", || {
        site.tick().exits(0);
        site.count("SELECT count(*) FROM job") == 0
    });
    assert_eq!(results(&site), "lost ok");
    nobody_is_left(&site);
}

/// After a reboot the numbers in the note are those of strangers.
#[test]
fn after_a_reboot_nobody_is_killed_for_a_number_in_the_note() {
    let site = held(LATER);
    let stranger = Beside::start(Command::new("sleep").arg("1000").stdin(Stdio::null()));
    let about = std::fs::read_to_string(format!("/proc/{}/stat", stranger.id())).unwrap();
    let start = about.rsplit_once(") ").unwrap().1.split(' ').nth(19).unwrap().to_owned();
    let lock = crate::support::running::lock(&site);
    kill_run(&site);
    for key in ["run", "leader"] {
        note(&site, key, &format!("{} {start}", stranger.id()));
    }
    note(&site, "session", &stranger.id().to_string());
    note(&site, "boot", "00000000-0000-0000-0000-000000000000");
    assert!(std::fs::read_to_string(lock).unwrap().contains(&format!("leader {} ", stranger.id())));
    site.brief_tick().exits(0).stderr("");
    assert_eq!(results(&site), "lost");
    let state = std::fs::read_to_string(format!("/proc/{}/stat", stranger.id())).unwrap();
    assert!(!state.contains(") Z "), "the stranger lives: {state}");
    drop(stranger);
    nobody_is_left(&site); // the cookie led to the daemon
}

#[test]
fn a_step_of_the_clock_neither_ends_nor_reaps_a_run() {
    let site = held("timeout = \"1h\"");
    for seconds in [86_400.0, -86_400.0, 3.0e7] {
        site.clock(seconds);
        let told = site.brief_tick().exits(0).stdout("").err();
        assert!(told.is_empty() || told.starts_with("pressroom: the clock says "), "{told}");
        site.brief_tick().exits(0).stdout("").stderr("");
        site.ask("Emma").exits(75).says("started");
    }
    go(&site);
    wait_for_runs(&site);
    assert_eq!(results(&site), "ok");
    assert!(site.count("SELECT duration FROM attempt") < 3_600_000);
}

#[test]
fn an_attempt_that_is_overdue_is_reported_killed_and_reaped() {
    let site = held(&format!("timeout = \"1s\"\nkill_after = \"1s\"\n{LATER}"));
    signal_run(&site, Signal::SIGSTOP);
    site.brief_tick().exits(0).stderr("");
    assert!(!noted(&site, "leader").is_empty());
    note(&site, "since_boot_ms", "0");
    let tick = site.brief_tick();
    tick.exits(0).warns("job 1 (epub/Emma.epub) is overdue; its run is killed");
    assert_eq!(results(&site), "lost");
    nobody_is_left(&site);
    go(&site);
    site.clock(HALF_A_MINUTE);
    site.tick().exits(0);
    site.ask("Emma").exits(0);
}
