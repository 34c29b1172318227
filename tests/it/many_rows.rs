//! A tick, a request and a dry run with 200,000 rows in the queue, and a long history: little memory, and the right
//! answers.

use std::fs;

use crate::support::{
    classes::{NOTING, lines, request},
    site::Site,
    together::{Paused, TICK},
};

/// What a round may use beside the program itself, in KiB: with that it stays below 16 MB.
const MOST: u64 = 8 * 1024;

const ROWS: &str = r#"
    WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200000)
    INSERT INTO job (filename, exporter, params, queue, client, waits, rank, submitted, run_after, queued_since, last_asked)
    SELECT 'epub/b' || i || '.epub', 'epub', '{"title":"b' || i || '"}', 'default', 'client' || (i % 300),
           i % 10 = 0, ?1 / 600000 + i / 1000, ?1, ?1 + (i % 10 = 0) * i * 100, ?1, ?1 FROM n"#;

/// A hundred of them are ann's, and she asked for none of the last 100,000.
const ATTEMPTS: &str = r"
    WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100100)
    INSERT INTO attempt (id, job, filename, exporter, params, queue, client, number, submitted, started, counts_from,
                         limits, ended, result, duration)
    SELECT printf('%026d', i), i, filename, exporter, params, queue, iif(i <= 100, 'ann', 'bob'), 1, ended + i,
           ended + i, ended + i, limits, ended + i, 'ok', i
      FROM attempt, n";

/// Peak resident memory in KiB without the pages of the program file, which in a debug build are many.
fn peak(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("it is alive");
    let kib = |name: &str| -> u64 {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).expect("a line for it");
        line.trim().trim_end_matches(" kB").parse().expect("a number")
    };
    kib("VmHWM:") - kib("RssFile:")
}

fn full() -> Site {
    let rules = "[queue.default]\nmax_running = 2\nmax_queued = 1000000\nmax_per_client = 1000000\n";
    // The rows have their clients as they are.
    let head =
        "state_dir = \"s\"\nclient_names = \"plain\"\n[cache]\nmin_free = \"0B\"\n[host]\nmin_free_memory = \"0B\"\n";
    let site = Site::new().head(head).exporter_with(NOTING, "abandon_after = \"5m\"").more(rules).create();
    let now = jiff::Timestamp::now().as_millisecond();
    site.database().execute(ROWS, [now]).unwrap();
    site.recount();
    site
}

/// A round, stopped before its end; what it has used so far.
#[track_caller]
fn uses_little(site: &Site) {
    let tick = Paused::at(site, "tick-before-mark", &TICK);
    let used = peak(tick.pid());
    assert!(used < MOST, "a round took {used} KiB");
    tick.go_on().exits(0).stdout("").stderr("");
    for file in ["gate-tick-before-mark", "gate-tick-before-mark.reached"] {
        fs::remove_file(site.path(file)).unwrap();
    }
}

#[test]
fn two_hundred_thousand_queued_rows_cost_little_memory_and_change_no_answer() {
    let site = full();
    requests_find_their_place(&site);
    uses_little(&site);
    assert_eq!(lines(&site, "runs").len(), 2);
    assert!(lines(&site, "runs").contains(&"new2".to_owned()));

    site.clock(3.0 * 3600.0);
    uses_little(&site); // the clock has jumped: nothing is dropped yet
    let before = site.count("SELECT queued FROM queue");
    uses_little(&site); // now the round drops what nobody has asked about, in batches
    assert!(site.count("SELECT queued FROM queue") <= before - 500);
}

#[test]
fn a_look_back_that_has_an_end_says_so_when_there_is_more() {
    let site = Site::new().create();
    site.ask("Emma").exits(75);
    site.tick().exits(0).stderr("");
    site.database().execute(ATTEMPTS, []).unwrap();
    let history =
        |words: &str| site.run(&format!("jobs history --format json {words}").split_whitespace().collect::<Vec<_>>());
    let told = "only the newest 100000 attempts were looked at";
    history("--client ann").exits(0).stdout("").warns(told);
    history("--client ann --exporter epub").exits(0).stdout("").warns(told);
    history("--sort -duration --limit 1").exits(0).says(r#""job":100100"#).warns(told);
    history("--result exit epub/Emma.epub").exits(0).stdout("").warns(told);
    // Here the bound has hidden nothing.
    for words in ["", "--exporter epub --limit 3", "--client bob --limit 3", "--limit 3 epub/Emma.epub"] {
        assert!(history(words).exits(0).stderr("").out().lines().count() >= 3);
    }
    let until = jiff::Timestamp::from_millisecond(site.count("SELECT ended + 101 FROM attempt WHERE job = 1")).unwrap();
    let anns = history(&format!("--client ann --limit 0 --until {until}"));
    assert!(anns.exits(0).stderr("").out().lines().count() >= 100);
}

fn requests_find_their_place(site: &Site) {
    site.ask("b1").exits(75).stdout("queued 1\n");
    site.ask("b12").exits(75).stdout("queued 11\n");
    site.ask("b199999").exits(75).stdout("queued 1001\n");
    request(site, "epub title=new --client client7 --priority -10").exits(75).stdout("queued 1001\n");
    request(site, "epub title=new2 --client nobody --priority 10").exits(75).stdout("queued 1\n");
    assert_eq!(site.count("SELECT queued FROM queue"), 200_002);
    assert_eq!(site.count("SELECT pending FROM client WHERE client = 'client7'"), 668);
    let dry = site.run(&["tick", "--dry-run", "--allow-root"]);
    dry.exits(0).says("(epub/new2.epub)").says("(epub/b1.epub)");
}

/// All of them are woken by the round in which their time has come, in pieces that hold up nobody.
#[test]
fn many_jobs_that_come_due_at_one_moment_are_all_ready_after_one_round() {
    let site = Site::new().more("[queue.default]\nmax_running = 1\nmax_queued = 1000000\n").create();
    let now = jiff::Timestamp::now().as_millisecond();
    let rows = ROWS.replace("i % 10 = 0, ?1", "1, ?1").replace("200000", "5000").replace("(i % 10 = 0) * i * 100", "1");
    site.database().execute(&rows, [now]).unwrap();
    site.recount();
    site.brief_tick().exits(0).stderr("");
    assert_eq!(site.count("SELECT count(*) FROM job WHERE waits = 1"), 0);
    assert_eq!(site.count("SELECT delayed FROM queue"), 0);
}

/// Each in a queue and of an exporter that nobody has configured.
const STRANGE: &str = r"
    WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
    INSERT INTO job (filename, exporter, params, queue, rank, submitted, run_after, queued_since, last_asked)
    SELECT 'x' || i || '/b', 'x' || i, '{}', 'q' || i, 0, ?1, ?1, ?1, ?1 FROM n";

#[test]
fn any_number_of_queues_and_exporters_that_are_not_configured_makes_status_no_longer() {
    let site = Site::new().create();
    site.tick().exits(0);
    let now = jiff::Timestamp::now().as_millisecond();
    site.database().execute(STRANGE, [now]).unwrap();
    site.recount();
    let report = site.run(&["status", "--format", "json"]).exits(1).json();
    assert!(report["queues"].as_array().unwrap().len() < 20 && report.to_string().len() < 16_384);
    site.run(&["queues", "list"]).exits(0).says("q4999 ");
}
