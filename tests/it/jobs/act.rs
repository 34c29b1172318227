use std::fs;

use crate::support::{
    admin::{is_alive, site, site_with},
    formats::PDF,
    site::{Site, wait_until},
};

#[test]
fn a_failed_job_is_retried_as_if_it_were_new() {
    let site = site_with("max_attempts = 2\nretry_on = [\"exit\"]\nretry_delay = \"0s\"", "");
    site.ask("Bad");
    wait_until("it has failed for good", || {
        site.tick();
        site.count("SELECT count(*) FROM job WHERE status = 3") == 1
    });
    assert_eq!(site.count("SELECT attempts FROM job"), 2);
    site.run(&["jobs", "retry", "1"]).exits(0).stdout("queued job 1 (epub/Bad.epub)\n").stderr("");
    assert_eq!(site.text("SELECT status || ' ' || attempts || ' ' || (result IS NULL) FROM job"), "0 0 1");
    site.run(&["jobs", "retry", "1"]).exits(65).warns("is queued, there is nothing to retry");
}

#[test]
fn a_retried_job_has_its_failed_source_retried_too() {
    let site = site_with("max_attempts = 1", PDF);
    site.run(&["request", "pdf", "title=Bad"]);
    site.tick();
    assert_eq!(site.count("SELECT count(*) FROM job WHERE status = 3"), 2);
    site.run(&["jobs", "retry", "pdf/Bad.pdf"]).exits(0);
    assert_eq!(site.count("SELECT count(*) FROM job WHERE status = 0"), 2);
    assert_eq!(site.text("SELECT filename FROM job WHERE waits = 2"), "pdf/Bad.pdf");
}

#[test]
fn a_cancelled_queued_job_is_gone_and_what_waits_for_it_fails() {
    let site = site_with("", PDF);
    site.run(&["request", "pdf", "title=Emma"]);
    site.run(&["jobs", "cancel", "epub/Emma.epub"]).exits(0).says("cancelled job ");
    assert_eq!(site.text("SELECT filename || ' ' || status || ' ' || result FROM job"), "pdf/Emma.pdf 3 cancelled");
    site.run(&["request", "epub", "title=Emma", "--no-enqueue"]).exits(66).stdout("absent\n");
    site.run(&["jobs", "cancel", "pdf/Emma.pdf"]).exits(65).warns("has failed already");
}

/// Cancelled together, none fails for want of the other, and nobody gets mail of what the admin has done himself.
#[test]
fn what_is_cancelled_is_no_failure_to_be_told() {
    let site = site_with("", PDF);
    site.run(&["request", "pdf", "title=Emma"]);
    let done = site.run(&["jobs", "cancel", "--status", "queued", "--yes"]);
    assert_eq!(done.exits(0).stderr("").out().lines().count(), 2);
    assert_eq!(site.count("SELECT count(*) FROM job"), 0);
    site.run(&["request", "pdf", "title=Emma"]);
    site.run(&["jobs", "cancel", "epub/Emma.epub"]).exits(0);
    site.tick().exits(0).stderr("");
    assert_eq!(site.count("SELECT count(*) FROM job WHERE status = 3 AND reported = 1"), 1);
}

#[test]
fn the_tree_of_a_cancelled_started_job_is_gone_and_its_client_is_told() {
    let site = site();
    let child = site.start_slow("Slow");
    let waiting =
        site.command(&["request", "epub", "title=Slow", "--wait", "60s"]).stdout(std::process::Stdio::piped()).spawn();
    assert!(is_alive(child));
    site.run(&["jobs", "cancel", "epub/S"]).exits(0).stdout("asked job 1 (epub/Slow.epub) to end\n");
    wait_until("the row is gone", || site.count("SELECT count(*) FROM job") == 0);
    assert!(!is_alive(child), "the exporter's child has outlived it");
    assert_eq!(site.text("SELECT result FROM attempt"), "cancelled");
    let told = waiting.unwrap().wait_with_output().unwrap();
    assert_eq!((told.status.code(), &told.stdout[..]), (Some(66), &b"absent\n"[..]));
    site.tick().exits(0).stderr("");
    assert_eq!(site.names("s/work"), [""; 0]);
}

#[test]
fn without_names_filters_choose_and_elsewhere_than_on_a_terminal_yes_must_be_given() {
    let site = site_with("max_attempts = 1", "");
    site.ask_for(&["Bad", "BadToo"]);
    site.tick();
    site.ask_for(&["Emma", "Nana"]);
    site.run(&["jobs", "cancel"]).exits(64).warns("name a job, or give a filter");
    site.run(&["jobs", "cancel", "3", "--exporter", "epub"]).exits(64).warns("not both");
    site.run(&["jobs", "cancel", "--exporter", "epub"]).exits(64).warns("this would cancel 2 jobs; give --yes");
    site.run(&["jobs", "cancel", "--param", "title=Zola", "--yes"]).exits(66).warns("no job matches");
    site.run(&["jobs", "cancel", "--status", "failed", "--yes"]).exits(64);
    assert_eq!(site.count("SELECT count(*) FROM job"), 4);
    site.run(&["jobs", "cancel", "--param", "title=Nana", "--yes"]).exits(0).says("cancelled job 4");
    site.run(&["jobs", "retry", "--exporter", "epub", "--yes"]).exits(0).says("job 1 ").says("job 2 ");
    assert_eq!(site.count("SELECT count(*) FROM job WHERE status = 0"), 3);
}

#[test]
fn on_a_terminal_it_asks_first() {
    let site = site();
    site.ask_for(&["Emma", "Nana"]);
    let Some(no) = site.on_terminal("jobs cancel --exporter epub", "n\n") else {
        crate::support::outside::skipped("on_a_terminal_it_asks_first", "there is no script(1)");
        return;
    };
    no.says("cancel 2 jobs? [y/N]");
    assert_eq!(site.count("SELECT count(*) FROM job"), 2);
    site.on_terminal("jobs cancel --exporter epub", "y\n").unwrap().says("cancelled job 1").exits(0);
    assert_eq!(site.count("SELECT count(*) FROM job"), 0);
}

#[test]
fn a_job_that_no_longer_fits_the_configuration_is_not_retried() {
    let site = site_with("max_attempts = 1", "");
    site.ask("Bad");
    site.tick();
    let config = fs::read_to_string(site.config()).unwrap();
    fs::write(site.config(), config.replace("{title}.epub", "book-{title}.epub")).unwrap();
    site.run(&["jobs", "retry", "1"]).exits(65).warns("the same parameters now name epub/book-Bad.epub");
    fs::write(site.config(), config.replace("exporter.epub", "exporter.other")).unwrap();
    site.run(&["jobs", "retry", "1"]).exits(65).warns("there is no exporter epub any more");
    site.run(&["jobs", "list"]).exits(0).says("epub/Bad.epub");
}

#[test]
fn many_jobs_are_cancelled_in_one_go() {
    let site = Site::new().more("[queue.default]\nmax_queued = 1000\n").create();
    site.ask("seed");
    let copy = "INSERT INTO job (filename, exporter, params, queue, rank, submitted, run_after, queued_since, last_asked)
        SELECT 'epub/' || value || '.epub', exporter, params, queue, rank, submitted, run_after, queued_since, last_asked
          FROM job, generate_series(1, 350) WHERE id = 1";
    let copy = copy.replace(
        "generate_series(1, 350)",
        "(WITH RECURSIVE n(value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM n WHERE value < 350) SELECT value FROM n)",
    );
    site.database().execute(&copy, []).unwrap();
    site.recount();
    let done = site.run(&["jobs", "cancel", "--queue", "default", "--yes"]);
    assert_eq!(done.exits(0).out().lines().count(), 351);
    assert_eq!(site.count("SELECT count(*) + (SELECT queued FROM queue) FROM job"), 0);
}

/// Its run is still ending. Whoever asks now gets the file from a new one.
#[test]
fn a_file_that_is_asked_for_while_its_cancelled_run_is_ending_is_made() {
    let script = "trap '' TERM; until [ -e ../../../go ]; do sleep 0.02; done; echo whole >\"$1\"";
    let site = Site::new().exporter_with(script, "kill_after = \"1h\"").create();
    site.ask("Emma").exits(75);
    site.brief_tick().exits(0);
    site.ask("Emma").exits(75).says("started");
    site.run(&["jobs", "cancel", "1"]).exits(0);
    site.ask("Emma").exits(75).says("started");
    std::fs::write(site.path("go"), "").unwrap();
    crate::support::together::wait_for_runs(&site);
    site.tick().exits(0).stderr("");
    site.ask("Emma").exits(0);
    assert_eq!(site.count("SELECT count(*) FROM attempt"), 2);
}
