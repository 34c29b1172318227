//! Ticks at once: never more exporters than `max_running`, counted by the exporters, and each job once.

use std::{collections::BTreeMap, fs};

use crate::support::{
    site::{Site, wait_until},
    together::{TICK, at_once, request},
};

/// Takes the lowest free token while it runs: the highest one ever taken is how many ran at a moment. It stays until
/// another one runs beside it, or a little while.
const COUNTING: &str = r#"
cd ../../..
token=1
until mkdir tokens/$token 2>/dev/null; do token=$((token + 1)); [ $token -lt 40 ] || exit 1; done
echo "$token $2" >>taken
tries=0
until [ $(ls tokens | wc -l) -gt 1 ] || [ $tries -ge 20 ]; do tries=$((tries + 1)); sleep 0.01; done
rmdir tokens/$token
echo "$2" >"$1""#;

fn site(settings: &str) -> Site {
    let site = Site::new().exporter(COUNTING).more(settings).create();
    fs::create_dir(site.path("tokens")).unwrap();
    site
}

fn ask_for(site: &Site, books: usize) {
    at_once((0..books).map(|number| site.command(&request(&format!("book{number}")))));
}

/// How often each job ran, and the most that ran at a moment.
fn taken(site: &Site) -> (BTreeMap<String, u32>, u32) {
    let text = fs::read_to_string(site.path("taken")).unwrap_or_default();
    let mut runs = BTreeMap::new();
    let mut most = 0;
    for line in text.lines() {
        let (token, title) = line.split_once(' ').unwrap();
        most = most.max(token.parse().unwrap());
        *runs.entry(title.to_owned()).or_default() += 1;
    }
    (runs, most)
}

#[track_caller]
fn until_done(site: &Site, ticks: usize) {
    wait_until("all books are made", || {
        for done in at_once((0..ticks).map(|_| site.command(&TICK[..2]))) {
            done.exits(0).stdout("").stderr("");
        }
        site.count("SELECT count(*) FROM job") == 0
    });
}

#[test]
fn two_ticks_at_once_keep_to_max_running_and_make_each_job_once() {
    let site = site("[queue.default]\nmax_running = 2\n");
    ask_for(&site, 12);
    until_done(&site, 2);
    let (runs, most) = taken(&site);
    assert_eq!((runs.len(), runs.values().max(), most), (12, Some(&1), 2), "{runs:?}");
}

#[test]
fn ten_ticks_at_once_keep_to_max_running_and_make_each_job_once() {
    let site = site("[queue.default]\nmax_running = 3\n");
    ask_for(&site, 18);
    until_done(&site, 10);
    let (runs, most) = taken(&site);
    assert_eq!((runs.len(), runs.values().max()), (18, Some(&1)), "{runs:?}");
    assert!((2..=3).contains(&most), "{most} ran at once");
}

/// The host's limit holds over all queues.
#[test]
fn queues_together_keep_to_the_hosts_max_running() {
    let lanes = r#"
[exporter.epub.params.pages]
integer = "1..1000"
required = false
[[exporter.epub.lane]]
queue = "express"
when = { pages = "..20" }
[queue.express]
"#;
    let head = "state_dir = \"s\"\n[cache]\nmin_free = \"0B\"\n[host]\nmin_free_memory = \"0B\"\nmax_running = 2\n";
    let site = Site::new().head(head).exporter(COUNTING).more(lanes).create();
    fs::create_dir(site.path("tokens")).unwrap();
    ask_for(&site, 4);
    for number in 0..4 {
        site.run(&["request", "epub", &format!("title=small{number}"), "pages=5"]).exits(75);
    }
    assert_eq!(site.count("SELECT queued FROM queue WHERE name = 'express'"), 4);
    until_done(&site, 3);
    let (runs, most) = taken(&site);
    assert_eq!((runs.len(), runs.values().max(), most), (8, Some(&1), 2), "{runs:?}");
}

/// A tick that finds another one at work has nothing to do, and says nothing.
#[test]
fn a_second_tick_ends_at_once_while_the_first_is_at_work() {
    let site = Site::new().create();
    site.ask("Emma");
    let first = crate::support::together::Paused::at(&site, "tick-before-claim", &TICK);
    site.tick().exits(0).stdout("").stderr("");
    assert_eq!(site.count("SELECT count(*) FROM attempt"), 0);
    first.go_on().exits(0).stderr("");
    assert_eq!(site.count("SELECT count(*) FROM attempt"), 1);
}

/// cron mails what comes out of the pipe until its end; an exporter must not hold that back.
#[test]
fn a_tick_ends_while_its_exporter_runs_on() {
    let site = Site::new().exporter(r#"until [ -e ../../../go ]; do sleep 0.01; done; echo whole >"$1""#).create();
    site.ask("Emma");
    site.brief_tick().exits(0).stdout("").stderr("");
    site.ask("Emma").exits(75).stdout("started ?\n");
    site.brief_tick().exits(0).stdout("").stderr("");
    fs::write(site.path("go"), "").unwrap();
    crate::support::together::wait_for_runs(&site);
    site.ask("Emma").exits(0);
    assert_eq!(site.count("SELECT count(*) FROM attempt"), 1);
}
