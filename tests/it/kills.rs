//! SIGKILL at every named point of a tick and of a run, and then the next ticks: nothing is lost, nothing is made
//! twice but the attempt that was cut, and no half file is ever seen.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use crate::support::{
    site::{Site, wait_until},
    together::{TICK, wait_for_runs},
};

/// Where the tick dies, and how often the exporter runs in all.
const OF_TICK: [(&str, usize); 9] = [
    ("tick-before-reap", 1),
    ("prune-chose", 1),
    ("tick-before-claim", 1),
    ("tick-made-lock", 1),
    ("tick-before-commit", 1),
    ("tick-claimed", 1),
    ("tick-launched-one", 1),
    ("tick-before-mark", 1),
    ("tick-before-checkpoint", 1),
];

/// The same for the run.
const OF_RUN: [(&str, usize); 11] = [
    ("run-started", 1),
    ("run-forked", 1),
    ("run-noted", 1),
    ("run-spawned", 2),
    ("run-exporter-ended", 2),
    ("run-prepared", 2),
    ("run-before-rename", 2),
    ("run-linked", 2),
    ("run-renamed", 1),
    ("run-before-commit", 1),
    ("run-committed", 1),
];

/// Where the tick dies that cleans up after a run that was killed.
const OF_REAPER: [&str; 3] = ["reap-took-lock", "reap-recorded", "sweep-removed-work"];

/// Writes slowly enough to be seen half done. A second run waits for nothing either.
const WHOLE: &str = r#"echo run >>../../../runs; printf half >"$1"; sleep 0.02; printf " and half\n" >>"$1""#;

fn site() -> Site {
    let site = Site::new().exporter_with(WHOLE, "retry_delay = \"1ms\"\nmax_attempts = 3").create();
    site.ask("Emma").exits(75).stdout("queued 1\n");
    site
}

/// What a site looks like to everybody, however it came to be so.
#[derive(Debug, PartialEq)]
struct Outcome {
    file: String,
    cache: Vec<String>,
    work: Vec<String>,
    jobs: i64,
    made: i64,
    open: i64,
}

fn outcome(site: &Site) -> Outcome {
    Outcome {
        file: fs::read_to_string(site.cached("epub/Emma.epub")).unwrap_or_default(),
        cache: site.names("s/cache/epub"),
        work: site.names("s/work"),
        jobs: site.count("SELECT count(*) FROM job"),
        made: site.count("SELECT count(*) FROM attempt WHERE result = 'ok'"),
        open: site.count("SELECT count(*) FROM attempt WHERE ended IS NULL"),
    }
}

fn runs(site: &Site) -> usize {
    fs::read_to_string(site.path("runs")).unwrap_or_default().lines().count()
}

/// Ticks until the job is done, and once more to sweep.
#[track_caller]
fn recover(site: &Site, what: &str) {
    wait_until(&format!("the job is done after {what}"), || {
        site.tick().exits(0).stdout("");
        site.count("SELECT count(*) FROM job") == 0
    });
    site.tick().exits(0).stdout("").stderr("");
}

/// Looks at the cache all the time, as a web server would.
struct Watcher {
    over: &'static AtomicBool,
    thread: Option<thread::JoinHandle<()>>,
}

impl Watcher {
    fn of(site: &Site) -> Self {
        let over: &'static AtomicBool = Box::leak(Box::new(AtomicBool::new(false)));
        let dir: PathBuf = site.path("s/cache/epub");
        let thread = thread::spawn(move || {
            while !over.load(Ordering::Relaxed) {
                look(&dir);
                thread::sleep(Duration::from_millis(1));
            }
        });
        Self { over, thread: Some(thread) }
    }

    #[track_caller]
    fn end(mut self, what: &str) {
        self.over.store(true, Ordering::Relaxed);
        let saw = self.thread.take().unwrap().join();
        assert!(saw.is_ok(), "a half file was seen: {what}");
    }
}

/// Every name in the cache, temporary ones included, is a whole file.
fn look(dir: &Path) {
    let Ok(entries) = fs::read_dir(dir) else { return };
    for entry in entries.flatten() {
        if let Ok(text) = fs::read_to_string(entry.path()) {
            assert_eq!(text, "half and half\n", "{}", entry.path().display());
        }
    }
}

fn uninterrupted() -> Outcome {
    let site = site();
    site.tick().exits(0).stderr("");
    site.tick().exits(0).stderr("");
    assert_eq!(runs(&site), 1);
    outcome(&site)
}

#[track_caller]
fn a_tick_killed_at(points: &[(&str, usize)]) {
    let expected = uninterrupted();
    for (point, most) in points {
        let site = site();
        let watcher = Watcher::of(&site);
        site.run_at(&format!("{point}=kill"), &["tick", "--allow-root"]).dies_of(9);
        recover(&site, point);
        watcher.end(point);
        assert_eq!(outcome(&site), expected, "killed at {point}");
        assert_eq!(runs(&site), *most, "killed at {point}");
    }
}

#[test]
fn a_tick_that_is_killed_anywhere_loses_nothing_and_makes_nothing_twice() {
    a_tick_killed_at(&OF_TICK);
}

#[test]
fn a_run_that_is_killed_anywhere_loses_nothing_and_repeats_only_what_was_cut() {
    let expected = uninterrupted();
    for (point, most) in OF_RUN {
        let site = site();
        let watcher = Watcher::of(&site);
        site.run_at(&format!("{point}=kill"), &TICK).exits(0).stdout("").stderr("");
        recover(&site, point);
        watcher.end(point);
        assert_eq!(outcome(&site), expected, "killed at {point}");
        // The exporter dies with its run, perhaps before its first line.
        assert!((1..=most).contains(&runs(&site)), "{} runs, killed at {point}", runs(&site));
    }
}

/// A published file whose run died before it could say so is not made again.
#[test]
fn a_run_that_is_killed_after_the_rename_has_succeeded() {
    for point in ["run-renamed", "run-before-commit"] {
        let site = site();
        site.run_at(&format!("{point}=kill"), &TICK).exits(0);
        site.ask("Emma").exits(0);
        assert_eq!(site.count("SELECT count(*) FROM job WHERE status = 1"), 1);
        site.tick().exits(0).stderr("");
        assert_eq!(site.text("SELECT result FROM attempt"), "ok");
        assert_eq!(site.count("SELECT output_size FROM attempt"), 14);
        assert_eq!(site.count("SELECT count(*) FROM job"), 0);
    }
}

/// Two kills in a row: of the run, and of the tick that cleans up after it.
#[test]
fn a_reaper_that_is_killed_anywhere_leaves_the_rest_to_the_next_one() {
    let expected = uninterrupted();
    for point in OF_REAPER {
        for cut in ["run-prepared", "run-linked", "run-renamed"] {
            let site = site();
            site.run_at(&format!("{cut}=kill"), &TICK).exits(0);
            site.run_at(&format!("{point}=kill"), &["tick", "--allow-root"]).dies_of(9);
            recover(&site, point);
            assert_eq!(outcome(&site), expected, "killed at {cut}, then at {point}");
        }
    }
}

/// A tick that dies between its launches leaves claimed jobs without a run; the launched one goes on.
#[test]
fn a_tick_killed_between_two_launches_keeps_the_one_and_repeats_the_other() {
    let site = Site::new().exporter_with(WHOLE, "retry_delay = \"1ms\"").create();
    for title in ["Emma", "Nana", "Nora"] {
        site.ask(title).exits(75);
    }
    site.run_at("tick-launched-one=kill", &["tick", "--allow-root"]).dies_of(9);
    assert_eq!(site.count("SELECT count(*) FROM job WHERE status = 1 AND filename <> 'epub/Emma.epub'"), 2);
    recover(&site, "a launch");
    assert_eq!(site.names("s/cache/epub"), ["Emma.epub", "Nana.epub", "Nora.epub"]);
    assert_eq!(runs(&site), 3);
    assert_eq!(site.count("SELECT count(*) FROM attempt WHERE result = 'lost'"), 2);
    wait_for_runs(&site);
}

/// Requests hold nothing that could be lost with them.
#[test]
fn a_request_that_is_killed_anywhere_leaves_one_row_or_none() {
    for point in ["request-looked-at-file", "request-before-row", "request-before-write", "request-before-commit"] {
        let site = Site::new().create();
        let words = ["request", "epub", "title=Emma"];
        site.run_at(&format!("{point}=kill"), &words).dies_of(9);
        assert_eq!(site.count("SELECT count(*) FROM job"), 0, "killed at {point}");
        site.ask("Emma").exits(75).stdout("queued 1\n");
        site.tick().exits(0).stderr("");
        site.ask("Emma").exits(0);
    }
}
