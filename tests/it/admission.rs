//! What the host allows: running exporters, free memory, free disk. What is held back is visible with the reason.

use crate::support::{
    running::{go, start},
    site::Site,
    together::wait_for_runs,
};

const SCRIPT: &str = "echo up >>../../../up\nuntil [ -e ../../../go ]; do sleep 0.01; done\necho x >\"$1\"";

fn head(min_free: &str, host: &str) -> String {
    format!("state_dir = \"s\"\n[cache]\nmin_free = \"{min_free}\"\n[host]\n{host}\n")
}

/// Three books wait.
fn site(host: &str) -> Site {
    let site = Site::new().head(&head("0B", host)).exporter(SCRIPT).create();
    for title in ["one", "two", "three"] {
        site.ask(title).exits(75);
    }
    site
}

#[track_caller]
fn holds(site: &Site, running: i64, reason: &str) {
    site.brief_tick().exits(0).stdout("").stderr("");
    assert_eq!(site.count("SELECT count(*) FROM job WHERE status = 1"), running);
    site.run(&["tick", "--allow-root", "--dry-run"]).exits(0).says(reason);
}

#[track_caller]
fn lets_all_be_made(site: &Site) {
    go(site);
    wait_for_runs(site);
    for _ in 0..2 {
        site.tick().exits(0).stderr("");
    }
    assert_eq!(site.count("SELECT count(*) FROM job"), 0);
}

#[test]
fn no_more_run_than_the_host_allows() {
    let site = site("min_free_memory = \"0B\"\nmax_running = 2");
    start(&site);
    holds(&site, 2, ": no seat is free on the host, which has 2");
    lets_all_be_made(&site);
}

#[test]
fn while_memory_is_short_one_runs_all_the_same() {
    let site = site("min_free_memory = \"1000TB\"");
    start(&site);
    holds(&site, 1, ": less memory is free than min_free_memory");
    go(&site);
    wait_for_runs(&site);
    std::fs::remove_file(site.path("go")).unwrap();
    holds(&site, 1, ": less memory");
    go(&site);
    wait_for_runs(&site);
    assert_eq!(site.count("SELECT count(*) FROM attempt"), 2);
}

#[test]
fn while_the_disk_is_low_nothing_is_claimed_and_nothing_is_promised() {
    let site = site("min_free_memory = \"0B\"").head(&head("1000TB", "min_free_memory = \"0B\""));
    holds(&site, 0, ": less disk space is free than min_free");
    site.ask("four").exits(69).stdout("unavailable the server is low on disk space\n");
    site.ask("one").exits(75).stdout("queued 1\n");
    let site = site.head(&head("0B", "min_free_memory = \"0B\""));
    start(&site);
    lets_all_be_made(&site);
}

#[test]
fn a_paused_queue_is_named() {
    let site = site("min_free_memory = \"0B\"");
    site.database().execute("UPDATE queue SET mode = 'paused'", []).unwrap();
    holds(&site, 0, ": queue default is paused");
}
