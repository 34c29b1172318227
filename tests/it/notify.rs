//! `notify.command`: one JSON object on its stdin, and never a tick that hangs.

use std::{fs, os::unix::fs::PermissionsExt};

use serde_json::Value;

use crate::support::{
    site::{Site, wait_until},
    strays::nobody_is_left,
    together::{AFTER_ITS_ROUND, Beside, end_unheard},
};

/// A site whose notify command is this script, and whose bad books fail.
fn site(script: &str, on: &str) -> Site {
    let head = "state_dir = \"s\"\n[cache]\nmin_free = \"0B\"\n[host]\nmin_free_memory = \"0B\"\nmax_running = 50\n";
    let more = format!("[queue.default]\nmax_running = 50\n[notify]\ncommand = [\"./notify\"]\n{on}\n");
    let case = "case $2 in bad*) yes élan | head -c 9000; exit 3;; *) echo x >\"$1\";; esac";
    let site = Site::new().head(head).exporter(&format!("{AFTER_ITS_ROUND}{case}")).more(&more);
    fs::write(site.path("notify"), format!("#!/bin/sh\ncd \"$(dirname \"$0\")\"\n{script}\n")).unwrap();
    fs::set_permissions(site.path("notify"), fs::Permissions::from_mode(0o755)).unwrap();
    site.create()
}

const KEEP: &str = "cat >>told";

/// What the command was told, one JSON object a line.
fn told(site: &Site) -> Vec<Value> {
    let text = fs::read_to_string(site.path("told")).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).expect(line)).collect()
}

#[test]
fn a_failure_is_told_once_as_an_object() {
    let site = site(KEEP, "");
    end_unheard(&site, "bad", 1);
    site.tick().exits(0).warns("failed: exit");
    site.tick().exits(0).stderr("");
    let [told] = &told(&site)[..] else { panic!("one message") };
    assert_eq!(
        (&told["event"], &told["filename"], &told["job"]),
        (&"failed".into(), &"epub/bad0.epub".into(), &1.into())
    );
    assert_eq!((&told["result"], &told["exit_code"], &told["attempts"]), (&"exit".into(), &3.into(), &1.into()));
    assert!(told["log_tail"].as_str().unwrap().ends_with("élan\n"));
    assert_eq!(told["attempt"], site.text("SELECT id FROM attempt"));
    assert_eq!((&told["params"]["title"], &told["queue"]), (&"bad0".into(), &"default".into()));
    assert_eq!(told.get("client"), None, "a hash is nobody's name");
}

/// Keeps what it is told, but fails as long as there is a file of that name.
const SOMETIMES: &str = "cat >part\n[ ! -e broken ] || exit 3\ncat part >>told";

#[test]
fn what_the_command_does_not_take_is_told_again_later() {
    let site = site(SOMETIMES, "on = [\"ok\", \"failed\"]");
    fs::write(site.path("broken"), "").unwrap();
    end_unheard(&site, "bad", 2);
    site.tick().exits(0).warns("notify.command: exit status: 3; it is tried again in 1m");
    site.tick().exits(0).stderr("");
    site.run(&["status"]).exits(1).says("notify.command fails: 2 notices to be handed over");
    site.clock(50.0);
    end_unheard(&site, "good", 1); // news, which do not wait for the others
    site.tick().exits(0).warns("notify.command: exit status: 3; it is tried again in 1m");
    site.clock(61.0);
    site.tick().exits(0).warns("it is tried again in 2m");
    fs::remove_file(site.path("broken")).unwrap();
    site.clock(122.0);
    site.tick().exits(0).stderr("");
    assert_eq!(told(&site).len(), 1, "the success; the failures wait for two minutes");
    site.clock(182.0);
    site.tick().exits(0).stderr("");
    site.tick().exits(0).stderr("");
    let told = told(&site);
    assert_eq!((told.len(), &told[0]["event"], &told[1]["count"]), (2, &"ok".into(), &2.into()));
    assert_eq!(site.count("SELECT count(*) FROM notice"), 0);
}

#[test]
fn what_the_command_does_not_take_within_a_day_is_given_up_and_counted() {
    let site = site("exit 3", "");
    end_unheard(&site, "bad", 1);
    site.tick().exits(0).warns("exit status: 3");
    site.clock(90_000.0);
    site.tick().exits(0); // a calm round
    site.clock(94_000.0);
    site.tick().exits(0);
    site.tick().exits(0).warns("notify.command has not taken what it was told about 1 job: given up");
    site.tick().exits(0).stderr("");
    site.run(&["status", "--format", "prometheus"]).says("pressroom_notices_lost_total 1\n");
}

#[test]
fn a_failure_is_told_even_if_a_reader_has_queued_the_job_again_meanwhile() {
    let site = site(KEEP, "");
    end_unheard(&site, "bad", 1);
    site.run(&["queues", "pause", "default"]).exits(0);
    site.run(&["jobs", "retry", "epub/bad0.epub"]).exits(0);
    let tick = site.brief_tick();
    tick.exits(0).warns("job 1 (epub/bad0.epub) failed: exit, exit status 3, attempt 1 of it, log/");
    assert_eq!(tick.err().lines().count(), 1);
    site.brief_tick().exits(0).stderr("");
    let [told] = &told(&site)[..] else { panic!("one message") };
    assert_eq!((&told["result"], &told["exit_code"], &told["job"]), (&"exit".into(), &3.into(), &1.into()));
}

#[test]
fn where_nobody_is_notified_such_a_failure_is_still_said() {
    let site = Site::new().exporter(&format!("{AFTER_ITS_ROUND}exit 3")).create();
    end_unheard(&site, "bad", 1);
    site.run(&["queues", "pause", "default"]).exits(0);
    site.run(&["jobs", "retry", "epub/bad0.epub"]).exits(0);
    site.brief_tick().exits(0).warns("job 1 (epub/bad0.epub) failed: exit, exit status 3");
    site.brief_tick().exits(0).stderr("");
    assert_eq!(site.count("SELECT count(*) FROM notice"), 0);
}

#[test]
fn plain_names_of_clients_are_told() {
    let head =
        "state_dir = \"s\"\nclient_names = \"plain\"\n[cache]\nmin_free = \"0B\"\n[host]\nmin_free_memory = \"0B\"\n";
    let more = "[notify]\ncommand = [\"/bin/sh\", \"-c\", \"cat >>\\\"$0\\\"\", \"TOLD\"]\n";
    let site = Site::new().head(head).exporter("exit 3").more(more);
    let text = fs::read_to_string(site.config()).unwrap().replace("TOLD", site.path("told").to_str().unwrap());
    fs::write(site.config(), text).unwrap();
    let site = site.create();
    site.run(&["request", "epub", "title=Emma", "--client", "ann"]).exits(75);
    site.tick().exits(0);
    site.mailed().exits(0).warns("failed: exit");
    assert_eq!(told(&site)[0]["client"], "ann");
}

#[test]
fn a_burst_is_told_in_summaries_and_nothing_of_it_is_forgotten() {
    let site = site(KEEP, "");
    end_unheard(&site, "bad", 23);
    site.tick().exits(0).warns("3 more jobs have failed");
    site.tick().exits(0).stderr("");
    let [first, second] = &told(&site)[..] else { panic!("one message a round") };
    assert_eq!((&first["event"], &first["count"]), (&"failed".into(), &23.into()));
    assert_eq!((first["jobs"].as_array().unwrap().len(), second["jobs"].as_array().unwrap().len()), (20, 3));
    assert_eq!(second["count"], 3);
    let jobs = [first, second].map(|told| told["jobs"].as_array().unwrap().clone()).concat();
    let names: std::collections::BTreeSet<_> = jobs.iter().map(|job| job["filename"].as_str().unwrap()).collect();
    assert_eq!(names.len(), 23, "each is told once, and none is forgotten");
    site.tick().exits(0).stderr("");
    assert_eq!(told(&site).len(), 2);
}

#[test]
fn successes_are_told_only_where_they_are_wanted_and_once() {
    let site = site(KEEP, "on = [\"ok\"]");
    end_unheard(&site, "good", 1);
    site.tick().exits(0).stderr("");
    end_unheard(&site, "bad", 1);
    site.tick().exits(0).warns("failed: exit");
    end_unheard(&site, "fine", 3);
    site.tick().exits(0).stderr("");
    site.tick().exits(0).stderr("");
    let told = told(&site);
    assert_eq!(told.len(), 2, "{told:?}");
    assert_eq!((&told[0]["event"], &told[0]["filename"]), (&"ok".into(), &"epub/good0.epub".into()));
    assert_eq!((&told[0]["size"], &told[0]["attempts"]), (&2.into(), &1.into()));
    assert_eq!((&told[1]["event"], &told[1]["count"]), (&"ok".into(), &3.into()));
}

#[test]
fn where_nobody_wants_to_hear_of_successes_none_are_remembered() {
    let quiet = site(KEEP, "");
    end_unheard(&quiet, "good", 3);
    quiet.tick().exits(0).stderr("");
    assert_eq!((quiet.count("SELECT count(*) FROM news"), told(&quiet).len()), (0, 0));
    let wanted = fs::read_to_string(quiet.config()).unwrap() + "on = [\"ok\", \"failed\"]\n";
    fs::write(quiet.config(), wanted).unwrap();
    quiet.tick().exits(0).stderr("");
    assert_eq!(told(&quiet).len(), 0, "no old news");
}

#[test]
fn a_lingering_tick_tells_of_a_success_at_once() {
    let site = site(KEEP, "on = [\"ok\"]");
    let tick = Beside::start(&mut site.command(&["tick", "--allow-root", "--for", "10m"]));
    fs::write(site.path("go"), "").unwrap();
    site.ask("good").exits(75);
    wait_until("it is told", || told(&site).len() == 1);
    tick.stop().exits(0).stderr("");
}

#[test]
fn one_that_hangs_is_ended_with_its_children_and_the_tick_goes_on() {
    let site = site("sleep 1000 &\nsleep 1001", "");
    end_unheard(&site, "bad", 1);
    site.ask("good").exits(75);
    site.tick().exits(0).warns("notify.command: it took more than 10 s and was ended");
    site.ask("good").exits(0);
    nobody_is_left(&site);
}

#[test]
fn one_that_reads_nothing_fails_or_is_missing_harms_nobody() {
    let reads_nothing = site("exec <&-; exit 0", "");
    end_unheard(&reads_nothing, "bad", 20);
    let tick = reads_nothing.tick();
    tick.exits(0).warns("failed: exit");
    assert!(!tick.err().contains("notify"), "{}", tick.err());

    let fails = site("exit 3", "");
    end_unheard(&fails, "bad", 1);
    fails.tick().exits(0).warns("notify.command: exit status: 3");
    fails.tick().exits(0).stderr("");

    let missing = site(KEEP, "");
    end_unheard(&missing, "bad", 1);
    fs::remove_file(missing.path("notify")).unwrap();
    missing.tick().exits(0).warns("notify.command: No such file");
}
