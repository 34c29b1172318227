//! Lanes: small jobs do not wait behind big ones, and leave the lane when they turn out to be big after all.

use crate::support::{
    classes::{lines, request, run_all},
    site::Site,
};

const CONFIG: &str = r#"
[queue.default]
max_running = 1
[queue.express]
max_running = 1
[queue.latin]
[exporter.book]
command = ["/bin/sh", "-c", '''SCRIPT''', "sh", "{output}", "{title}"]
filename = "{title}-{lang}.book"
timeout = "1s"
retry_delay = "1s"
[exporter.book.params.title]
required = true
[exporter.book.params.lang]
pattern = "[a-z]+"
default = "en"
[exporter.book.params.pages]
integer = "1..100000"
required = false
key = false
[[exporter.book.lane]]
queue = "latin"
when = { lang = "la", pages = "..500" }
[[exporter.book.lane]]
queue = "express"
when = { pages = "..20" }
"#;

fn site(script: &str) -> Site {
    Site::new().more(&CONFIG.replace("SCRIPT", script)).create()
}

const NOTING: &str = r#"echo "$2" >>../../../runs; echo "$2" >"$1""#;

fn queue_of(site: &Site, title: &str) -> String {
    site.text(&format!("SELECT queue FROM job WHERE params LIKE '%\"{title}\"%'"))
}

#[test]
fn the_first_lane_whose_conditions_all_hold_is_taken() {
    let site = site(NOTING);
    for (words, queue) in [
        ("title=a pages=20", "express"),
        ("title=b pages=21", "default"),
        ("title=c", "default"),
        ("title=d pages=20 lang=la", "latin"),
        ("title=e pages=501 lang=la", "default"),
        ("title=f lang=la", "default"),
    ] {
        request(&site, &format!("book {words}")).exits(75);
        assert_eq!(queue_of(&site, &words[6..7]), queue, "{words}");
    }
}

#[test]
fn a_small_job_does_not_wait_behind_big_ones_nor_big_ones_behind_small_ones() {
    let site = site(NOTING);
    for number in 1..=3 {
        request(&site, &format!("book title=big{number} pages=900")).exits(75).stdout(&format!("queued {number}\n"));
        request(&site, &format!("book title=small{number} pages=9")).exits(75).stdout(&format!("queued {number}\n"));
    }
    site.tick().exits(0);
    let mut first = lines(&site, "runs");
    first.sort();
    assert_eq!(first, ["big1", "small1"]);
    run_all(&site);
    assert_eq!(lines(&site, "runs").len(), 6);
}

/// Whoever says that a book has nine pages does not keep the lane busy with it.
#[test]
fn after_a_time_out_the_retry_leaves_the_lane() {
    let site = site("sleep 600");
    request(&site, "book title=a pages=9").exits(75);
    assert_eq!(queue_of(&site, "a"), "express");
    site.tick().exits(0);
    assert_eq!(site.text("SELECT result FROM attempt"), "timeout");
    assert_eq!(queue_of(&site, "a"), "default");
    assert_eq!(site.count("SELECT queued FROM queue WHERE name = 'express'"), 0);
    assert_eq!(site.count("SELECT queued FROM queue WHERE name = 'default'"), 1);
}

#[test]
fn after_another_failure_it_stays_in_the_lane() {
    let site = site("exit 75");
    request(&site, "book title=a pages=9").exits(75);
    site.tick().exits(0);
    assert_eq!(queue_of(&site, "a"), "express");
}
