//! What holds whatever else goes wrong: guarded endings, and failures that stay one failure (docs/architecture.md).

use std::fs;

use crate::support::{
    site::{Site, wait_until},
    together::{Beside, TICK},
};

/// A run that stands before its publishing, and the gate that lets it go on.
fn run_before_publishing(site: &Site) -> Beside {
    let gate = format!("run-prepared=pause:{}", site.path("gate").display());
    let beside = Beside::start(site.command(&TICK).env("PRESSROOM_FAILPOINT", gate));
    wait_until("the run is about to publish", || site.path("gate.reached").exists());
    beside
}

/// Zero rows changed means that somebody else ended the attempt: neither row nor cache are touched.
#[test]
fn a_run_whose_attempt_was_ended_by_somebody_else_touches_neither_row_nor_cache() {
    let site = Site::new().create();
    site.ask("Emma").exits(75);
    let run = run_before_publishing(&site);
    let another = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
    site.database().execute("UPDATE job SET attempt = ?", [another]).unwrap();
    fs::write(site.path("gate"), "").unwrap();
    run.end().exits(0);
    assert!(!site.cached("epub/Emma.epub").exists());
    assert_eq!(site.text("SELECT attempt FROM job WHERE status = 1"), another);
    assert_eq!(site.count("SELECT count(*) FROM attempt WHERE ended IS NULL"), 1);
}

#[test]
fn a_run_whose_row_has_gone_publishes_nothing() {
    let site = Site::new().create();
    site.ask("Emma").exits(75);
    let run = run_before_publishing(&site);
    site.database().execute("DELETE FROM job", []).unwrap();
    fs::write(site.path("gate"), "").unwrap();
    run.end().exits(0);
    assert!(!site.cached("epub/Emma.epub").exists());
    site.tick().exits(0).stderr("");
    assert_eq!(site.names("s/work"), [""; 0]);
}

/// An export that is done is not thrown away because the database is busy just then.
#[test]
fn a_run_waits_for_a_busy_database_to_publish() {
    let site = Site::new().create();
    site.ask("Emma").exits(75);
    let gate = format!("run-prepared=pause:{}", site.path("gate").display());
    let mut command = site.command(&TICK);
    command.env("PRESSROOM_FAILPOINT", gate).env("PRESSROOM_TEST_BUSY", "20");
    let run = Beside::start(&mut command);
    wait_until("the run is about to publish", || site.path("gate.reached").exists());
    let database = site.database();
    database.execute_batch("BEGIN IMMEDIATE").unwrap();
    fs::write(site.path("gate"), "").unwrap();
    // The run has tried in vain when its published file would long be there; it still holds its lock.
    site.run(&["tick", "--dry-run", "--allow-root"]).exits(0).stdout("running job 1 (epub/Emma.epub)\n");
    assert!(!site.cached("epub/Emma.epub").exists());
    database.execute_batch("ROLLBACK").unwrap();
    run.end().exits(0);
    site.ask("Emma").exits(0);
}

#[test]
fn a_log_that_cannot_be_written_does_not_stop_an_export() {
    let site = Site::new().create();
    site.ask("Emma").exits(75);
    fs::remove_dir(site.path("s/log")).unwrap();
    site.tick().exits(0);
    site.ask("Emma").exits(0);
    assert_eq!(site.text("SELECT result FROM attempt"), "ok");
}

/// A work directory that is in the way of one attempt, a lock that is none, a row without its exporter.
#[test]
fn one_job_that_cannot_be_started_or_swept_does_not_stop_the_others() {
    let site = Site::new().create();
    for title in ["Emma", "Nana"] {
        site.ask(title).exits(75);
    }
    site.database().execute("UPDATE job SET params = '{\"title\": {}}' WHERE filename = 'epub/Emma.epub'", []).unwrap();
    fs::create_dir(site.path("s/work/01ARZ3NDEKTSV4RRFFQ69G5FAV.lock")).unwrap();
    fs::create_dir(site.path("s/work/01ARZ3NDEKTSV4RRFFQ69G5FAW")).unwrap();
    site.tick().exits(0).warns("epub/Emma.epub) failed: spawn, the stored parameters are not a JSON object");
    site.ask("Nana").exits(0);
    site.tick().exits(0).stderr("");
    assert_eq!(site.names("s/work"), ["01ARZ3NDEKTSV4RRFFQ69G5FAV.lock"], "what is no lock is left alone");
}
