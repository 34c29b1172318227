//! `pressroom status`: its exit code, its reasons, and that looking changes nothing.

use std::{
    io::Write,
    process::{Command, Stdio},
};

use crate::support::{
    admin::{is_alive, site, site_with},
    site::Site,
};

/// The codes of what was found wrong.
#[track_caller]
fn findings(site: &Site, exit: i32) -> Vec<String> {
    let done = site.run(&["status", "--format", "json"]);
    let report = done.exits(exit).json();
    report["findings"].as_array().unwrap().iter().map(|one| one["code"].as_str().unwrap().to_owned()).collect()
}

fn ticked() -> Site {
    let site = site();
    site.tick();
    site
}

#[test]
fn a_site_that_nobody_has_ever_ticked_is_critical() {
    let site = site();
    site.run(&["status"]).exits(2).says("critical: no tick has ever run").says("cron");
    assert_eq!(findings(&site, 2), ["never_ticked"]);
}

#[test]
fn a_site_that_ticks_is_well() {
    let site = ticked();
    site.run(&["status"]).exits(0).stderr("").says("well\n");
    assert_eq!(findings(&site, 0), [""; 0]);
}

#[test]
fn without_a_tick_for_long_it_is_a_warning_and_then_critical() {
    let site = ticked();
    let ticked_ago = |minutes: i64| {
        let sql = "UPDATE meta SET tick_at = tick_at - ?1 * 60000, tick_boot_id = 'an earlier one'";
        site.database().execute(sql, [minutes]).unwrap();
    };
    ticked_ago(4);
    site.run(&["status"]).exits(1).says("warning: no tick has run for 4m");
    assert_eq!(findings(&site, 1), ["no_tick"]);
    ticked_ago(10);
    site.run(&["status"]).exits(2).says("critical: no tick has run for 14m");
}

#[test]
fn a_clock_that_was_set_is_told() {
    let site = ticked();
    site.clock(150.0);
    assert_eq!(findings(&site, 1), ["clock"]);
    site.clock(-3600.0);
    site.run(&["status"]).exits(1).says("the clock was set back");
}

#[test]
fn a_full_queue_is_a_warning_that_tells_where_to_look() {
    let site = site_with("", "[queue.default]\nmax_queued = 2\n");
    site.tick();
    site.ask_for(&["Emma"]);
    assert_eq!(findings(&site, 0), [""; 0]);
    site.ask_for(&["Nana"]);
    site.run(&["status"]).exits(1).says("queue default is full with 2 jobs").says("jobs list --queue default");
}

#[test]
fn a_low_disk_is_critical_and_holds_the_rest_back() {
    let site = Site::new().head("state_dir = \"s\"\n[cache]\nmin_free = \"900PB\"\n").create();
    site.tick();
    site.run(&["status"]).exits(2).says("less than min_free").says("held back      cache: less disk space");
    assert_eq!(findings(&site, 2), ["disk_low"]);
}

#[test]
fn paused_and_draining_queues_and_broken_exporters_are_warnings() {
    let site = site_with("max_attempts = 1\nbreaker = { failures = 1, pause = \"5m\" }", "");
    site.ask("Emma");
    site.run(&["queues", "pause", "default"]);
    site.tick();
    assert_eq!(findings(&site, 1), ["queue_paused"]);
    site.run(&["queues", "resume", "default"]);
    let config = std::fs::read_to_string(site.config()).unwrap();
    std::fs::write(site.config(), config.replace("/bin/sh", "/bin/nosuchshell")).unwrap();
    site.tick();
    assert_eq!(findings(&site, 1), ["breaker", "spawn"]);
    site.run(&["status"]).says("exporter epub fails on every file").says("spawn 1, of 1 attempt that ended");
}

#[test]
fn what_runs_and_what_waits_is_shown() {
    let site = site_with("", "[queue.default]\nmax_running = 1\n");
    let child = site.start_slow("Slow");
    site.ask("Emma");
    site.brief_tick();
    let report = site.run(&["status", "--format", "json"]).exits(0).json();
    assert_eq!(report["running"], 1);
    assert_eq!(report["started"][0]["run"], "alive");
    assert_eq!(report["oldest_queued"]["job"]["filename"], "epub/Emma.epub");
    assert_eq!(report["held_back"][0], "queue default: 1 of 1 are running");
    site.run(&["status"]).exits(0).says("job 1 (epub/Slow.epub) for").says("job 2 (epub/Emma.epub) for");
    site.run(&["jobs", "cancel", "1"]).exits(0);
    crate::support::site::wait_until("the slow one is gone", || !is_alive(child));
}

#[test]
fn a_process_that_sits_on_the_database_is_named() {
    let site = ticked();
    let database = site.database();
    database.execute_batch("BEGIN IMMEDIATE").unwrap();
    let stuck = site.run(&["status"]);
    stuck.exits(2).says(&format!("process {} (", std::process::id())).says("holds the database's write lock");
    database.execute_batch("ROLLBACK").unwrap();
    site.run(&["status"]).exits(0);
}

#[test]
fn without_a_site_or_a_configuration_it_is_critical_in_every_form() {
    let site = Site::new();
    site.run(&["status"]).exits(2).says("critical: there is no state directory").stderr("");
    assert_eq!(site.run(&["status", "--format", "json"]).exits(2).json()["state"], "critical");
    site.run(&["status", "--format", "prometheus"]).exits(2).says("pressroom_up 0\n");
    std::fs::write(site.config(), "colour = 1\n").unwrap();
    site.run(&["status"]).exits(2).says("unknown key \"colour\"");
}

#[test]
fn looking_changes_not_a_byte() {
    let site = ticked();
    site.ask("Emma");
    let state = |site: &Site| {
        let mut files = Vec::new();
        for dir in ["s", "s/queue", "s/work", "s/log", "s/cache", "s/cache/epub"] {
            for name in site.names(dir) {
                let path = site.path(dir).join(name);
                let about = std::fs::symlink_metadata(&path).unwrap();
                files.push((
                    path.clone(),
                    about.modified().unwrap(),
                    about.is_file().then(|| std::fs::read(&path).unwrap()),
                ));
            }
        }
        files
    };
    let before = state(&site);
    for words in [&["status"][..], &["jobs", "list"], &["jobs", "show", "1"], &["jobs", "history"], &["queues", "list"]]
    {
        site.run(words).exits(0);
    }
    assert!(state(&site) == before, "a look has changed something");
}

#[test]
fn a_look_needs_no_write_lock() {
    let site = ticked();
    site.ask("Emma");
    let database = site.database();
    database.execute_batch("BEGIN IMMEDIATE").unwrap();
    for words in [&["jobs", "list"][..], &["jobs", "show", "1"], &["jobs", "history"], &["queues", "list"]] {
        site.run(words).exits(0);
    }
    database.execute_batch("ROLLBACK").unwrap();
}

#[test]
fn attempts_are_counted_in_histograms_that_only_grow() {
    let site = site_with("max_attempts = 1", "");
    site.ask_for(&["Emma", "Nana", "Bad"]);
    site.tick();
    site.database().execute("DELETE FROM attempt", []).unwrap();
    let metrics = site.run(&["status", "--format", "prometheus"]);
    metrics.says("pressroom_attempts_total{exporter=\"epub\",result=\"ok\"} 2\n");
    metrics.says("pressroom_attempts_total{exporter=\"epub\",result=\"exit\"} 1\n");
    metrics.says("pressroom_run_seconds_bucket{exporter=\"epub\",le=\"+Inf\"} 3\n");
    metrics.says("pressroom_wait_seconds_count{exporter=\"epub\"} 3\n");
    metrics.says("pressroom_jobs{queue=\"default\",status=\"failed_unknown\"} 1\n");
}

#[test]
fn promtool_accepts_the_metrics_and_the_alert_rules() {
    let site = site_with("max_attempts = 1", "");
    site.ask_for(&["Emma", "Bad"]);
    site.tick();
    let metrics = site.run(&["status", "--format", "prometheus"]).exits(0).out();
    let promtool =
        Command::new("promtool").args(["check", "metrics"]).stdin(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let Ok(mut promtool) = promtool else {
        crate::support::outside::skipped("promtool_accepts_the_metrics_and_the_alert_rules", "there is no promtool");
        return;
    };
    promtool.stdin.take().unwrap().write_all(metrics.as_bytes()).unwrap();
    let done = promtool.wait_with_output().unwrap();
    assert!(done.status.success(), "{}\n{metrics}", String::from_utf8_lossy(&done.stderr));
    let rules = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/examples/prometheus/pressroom.rules.yml");
    let done = Command::new("promtool").args(["check", "rules", rules]).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}
