//! Schedules: once when due, whoever ticks; what was missed is made up once; a clock that is set does no harm.

use crate::support::{
    classes::{attempts, lines, request, set_mode, touch},
    site::{Site, wait_until},
    together::{TICK, at_once, wait_for_runs},
};

const MONTH: f64 = 28.0 * 86400.0;

fn site(script: &str) -> Site {
    let config = r#"
[exporter.sync]
output = "none"
command = ["/bin/sh", "-c", '''SCRIPT''', "sh", "{what}"]
[exporter.sync.params.what]
required = true
[schedule.sync]
exporter = "sync"
params = { what = "index" }
every = "17s"
"#;
    Site::new().more(&config.replace("SCRIPT", script)).create()
}

fn runs_at(site: &Site, seconds: f64) -> usize {
    site.clock(seconds);
    site.tick().exits(0).stdout("").stderr("");
    lines(site, "runs").len()
}

const NOTING: &str = r#"echo "$1" >>../../../runs"#;

#[test]
fn a_schedule_keeps_its_rhythm_and_makes_up_a_missed_run_once() {
    let site = site(NOTING);
    assert_eq!(runs_at(&site, 0.0), 1);
    let beat = site.count("SELECT next % 17000 FROM schedule");
    assert_eq!(runs_at(&site, 12.0), 1);
    assert_eq!(runs_at(&site, 18.0), 2);
    assert_eq!(runs_at(&site, 18.0), 2);
    assert_eq!(runs_at(&site, 90.0), 3); // four beats went by
    assert_eq!(runs_at(&site, 90.0), 3);
    assert_eq!(runs_at(&site, MONTH), 4);
    assert_eq!(runs_at(&site, MONTH), 4);
    assert_eq!(runs_at(&site, MONTH + 17.0), 5);
    assert_eq!(site.count("SELECT next % 17000 FROM schedule"), beat, "a month later the beats are the same");
}

#[test]
fn a_clock_that_is_set_back_or_forth_neither_stops_a_schedule_nor_makes_it_run_twice() {
    let site = site(NOTING);
    assert_eq!(runs_at(&site, 7200.0), 1);
    assert_eq!(runs_at(&site, 0.0), 1); // two hours back: the next beat is 17 s away, not two hours
    assert_eq!(runs_at(&site, 18.0), 2);
    assert_eq!(runs_at(&site, 36.0), 3);
    assert_eq!(runs_at(&site, 86400.0), 4);
    assert_eq!(runs_at(&site, 86400.0 + 18.0), 5);
}

#[test]
fn eight_ticks_at_once_queue_what_is_due_once() {
    let site = site(NOTING);
    for round in 1..=3 {
        site.clock(f64::from(round) * 20.0);
        for done in at_once((0..8).map(|_| site.command(&TICK))) {
            done.exits(0).stderr("");
        }
        wait_for_runs(&site);
        site.tick().exits(0);
        assert_eq!(attempts(&site, "sync"), i64::from(round));
    }
}

#[test]
fn a_schedule_that_finds_its_task_queued_is_dropped() {
    let site = site(NOTING);
    set_mode(&site, "sync", "paused");
    for beat in 0..5 {
        assert_eq!(runs_at(&site, f64::from(beat) * 18.0), 0);
    }
    assert_eq!(site.count("SELECT count(*) FROM job"), 1);
    set_mode(&site, "sync", "open");
    assert_eq!(runs_at(&site, 80.0), 1);
    assert_eq!(runs_at(&site, 81.0), 1);
}

#[test]
fn a_schedule_that_finds_its_task_started_is_dropped() {
    let site = site(r#"echo "$1" >>../../../runs; until [ -e ../../../go ]; do sleep 0.02; done"#);
    site.brief_tick().exits(0);
    wait_until("it runs", || lines(&site, "runs").len() == 1);
    for beat in 1..4 {
        site.clock(f64::from(beat) * 18.0);
        site.brief_tick().exits(0).stderr("");
        assert_eq!(site.count("SELECT count(*) FROM job WHERE again IS NULL AND status = 1"), 1);
    }
    touch(&site, "go");
    wait_for_runs(&site);
    site.tick().exits(0);
    assert_eq!(lines(&site, "runs").len(), 1);
    assert_eq!(runs_at(&site, 75.0), 2);
}

/// A failure is an answer for those who ask; a beat is no question.
#[test]
fn a_failed_task_is_queued_again_by_its_next_beat() {
    let site = site(r#"echo "$1" >>../../../runs; exit 65"#);
    assert_eq!(runs_at(&site, 0.0), 1);
    request(&site, "sync what=index").exits(70);
    assert_eq!(runs_at(&site, 18.0), 2);
}

#[test]
fn the_dry_run_shows_the_next_times_and_queues_nothing() {
    let site = site(NOTING);
    let dry = || site.run(&["tick", "--dry-run", "--allow-root"]);
    dry().exits(0).says("schedule sync (sync): due now");
    assert_eq!(site.count("SELECT count(*) FROM schedule"), 0);
    site.tick().exits(0);
    dry().exits(0).says("schedule sync (sync): next at 20");
    assert_eq!(attempts(&site, "sync"), 1);
}

#[test]
fn a_lingering_tick_is_woken_by_a_beat() {
    let site = site(NOTING).more(CONFIG_FAST);
    let lingering =
        crate::support::together::Beside::start(&mut site.command(&["tick", "--allow-root", "--for", "10min"]));
    wait_until("three beats", || lines(&site, "runs").len() >= 3);
    drop(lingering);
    wait_for_runs(&site);
}

const CONFIG_FAST: &str = r#"
[exporter.sync]
output = "none"
command = ["/bin/sh", "-c", 'echo x >>../../../runs']
[schedule.sync]
exporter = "sync"
every = "300ms"
"#;
