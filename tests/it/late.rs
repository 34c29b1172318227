//! A run whose attempt was taken from it comes too late: it touches neither row nor cache.

use std::fs;

use crate::support::{
    site::{Site, wait_until},
    strays::nobody_is_left,
};

/// Gives the started job to another attempt, as a reap and a claim would.
const TAKE: &str = "
    INSERT INTO attempt (id, job, filename, exporter, params, queue, number, submitted, started, counts_from, limits)
    SELECT '7ZZZZZZZZZZZZZZZZZZZZZZZZZ', job, filename, exporter, params, queue, number + 1, submitted, started,
           counts_from, limits FROM attempt;
    UPDATE job SET attempt = '7ZZZZZZZZZZZZZZZZZZZZZZZZZ', attempts = 2, percent = 7";

/// Runs until the point in the run, takes the attempt away, and lets the run end.
fn come_late(script: &str, point: &str) -> Site {
    let site = Site::new().exporter(script).create();
    site.ask("Emma").exits(75);
    let gate = site.path("gate");
    let mut tick = site.command(&["tick", "--allow-root", "--wait"]);
    tick.env("PRESSROOM_FAILPOINT", format!("{point}=pause:{}", gate.display()));
    let tick = crate::support::together::Beside::start(&mut tick);
    wait_until("the point is reached", || site.path("gate.reached").exists());
    site.database().execute_batch(TAKE).unwrap();
    let row = row(&site);
    fs::write(gate, "").unwrap();
    tick.end().exits(0).stdout("").stderr("");
    assert_eq!(self::row(&site), row, "the row is another attempt's");
    nobody_is_left(&site);
    site
}

fn row(site: &Site) -> String {
    site.text("SELECT json_array(status, attempt, attempts, percent, message, result, run_after, started) FROM job")
}

#[test]
fn after_a_success_nothing_is_published() {
    for point in ["run-spawned", "run-exporter-ended", "run-prepared"] {
        let site = come_late(r#"echo "$2" >"$1""#, point);
        assert_eq!(site.names("s/cache/epub"), [""; 0], "{point}");
        assert_eq!(site.count("SELECT count(*) FROM attempt WHERE result IS NULL"), 2, "{point}");
    }
}

#[test]
fn after_a_failure_nothing_is_recorded() {
    let site = come_late("exit 1", "run-exporter-ended");
    assert_eq!(site.count("SELECT count(*) FROM attempt WHERE result IS NULL"), 2);
}

/// It looks at its row once a second and ends its tree when the row is no longer its own.
#[test]
fn an_exporter_that_still_works_is_ended() {
    let site = come_late("sleep 1000", "run-spawned");
    assert_eq!(site.names("s/cache/epub"), [""; 0]);
}

/// The exporter is started before the run opens the database. If that cannot be opened then, nobody would watch it.
#[test]
fn an_exporter_whose_run_cannot_open_the_database_is_ended() {
    let site = Site::new().exporter_with("sleep 1000", "max_attempts = 1").create();
    site.ask("Emma").exits(75);
    let gate = site.path("gate");
    let mut tick = site.command(&["tick", "--allow-root", "--wait"]);
    tick.env("PRESSROOM_FAILPOINT", format!("run-spawned=pause:{}", gate.display()));
    let tick = crate::support::together::Beside::start(&mut tick);
    wait_until("the point is reached", || site.path("gate.reached").exists());
    crate::support::together::wait_for_round(&site);
    fs::rename(site.path("s/queue"), site.path("away")).unwrap();
    fs::write(gate, "").unwrap();
    tick.end().exits(0).stdout("");
    fs::rename(site.path("away"), site.path("s/queue")).unwrap();
    nobody_is_left(&site);
    site.brief_tick().exits(0).warns("failed: lost, its run process died");
}
