//! Attempts whose jobs somebody has removed from the database: they end all the same, and count for the history's bound.

use std::fs;

use crate::support::{
    site::{Site, wait_until},
    strays::nobody_is_left,
    together::{AFTER_ITS_ROUND, Beside},
};

fn asked() -> Site {
    let begun = "echo at work; touch ../../../begun";
    let site = Site::new().exporter(&format!("{begun}; {AFTER_ITS_ROUND}echo x >\"$1\"")).create();
    site.ask("Emma").exits(75);
    site
}

fn running() -> Site {
    let site = asked();
    site.brief_tick().exits(0);
    site
}

#[test]
fn an_attempt_whose_job_was_removed_ends_as_lost() {
    let site = asked();
    let gate = site.path("gate");
    // A run looks at its row at once and each second, and ends its exporter when that has gone: this one not yet.
    let pause = format!("run-spawned=pause:{}", gate.display());
    Beside::start(site.command(&["tick", "--allow-root"]).env("PRESSROOM_FAILPOINT", pause)).end().exits(0);
    wait_until("its exporter is at work", || site.path("begun").exists());
    site.database().execute_batch("DELETE FROM job").unwrap();
    site.recount();
    site.brief_tick().exits(0);
    assert_eq!(
        site.count("SELECT count(*) FROM attempt WHERE ended IS NULL"),
        1,
        "it is at work, and its lock is held"
    );
    fs::write(&gate, "").unwrap();
    wait_until("a tick has closed it", || {
        site.brief_tick().exits(0);
        site.count("SELECT count(*) FROM attempt WHERE ended IS NULL") == 0
    });
    site.run(&["jobs", "history", "--format", "json"])
        .says("\"result\":\"lost\"")
        .says("its job was removed from the database");
    assert!(site.count("SELECT log_size FROM attempt") > 0, "its log counts");
    assert_eq!(site.names("s/work"), [""; 0]);
    site.run(&["check", "--allow-root"]).exits(0); // the counts are right
    nobody_is_left(&site);
}

#[test]
fn attempts_that_somebody_has_written_and_that_never_run_are_closed_and_bounded() {
    let site = running();
    let planted = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 700)
        INSERT INTO attempt (id, job, filename, exporter, params, queue, number, submitted, started, counts_from, limits)
        SELECT printf('01ARZ3NDEKTSV4RRFFQ%07d', i), 1, filename, exporter, params, queue, 1, submitted, -9223372036854775808,
               counts_from, limits FROM attempt, n;
        UPDATE attempt SET id = 'is none, but as long as it' WHERE id LIKE '%0000001';";
    site.database().execute_batch(planted).unwrap();
    site.brief_tick().exits(0);
    assert_eq!(site.count("SELECT count(*) FROM attempt WHERE ended IS NULL"), 1, "the one that is at work");
    assert_eq!(site.count("SELECT count(*) FROM attempt WHERE id LIKE 'is none%'"), 0);
    site.ask("Nana").exits(75); // and they open no breaker
    fs::write(site.path("go"), "").unwrap();
    site.tick().exits(0);
    site.ask("Nana").exits(0);
    nobody_is_left(&site);
}
