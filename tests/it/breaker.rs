//! The breaker: for a broken machine, not for bad books. What it holds back is visible with the reason.

use crate::{
    running::{results, start},
    site::{Done, Site},
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
    dry(&site).says("hold exporter epub: its breaker is open until ");
    site.tick().exits(0);
    assert_eq!(results(&site), "exit exit exit", "nothing is started");
    site.ask("six").exits(69).stdout("unavailable this export is failing just now\n");
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
    dry(&site).says("hold exporter epub: its breaker lets one run at a time");
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
    dry(&site).says("hold exporter epub: its breaker is open until ");
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
    site.ask("nine").exits(69).says("failing just now");
    assert!(site.text("SELECT detail FROM attempt WHERE result = 'spawn'").contains("/bin/gone"));
}
