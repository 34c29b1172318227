//! The cases of docs/runbook.md are made to happen: `status`, its page and `check` point at the cause, the remedy is the
//! one that stands there, and nothing that can be told is missing from it.

use std::{fs, path::Path};

use crate::support::{
    admin::site_with,
    site::{Done, Site, wait_until},
    status_site::see,
    together::Paused,
};

const RUNBOOK: &str = include_str!("../../docs/runbook.md");

fn well(site: &Site) {
    site.tick();
    site.run(&["status"]).exits(0).says("well\n");
}

/// Both name the cause; the state directory is still sound, so `check` only warns.
#[track_caller]
fn both_say(site: &Site, exit: i32, cause: &str) {
    site.run(&["status"]).exits(exit).says(cause);
    page_says(site, cause);
    site.run(&["check"]).exits(0).says("warning: ").says(cause);
}

/// The status page as well.
#[track_caller]
fn page_says(site: &Site, cause: &str) {
    see(site, "anna", "").is(200).says(&cause.replace('\'', "&#x27;"));
}

#[test]
fn cron_has_stopped() {
    let site = Site::new().create();
    site.tick();
    let sql = "UPDATE meta SET tick_at = tick_at - 840000, tick_boot_id = 'an earlier one'";
    let quiet = |seconds: i64| {
        let sql = sql.replace("840000", &(seconds * 1000).to_string());
        site.database().execute(&sql, []).unwrap();
    };
    quiet(200);
    site.run(&["status"]).exits(1).says("warning: no tick has run for 3m");
    assert!(RUNBOOK.contains("a warning after 3 minutes without a tick") && RUNBOOK.contains("critical after 10."));
    quiet(640);
    site.run(&["status"]).exits(2).says("critical: no tick has run for 14m; is the crontab of the cron user installed");
    page_says(&site, "no tick has run for 14m; is the crontab of the cron user installed");
    site.run(&["check"]).exits(0).says("warning: the last tick ran 14m ago; is `pressroom tick` in the crontab of");
    site.ask("Emma").exits(75).warns("no tick has run for 14 minutes");
    well(&site);
    site.ask("Emma").exits(0);
}

#[test]
fn the_disk_is_full() {
    let head =
        |least: &str| format!("state_dir = \"s\"\n[cache]\nmin_free = \"{least}\"\n[host]\nmin_free_memory = \"0B\"\n");
    let site = Site::new().create();
    site.ask("Emma");
    site.tick();
    let site = site.head(&head("900PB"));
    site.tick().exits(0).stderr("");
    site.run(&["status"]).exits(2).says("less than min_free (900 PB): nothing is started; free some space");
    page_says(&site, "less than min_free (900 PB): nothing is started; free some space");
    site.run(&["check"]).exits(0).says("are free below").says("free some space or lower min_free");
    site.ask("Emma").exits(0);
    site.ask("Nana").exits(69).says("unavailable the server is low on disk space");
    let site = site.head(&head("0B"));
    well(&site);
}

#[test]
fn an_exporter_is_missing() {
    let site = Site::new().exporter_with("", "max_attempts = 1\nbreaker = { failures = 1, pause = \"1ms\" }").create();
    let config = fs::read_to_string(site.config()).unwrap();
    fs::write(site.config(), config.replace("/bin/sh", "/opt/export-book")).unwrap();
    site.ask("Emma");
    site.tick();
    site.mailed().warns("job 1 (epub/Emma.epub) failed: spawn, /opt/export-book");
    site.run(&["status"]).exits(1).says("exporter epub fails on every file").says("could not be started");
    page_says(&site, "exporter epub fails on every file");
    site.run(&["check"]).exits(78).warns("exporter epub: the program /opt/export-book does not exist");
    let site = site.exporter_with(r#"echo whole >"$1""#, "max_attempts = 1");
    site.run(&["try", "epub", "title=Emma", "--allow-root"]).exits(0);
    site.run(&["jobs", "retry", "--exporter", "epub", "--status", "failed", "--yes"]).exits(0);
    site.tick();
    site.ask("Emma").exits(0);
}

#[test]
fn a_stuck_process_has_locked_the_database() {
    let site = Site::new().create();
    site.tick();
    let stuck = Paused::at(&site, "request-before-commit", &["request", "epub", "title=Stuck"]);
    let cause =
        format!("process {} (pressroom) holds the database's write lock and does not let go; end it", stuck.pid());
    both_say(&site, 2, &cause);
    let mut other = site.command(&["request", "epub", "title=Emma"]);
    Done::of(other.env("PRESSROOM_TEST_BUSY", "200")).exits(69).stdout("unavailable the database is busy\n");
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(stuck.pid().cast_signed()), nix::sys::signal::SIGKILL).unwrap();
    drop(stuck);
    well(&site);
    assert_eq!(site.count("SELECT count(*) FROM job"), 0, "a transaction that was cut off is rolled back");
    site.ask("Emma").exits(75);
}

#[test]
fn a_job_hangs() {
    let site =
        Site::new().exporter(r#"trap "" TERM; echo busy; touch ../../../hangs; while :; do sleep 1; done"#).create();
    site.ask("Emma");
    site.brief_tick();
    wait_until("it hangs", || site.path("hangs").exists());
    site.run(&["status"]).exits(0).says("job 1 (epub/Emma.epub) for");
    page_says(&site, "job 1 (epub/Emma.epub) for");
    site.run(&["jobs", "list", "--status", "started"]).exits(0).says("epub/Emma.epub");
    wait_until("the log is there", || site.run(&["jobs", "log", "1"]).out().contains("busy"));
    site.run(&["jobs", "cancel", "1"]).exits(0);
    wait_until("it is gone", || site.count("SELECT count(*) FROM job") == 0);
    well(&site);
    // Left to itself it is ended by its time-out.
    let site = site.exporter_with(
        r#"trap "" TERM; while :; do sleep 1; done"#,
        "timeout = \"300ms\"\nkill_after = \"100ms\"\nmax_attempts = 1",
    );
    site.ask("Nana");
    site.tick();
    site.ask("Nana").exits(70).says("failed_timeout");
    site.mailed().warns("failed: timeout");
}

#[test]
fn everything_that_runs_is_ended_by_pausing_first_and_cancelling_then() {
    let site = Site::new().exporter("touch ../../../started; while :; do sleep 1; done");
    let site = site.more("[queue.default]\nmax_running = 1\n").create();
    site.ask("Emma");
    site.ask("Nana");
    site.brief_tick();
    wait_until("it has started", || site.path("started").exists());
    site.run(&["queues", "pause", "default"]).exits(0);
    site.run(&["jobs", "cancel", "--status", "started", "--yes"]).exits(0);
    wait_until("it is gone", || site.count("SELECT count(*) FROM job") == 1);
    site.brief_tick();
    assert_eq!(site.count("SELECT count(*) FROM job WHERE status = 1"), 0, "the next one waits");
    site.run(&["queues", "resume", "default"]).exits(0);
    site.brief_tick();
    assert_eq!(site.count("SELECT count(*) FROM job WHERE status = 1"), 1);
    site.run(&["jobs", "cancel", "--status", "started", "--yes"]).exits(0);
    wait_until("it is gone, too", || site.count("SELECT count(*) FROM job") == 0);
}

#[test]
fn one_client_floods_the_queue() {
    let site = site_with("", "[queue.default]\nmax_queued = 6\nmax_per_client = 4\n");
    site.tick();
    let ask = |client: &str, title: &str| site.run(&["request", "epub", &format!("title={title}"), "--client", client]);
    for number in 0..4 {
        ask("203.0.113.7", &format!("flood{number}")).exits(75);
    }
    ask("203.0.113.7", "flood4").exits(69).says("limited ");
    ask("198.51.100.1", "Emma").exits(75).stdout("queued 2\n"); // behind the flood's first, before all the rest
    site.run(&["status"]).exits(0);
    ask("198.51.100.2", "Nana").exits(75);
    both_say(
        &site,
        1,
        "queue default is full with 6 jobs: requests are turned away; `pressroom jobs list --queue default`",
    );
    let jobs =
        site.run(&["jobs", "list", "--queue", "default", "--status", "queued", "--format", "json"]).exits(0).out();
    let flooding = site.text("SELECT client FROM job WHERE filename = 'epub/flood0.epub'");
    assert_eq!((jobs.matches(&flooding).count(), jobs.matches("203.0.113.7").count()), (4, 0));
    site.run(&["jobs", "cancel", "--client", "203.0.113.7", "--status", "queued", "--yes"]).exits(0);
    assert_eq!(site.count("SELECT count(*) FROM job"), 2);
    well(&site);
}

#[test]
fn the_clock_is_an_hour_off() {
    let site = Site::new().create();
    site.ask("Emma");
    site.tick();
    site.clock(3600.0);
    site.run(&["status"]).exits(2).says("the clock was set since the last tick; check the time service");
    page_says(&site, "the clock was set since the last tick; check the time service");
    site.run(&["check"]).exits(0).says("warning: the clock was set since the last tick");
    site.tick().exits(0).stderr("");
    assert!(site.cached("epub/Emma.epub").exists(), "nothing is expired in the first round");
    site.clock(0.0);
    both_say(&site, 1, "ahead: the clock was set back; check the time service");
    site.tick().exits(0).stderr("");
    well(&site);
}

/// The texts that a module has between two marks, each up to the end of the literal.
fn literals(text: &str, before: &str) -> Vec<String> {
    text.split(before).skip(1).filter_map(|rest| rest.split('"').next()).map(str::to_owned).collect()
}

fn sources(below: &str) -> String {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(below);
    let paths = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_file());
    paths
        .map(|path| fs::read_to_string(path).unwrap())
        .collect::<Vec<_>>()
        .join("\n")
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
}

#[test]
fn every_alarm_of_status_has_its_section() {
    let findings = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/src/admin/status/findings.rs")).unwrap();
    let is_code = |word: &&str| !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase() || c == '_');
    let after = |name: &str| literals(&findings.split_whitespace().collect::<String>(), &format!("{name}(\""));
    let mut codes = [after("warning"), after("critical")].concat();
    codes.extend(["spawn".to_owned(), "lost_runs".to_owned()]); // which are chosen by a condition
    assert!(codes.len() >= 15, "{codes:?}");
    let headings: Vec<_> = RUNBOOK.lines().filter(|line| line.starts_with("### ")).collect();
    for code in codes.iter().map(String::as_str).filter(is_code) {
        assert!(headings.iter().any(|line| line.contains(&format!("`{code}`"))), "no section about {code}");
    }
}

/// The longest run of words of each message that does not change.
#[test]
fn every_message_of_tick_is_explained() {
    let all = ["tick", "cache"].map(sources).join(" ");
    let marks = ["problem(format!(\"", "problems.push(format!( \"", "problems.push(format!(\""];
    let messages: Vec<_> = marks.iter().flat_map(|mark| literals(&all, mark)).collect();
    assert!(messages.len() >= 10, "{messages:?}");
    let fixed = |message: &str| {
        let parts = message.split(['{', '}']).step_by(2).map(|part| part.trim_matches([' ', ':', '(', ')']).to_owned());
        parts.max_by_key(String::len).unwrap_or_default()
    };
    let missing: Vec<_> = messages.iter().filter(|message| !RUNBOOK.contains(&fixed(message))).collect();
    assert!(missing.is_empty(), "the runbook does not explain {missing:#?}");
}
