//! The activity log: every change of state as one JSON object a line.

use std::fs;

use serde_json::Value;

use crate::support::site::Site;

fn lines(site: &Site) -> Vec<Value> {
    let text = fs::read_to_string(site.path("s/log/activity.log")).unwrap_or_default();
    let mut lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
    // A run may write before the tick that has launched it.
    lines.sort_by_key(|line| line["at"].as_str().expect("a time").to_owned());
    lines
}

fn events(site: &Site) -> Vec<String> {
    lines(site).iter().map(|line| line["event"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn an_export_is_told_from_its_queueing_to_its_publication() {
    let site = Site::new().create();
    site.ask("a").exits(75);
    site.tick().exits(0);
    assert_eq!(events(&site), ["queued", "started", "ended", "published"]);
    let [queued, started, ended, published] = &lines(&site)[..] else { panic!("four lines") };
    assert!(queued["submitted"].as_str() <= queued["at"].as_str());
    for line in [started, ended, published] {
        assert_eq!((&line["job"], &line["filename"]), (&1.into(), &"epub/a.epub".into()));
        assert_eq!(line["attempt"], site.text("SELECT id FROM attempt"));
    }
    assert_eq!((&ended["result"], &ended["output_size"]), (&"ok".into(), &2.into()));
    assert!(ended["peak_memory"].is_u64() && ended["cpu_used"].is_f64() && ended["duration"].is_f64());
    site.clock(780.0);
    site.tick().exits(0);
    site.tick().exits(0);
    assert_eq!(events(&site).pop().unwrap(), "pruned");
    assert_eq!(lines(&site).pop().unwrap()["filename"], "epub/a.epub");
}

#[test]
fn a_retry_and_a_failure_are_told_with_their_result() {
    let site = Site::new().exporter_with("kill -SEGV $$", "retry_delay = \"1ms\"").create();
    site.ask("a").exits(75);
    for _ in 0..4 {
        site.tick().exits(0);
    }
    let told = ["queued", "started", "ended", "requeued", "started", "ended", "failed"];
    assert_eq!(events(&site), told);
    let (requeued, failed) = (&lines(&site)[3], &lines(&site)[6]);
    assert_eq!((&requeued["result"], &requeued["attempts"]), (&"signal".into(), &1.into()));
    assert_eq!((&failed["result"], &failed["status"]), (&"signal".into(), &"failed_unknown".into()));
}

#[test]
fn a_breaker_that_opens_and_closes_is_told() {
    let breaker = "breaker = { failures = 1, pause = \"1s\" }\nmax_attempts = 1\nfailure_ttl = \"1ms\"";
    let site = Site::new().exporter_with("case $2 in bad) exit 75;; *) echo x >$1;; esac", breaker).create();
    site.ask("bad").exits(75);
    site.tick().exits(0);
    assert!(events(&site).contains(&"breaker_opened".to_owned()));
    site.clock(2.0);
    site.ask("good").exits(75);
    site.tick().exits(0);
    assert_eq!(events(&site).pop().unwrap(), "breaker_closed");
    assert_eq!(lines(&site).pop().unwrap()["exporter"], "epub");
}

#[test]
fn a_full_log_is_rotated_and_one_old_one_is_kept() {
    let site = Site::new().more("[log]\nactivity_max = \"1kB\"").create();
    for title in ["a", "b", "c", "d"] {
        site.ask(title).exits(75);
        site.tick().exits(0);
    }
    let log = site.names("s/log").into_iter().filter(|name| name.starts_with("activity")).collect::<Vec<_>>();
    assert_eq!(log, ["activity.log", "activity.log.1"]);
    for name in log {
        let text = fs::read_to_string(site.path("s/log").join(name)).unwrap();
        assert!(text.len() <= 1200 && text.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()), "{text}");
    }
}

#[test]
fn none_switches_it_off() {
    let site = Site::new().more("[log]\nactivity = \"none\"").create();
    site.ask("a").exits(75);
    site.tick().exits(0);
    site.ask("a").exits(0);
    assert!(!site.path("s/log/activity.log").exists());
}

#[test]
fn a_log_that_cannot_be_written_is_reported_and_stops_nothing() {
    let site = Site::new().create();
    fs::create_dir(site.path("s/log/activity.log")).unwrap();
    site.ask("a").exits(75);
    site.tick().exits(0).warns("cannot write the activity log");
    site.ask("a").exits(0);
}

#[test]
fn what_was_undone_is_not_told() {
    let site = Site::new().create();
    site.ask("a").exits(75);
    site.run_at("tick-before-commit=kill", &["tick", "--allow-root"]).dies_of(9);
    assert!(events(&site).is_empty());
}

#[test]
fn a_verbose_tick_shows_launches_and_endings_and_no_run_writes_into_the_log_of_its_exporter() {
    let site = Site::new().exporter("echo from the exporter; echo x >$1").create();
    site.ask("a").exits(75);
    site.run(&["-v", "tick", "--allow-root", "--wait"]).exits(0).warns("launched");
    site.run(&["-v", "tick", "--allow-root"]).exits(0).warns("ended job=1");
    site.ask("b").exits(75);
    site.command(&["tick", "--allow-root", "--wait"]).env("PRESSROOM_LOG", "trace").status().unwrap();
    let log = site.text("SELECT id FROM attempt WHERE filename = 'epub/b.epub'");
    assert_eq!(fs::read_to_string(site.path(&format!("s/log/{log}.log"))).unwrap(), "from the exporter\n");
}

#[test]
fn what_an_administrator_does_is_told_with_who_did_it() {
    let site = Site::new().create();
    site.ask("a").exits(75);
    let act =
        |words: &[&str]| site.command(words).env("LOGNAME", "pressroom").env("SUDO_USER", "anna").status().unwrap();
    assert!(act(&["queues", "pause", "default"]).success());
    assert!(act(&["jobs", "cancel", "epub/a.epub"]).success());
    assert!(!act(&["jobs", "cancel", "1"]).success());
    site.tick().exits(0);
    site.tick().exits(0);
    let actions: Vec<_> = lines(&site).into_iter().filter(|line| line["event"] == "action").collect();
    let told = |line: &Value| (line["by"].as_str().unwrap().to_owned(), line["what"].as_str().unwrap().to_owned());
    let [paused, cancelled] = &actions[..] else { panic!("two actions, each told once: {actions:?}") };
    assert_eq!(told(paused), ("anna as pressroom".into(), "queue default is paused".into()));
    assert_eq!(told(cancelled), ("anna as pressroom".into(), "cancelled job 1 (epub/a.epub)".into()));
}

#[test]
fn a_schedule_is_told_when_it_is_due_and_when_it_is_skipped() {
    let clean = "[exporter.clean]\noutput = \"none\"\ncommand = [\"/bin/true\"]\n[schedule.often]\nexporter = \"clean\"\nevery = \"1m\"";
    let site = Site::new().more(clean).create();
    site.run(&["queues", "pause", "clean"]).exits(0);
    site.tick().exits(0);
    site.clock(61.0);
    site.tick().exits(0);
    let told: Vec<_> = lines(&site).into_iter().filter(|line| line["schedule"] == "often").collect();
    let [due, skipped] = &told[..] else { panic!("twice: {told:?}") };
    assert_eq!((&due["event"], &due["filename"]), (&"schedule_due".into(), &"clean/clean".into()));
    assert_eq!(skipped["event"], "schedule_skipped");
    assert!(skipped["reason"].as_str().unwrap().contains("queued"));
}

#[test]
fn a_dropped_job_is_told_with_its_reason() {
    let site = Site::new().exporter_with("echo x >$1", "abandon_after = \"5m\"").create();
    site.ask("a").exits(75);
    site.run(&["queues", "pause", "default"]).exits(0);
    site.tick().exits(0);
    site.run(&["queues", "resume", "default"]).exits(0);
    site.database().execute("UPDATE job SET last_asked = last_asked - 86400000, queued_since = queued_since - 86400000, run_after = run_after + 3600000, waits = 1", []).unwrap();
    site.recount();
    site.tick().exits(0);
    let last = lines(&site).into_iter().find(|line| line["event"] == "dropped").expect("a line");
    assert!(last["reason"].as_str().unwrap().contains("abandon_after"), "{last}");
}
