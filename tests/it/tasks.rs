//! Tasks make no file: one at work and one more to follow, whoever asks how often.

use crate::support::{
    classes::{attempts, lines, request, set_mode, shell, touch},
    site::{Site, wait_until},
    together::{Beside, at_once, wait_for_runs},
};

/// Runs until the file `go` is there, alone or not.
const WAITING: &str = r#"
mkdir ../../../busy || echo "$1" >>../../../faults
echo "$1" >>../../../runs
until [ -e ../../../go ]; do sleep 0.02; done
rmdir ../../../busy"#;

fn site(script: &str) -> Site {
    let task = r#"
[exporter.reindex]
output = "none"
command = ["/bin/sh", "-c", '''SCRIPT''', "sh", "{scope}"]
[exporter.reindex.params.scope]
one_of = ["all", "changed"]
default = "all"
"#;
    Site::new().more(&task.replace("SCRIPT", script)).create()
}

#[track_caller]
fn started(site: &Site) {
    request(site, "reindex").exits(75).stdout("queued 1\n");
    site.brief_tick().exits(0).stderr("");
    wait_until("it runs", || lines(site, "runs").len() == 1);
}

#[test]
fn a_task_that_is_asked_for_a_thousand_times_while_it_runs_runs_exactly_once_more() {
    let site = site(WAITING);
    started(&site);
    let script = "for i in $(seq 125); do pressroom request reindex; [ $? = 75 ] || exit 1; done";
    for done in at_once((0..8).map(|_| shell(&site, script))) {
        assert_eq!(done.exits(0).stderr("").out(), "started ?\n".repeat(125));
    }
    assert_eq!(site.count("SELECT count(*) FROM job"), 1);
    touch(&site, "go");
    wait_for_runs(&site);
    for _ in 0..3 {
        site.tick().exits(0).stdout("").stderr("");
    }
    assert_eq!(lines(&site, "runs").len(), 2);
    assert_eq!(lines(&site, "faults"), [""; 0]);
    assert_eq!(site.count("SELECT count(*) FROM attempt WHERE result = 'ok'"), 2);
    assert_eq!(site.count("SELECT count(*) FROM job"), 0);
}

#[test]
fn a_task_that_is_queued_already_is_not_queued_twice() {
    let site = site("echo run >>../../../runs");
    for _ in 0..3 {
        request(&site, "reindex").exits(75).stdout("queued 1\n");
    }
    site.tick().exits(0).stderr("");
    site.tick().exits(0);
    assert_eq!(lines(&site, "runs").len(), 1);
}

/// Other parameters are another job, but a task's own queue has one seat.
#[test]
fn tasks_with_different_parameters_run_one_after_the_other() {
    let site = site(WAITING);
    started(&site);
    request(&site, "reindex scope=changed").exits(75).stdout("queued 1\n");
    site.brief_tick().exits(0);
    assert_eq!(site.count("SELECT count(*) FROM job WHERE status = 1"), 1);
    touch(&site, "go");
    wait_for_runs(&site);
    site.tick().exits(0);
    assert_eq!(lines(&site, "runs"), ["all", "changed"]);
    assert_eq!(lines(&site, "faults"), [""; 0]);
}

#[test]
fn a_failed_task_is_answered_for_failure_ttl_and_then_tried_anew() {
    let site = site("echo run >>../../../runs; echo 'the index is locked' >$PRESSROOM_MESSAGE; exit 1");
    request(&site, "reindex").exits(75);
    site.tick().exits(0);
    site.mailed().exits(0).warns("(reindex/all) failed: exit, exit status 1");
    request(&site, "reindex").exits(70).stdout("failed_unknown the index is locked\n");
    site.clock(301.0);
    request(&site, "reindex").exits(75).stdout("queued 1\n");
    site.tick().exits(0);
    assert_eq!(lines(&site, "runs").len(), 2);
}

#[test]
fn whoever_waits_for_a_task_sees_its_success() {
    let site = site(WAITING);
    touch(&site, "go");
    let waiting = Beside::start(&mut site.command(&["request", "reindex", "--wait", "1min"]));
    wait_until("it is queued", || site.count("SELECT count(*) FROM job") == 1);
    site.tick().exits(0);
    waiting.end().exits(0).stdout("ready\n").stderr("");
}

/// Its wish came too late for the run that was at work.
#[test]
fn whoever_waits_for_a_task_that_runs_waits_for_the_run_that_follows() {
    let site = site(WAITING);
    started(&site);
    let waiting = Beside::start(&mut site.command(&["request", "reindex", "--wait", "1min", "--format", "json"]));
    wait_until("one more is noted", || site.count("SELECT count(*) FROM job WHERE again IS NOT NULL") == 1);
    touch(&site, "go");
    wait_for_runs(&site);
    site.tick().exits(0);
    assert_eq!(attempts(&site, "reindex"), 2);
    let answer = waiting.end().exits(0).json();
    assert_eq!((&answer["state"], &answer["path"]), (&"ready".into(), &serde_json::Value::Null));
}

#[test]
fn whoever_waits_for_a_task_that_is_cancelled_is_told_that_it_is_gone() {
    let site = site(WAITING);
    set_mode(&site, "reindex", "paused");
    let waiting = Beside::start(&mut site.command(&["request", "reindex", "--wait", "1min"]));
    wait_until("it is queued", || site.count("SELECT count(*) FROM job") == 1);
    site.database().execute("DELETE FROM job", []).unwrap();
    waiting.end().exits(66).stdout("absent\n");
}

/// The run of a task that is cancelled is still ending when somebody asks for the task again.
#[test]
fn a_task_that_is_asked_for_while_its_cancelled_run_is_ending_runs_once_more() {
    let script = "echo run >>../../../runs; trap '' TERM; until [ -e ../../../go ]; do sleep 0.02; done";
    let site = site(script).replacing("output = \"none\"\n", "output = \"none\"\nkill_after = \"1h\"\n");
    started(&site);
    site.run(&["jobs", "cancel", "1"]).exits(0);
    request(&site, "reindex").exits(75).stdout("started ?\n");
    touch(&site, "go");
    wait_for_runs(&site);
    site.tick().exits(0).stderr("");
    assert_eq!(lines(&site, "runs").len(), 2);
    assert_eq!(site.count("SELECT count(*) FROM job"), 0);
}
