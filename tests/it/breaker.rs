//! The breaker: for a broken machine, not for bad books. What it holds back is visible with the reason.

use nix::{
    sys::signal::{Signal, kill, killpg},
    unistd::Pid,
};

use crate::support::{
    running::{results, start},
    site::{Done, Site, wait_until},
    together::wait_for_runs,
};

/// Fails as a broken machine does while the file `broken` lies there; later it waits for a sign.
const SCRIPT: &str = "[ -e ../../../broken ] && exit 75\necho up >>../../../up\n\
    until [ -e ../../../go ]; do sleep 0.01; done\necho x >\"$1\"";

/// Three books have failed on a broken machine, one after the other; more wait in the queue.
fn broken(script: &str) -> Site {
    let settings = "retry_on = []\nbreaker = { failures = 3, pause = \"5m\" }";
    let site = Site::new().exporter_with(script, settings).more("[queue.default]\nmax_running = 1\n").create();
    std::fs::write(site.path("broken"), "").unwrap();
    for title in ["one", "two", "three", "four", "five"] {
        site.ask(title).exits(75);
    }
    for _ in 0..3 {
        site.tick().exits(0);
    }
    site.tick().exits(0); // the last failure is told
    site
}

fn dry(site: &Site) -> Done {
    let dry = site.run(&["tick", "--allow-root", "--dry-run"]);
    dry.exits(0).stderr("");
    dry
}

#[test]
fn it_opens_after_failures_of_different_files_and_says_so() {
    let site = broken(SCRIPT);
    assert_eq!(results(&site), "exit exit exit");
    dry(&site).says(": exporter epub is paused after repeated failures until ");
    site.tick().exits(0);
    assert_eq!(results(&site), "exit exit exit", "nothing is started");
    site.ask("six").exits(69).stdout("unavailable this export keeps failing at the moment\n");
    site.ask("four").exits(75).stdout("queued 1\n");
}

#[test]
fn after_its_pause_one_runs_at_a_time_until_one_succeeds() {
    let site = broken(SCRIPT).more("[queue.default]\nmax_running = 4\n");
    std::fs::remove_file(site.path("broken")).unwrap();
    site.clock(301.0);
    site.ask("six").exits(75);
    start(&site);
    assert_eq!(site.count("SELECT count(*) FROM job WHERE status = 1"), 1);
    dry(&site).says(": the breaker of exporter epub lets one run at a time");
    site.brief_tick().exits(0);
    assert_eq!(site.count("SELECT count(*) FROM job WHERE status = 1"), 1);
    std::fs::write(site.path("go"), "").unwrap();
    wait_for_runs(&site);
    assert!(!dry(&site).out().contains("breaker"));
    site.tick().exits(0);
    assert_eq!(results(&site), "exit exit exit ok ok ok");
}

#[test]
fn a_trial_that_fails_opens_it_again() {
    let site = broken(SCRIPT);
    site.clock(301.0);
    site.tick().exits(0);
    site.tick().exits(0);
    assert_eq!(results(&site), "exit exit exit exit");
    dry(&site).says(": exporter epub is paused after repeated failures until ");
}

#[test]
fn a_program_that_has_gone_opens_it_and_bad_books_do_not() {
    let site = broken("exit 1");
    site.tick().exits(0);
    assert_eq!(results(&site), "exit exit exit exit exit");
    let gone = std::fs::read_to_string(site.config()).unwrap().replace("/bin/sh", "/bin/gone");
    std::fs::write(site.config(), gone).unwrap();
    for title in ["six", "seven", "eight"] {
        site.ask(title).exits(75);
        site.tick().exits(0);
    }
    assert_eq!(results(&site), "exit exit exit exit exit spawn spawn spawn");
    site.ask("nine").exits(69).says("failing at the moment");
    assert!(site.text("SELECT detail FROM attempt WHERE result = 'spawn'").contains("/bin/gone"));
}

/// Books fail at first with the exit status of a broken machine, and are made at the second attempt.
#[test]
fn a_retry_that_succeeds_closes_it() {
    let script = "[ -e ../../../mended ] || exit 75\necho x >\"$1\"";
    let settings = "retry_on = [\"temporary\"]\nretry_delay = \"1s\"\nbreaker = { failures = 3, pause = \"5m\" }";
    let site = Site::new().exporter_with(script, settings).create();
    for title in ["one", "two", "three"] {
        site.ask(title).exits(75);
    }
    site.tick().exits(0);
    dry(&site).says(": exporter epub is paused after repeated failures until ");
    std::fs::write(site.path("mended"), "").unwrap();
    site.clock(301.0);
    site.tick().exits(0); // one at a time: a retry
    assert_eq!(results(&site), "exit exit exit ok");
    assert!(!dry(&site).out().contains("breaker"));
    site.tick().exits(0);
    assert_eq!(results(&site), "exit exit exit ok ok ok");
}

#[test]
fn cancelling_the_one_that_is_tried_does_not_close_it() {
    let site = broken(SCRIPT).more("[queue.default]\nmax_running = 4\n");
    std::fs::remove_file(site.path("broken")).unwrap();
    site.clock(301.0);
    start(&site);
    let tried = site.text("SELECT filename FROM job WHERE status = 1");
    site.run(&["jobs", "cancel", &tried]).exits(0);
    wait_for_runs(&site);
    assert_eq!(results(&site), "exit exit exit cancelled");
    start(&site);
    assert_eq!(site.count("SELECT count(*) FROM job WHERE status = 1"), 1, "still one at a time");
    std::fs::write(site.path("go"), "").unwrap();
    wait_for_runs(&site);
}

#[test]
fn a_power_cut_does_not_open_it() {
    let settings = "retry_on = []\nbreaker = { failures = 3, pause = \"5m\" }";
    let site = Site::new().exporter_with(SCRIPT, settings).create();
    for title in ["one", "two", "three", "four"] {
        site.ask(title).exits(75);
    }
    start(&site);
    wait_until("all of them run", || std::fs::read_to_string(site.path("up")).is_ok_and(|up| up.lines().count() == 4));
    let locks: Vec<_> = site.names("s/work").into_iter().filter(|name| name.contains(".lock")).collect();
    for lock in locks.iter().map(|name| site.path("s/work").join(name)) {
        let note = std::fs::read_to_string(&lock).unwrap();
        let number = |key: &str| {
            let line = note.lines().find_map(|line| line.strip_prefix(key)).unwrap();
            Pid::from_raw(line.split(' ').next().unwrap().parse().unwrap())
        };
        kill(number("run "), Signal::SIGKILL).unwrap();
        killpg(number("leader "), Signal::SIGKILL).unwrap();
        let (_, rest) = note.split_once('\n').unwrap();
        std::fs::write(&lock, format!("boot 00000000-0000-4000-8000-000000000000\n{rest}")).unwrap();
        std::fs::File::open(&lock).unwrap().lock_shared().unwrap(); // its run is gone
    }
    site.tick().exits(0);
    assert_eq!(results(&site), "lost lost lost lost");
    assert_eq!(site.count("SELECT count(*) FROM attempt WHERE detail = 'the machine was restarted'"), 4);
    site.ask("five").exits(75).stdout("queued 1\n");
}
