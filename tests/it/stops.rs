//! Ends in order: a run that is told to stop, a job that is cancelled.

use std::fs;

use nix::sys::signal::Signal;

use crate::support::{
    running::{HELD, go, held, held_by, results, signal_run, start},
    site::{Site, wait_until},
    strays::{nobody_is_left, strays},
    together::{Beside, wait_for_runs},
};

/// Hears the request to end, and says so in its log.
const POLITE: &str = "trap 'echo bye; exit 0' TERM\necho up >>../../../up\nuntil [ -e ../../../go ]; do sleep 0.01; done\necho x >\"$1\"";

#[track_caller]
fn stop_run(site: &Site) {
    signal_run(site, Signal::SIGTERM);
    wait_for_runs(site);
}

#[test]
fn a_run_that_is_told_to_stop_ends_its_exporter_and_puts_the_job_back() {
    let site = held_by(POLITE, "max_attempts = 1");
    stop_run(&site);
    nobody_is_left(&site);
    assert_eq!(results(&site), "shutdown");
    assert!(site.text("SELECT log_tail FROM attempt").ends_with("bye\n"));
    assert_eq!(site.count("SELECT attempts FROM job WHERE status = 0"), 0, "it is no attempt");
    go(&site);
    site.tick().exits(0).stderr("");
    site.ask("Emma").exits(0);
    assert_eq!(results(&site), "shutdown ok");
}

#[test]
fn a_tree_that_does_not_hear_is_killed() {
    let site = held("kill_after = \"300ms\"");
    stop_run(&site);
    nobody_is_left(&site);
    assert_eq!(results(&site), "shutdown");
}

#[test]
fn three_shutdowns_in_a_row_are_not_counted_and_the_fourth_is() {
    let site = held_by(POLITE, "max_attempts = 2");
    for counted in [0, 0, 0, 1] {
        stop_run(&site);
        assert_eq!(site.count("SELECT attempts FROM job WHERE status = 0"), counted);
        start(&site);
    }
    stop_run(&site);
    assert_eq!(results(&site), "shutdown shutdown shutdown shutdown shutdown");
    site.ask("Emma").exits(70).says("failed_unknown");
    site.brief_tick().exits(0).warns("failed: shutdown");
}

fn cancel(site: &Site) {
    site.database().execute("UPDATE job SET cancel = 1 WHERE status = 1", []).unwrap();
}

#[test]
fn a_started_job_that_is_cancelled_is_ended_with_its_tree_and_forgotten() {
    let site = held("kill_after = \"300ms\"");
    cancel(&site);
    wait_until("the row is gone", || site.count("SELECT count(*) FROM job") == 0);
    wait_until("its run is gone, too", || strays(&site).is_empty());
    assert_eq!(results(&site), "cancelled");
    site.brief_tick().exits(0).stdout("").stderr("");
    assert_eq!(site.names("s/work"), [""; 0]);
    site.ask("Emma").exits(75).stdout("queued 1\n");
}

#[test]
fn a_cancelled_job_whose_run_has_died_is_forgotten_as_well() {
    let site = held("");
    signal_run(&site, Signal::SIGSTOP);
    cancel(&site);
    crate::support::running::kill_run(&site);
    site.brief_tick().exits(0).stdout("").stderr("");
    assert_eq!((results(&site), site.count("SELECT count(*) FROM job")), ("cancelled".into(), 0));
    nobody_is_left(&site);
}

#[test]
fn a_file_that_was_made_before_the_cancel_stands() {
    let site = Site::new().create();
    site.ask("Emma").exits(75);
    let gate = site.path("gate");
    let mut tick = site.command(&["tick", "--allow-root", "--wait"]);
    tick.env("PRESSROOM_FAILPOINT", format!("run-prepared=pause:{}", gate.display()));
    let tick = Beside::start(&mut tick);
    wait_until("it is made", || site.path("gate.reached").exists());
    cancel(&site);
    fs::write(gate, "").unwrap();
    tick.end().exits(0).stderr("");
    assert_eq!((results(&site), site.count("SELECT count(*) FROM job")), ("ok".into(), 0));
    site.ask("Emma").exits(0);
}

/// cron may end a lingering tick at any time: it ends after its round, and its runs work on.
#[test]
fn a_tick_that_is_told_to_stop_leaves_its_runs_to_themselves() {
    let site = Site::new().exporter(HELD).create();
    let tick = Beside::start(&mut site.command(&["tick", "--allow-root", "--for", "10m"]));
    site.ask("Emma").exits(75);
    wait_until("the exporter is up", || site.path("up").exists());
    tick.stop().exits(0).stdout("").stderr("");
    site.ask("Emma").exits(75).says("started");
    go(&site);
    wait_for_runs(&site);
    assert_eq!(results(&site), "ok");
}
