//! The configuration has changed under queued jobs: their queue, their exporter or both are gone.

use crate::{
    classes::{NOTING, lines, request, run_all},
    site::Site,
};

const SLOW: &str = "[queue.slow]\nmax_running = 1\n";

#[test]
fn a_job_whose_queue_is_no_longer_configured_goes_where_a_request_would_put_it() {
    let site = Site::new().exporter_with(NOTING, "queue = \"slow\"").more(SLOW).create();
    site.ask("Emma").exits(75);
    assert_eq!(site.text("SELECT queue FROM job"), "slow");
    let site = site.exporter(NOTING).more("");
    let dry = site.run(&["tick", "--dry-run", "--allow-root"]);
    dry.exits(0).says("move the jobs of queue slow: it is no longer configured");
    site.ask("Emma").exits(75);
    site.tick().exits(0).stderr("");
    assert_eq!(lines(&site, "runs"), ["Emma"]);
    assert_eq!(site.count("SELECT sum(queued) FROM queue"), 0);
}

#[test]
fn a_job_that_is_retried_finds_its_queue_gone_and_runs_all_the_same() {
    let fails_once = r#"[ -e ../../../again ] || {{ : >../../../again; kill -9 $$; }}; echo ok >"$1""#;
    let site = Site::new().exporter_with(fails_once, "queue = \"slow\"").more(SLOW).create();
    site.ask("Emma").exits(75);
    site.tick().exits(0);
    assert_eq!(site.count("SELECT waits FROM job WHERE attempts = 1 AND queue = 'slow'"), 1);
    let site = site.exporter(fails_once).more("");
    site.clock(60.0);
    site.tick().exits(0); // its time has come
    site.tick().exits(0);
    site.ask("Emma").exits(0);
}

#[test]
fn a_job_whose_queue_and_exporter_are_gone_fails_with_the_reason_and_is_forgotten_in_the_end() {
    let old = r#"
[exporter.old]
queue = "slow"
command = ["/bin/true"]
filename = "{title}.txt"
[exporter.old.params.title]
required = true
"#;
    let site = Site::new().more(&format!("{SLOW}{old}")).create();
    request(&site, "old title=Emma").exits(75);
    let site = site.more("");
    site.tick().exits(0).warns("there is no exporter old any more");
    assert_eq!(site.text("SELECT result || ' ' || queue FROM job"), "spawn default");
    crate::classes::later(&site, 25.0 * 3600.0);
    assert_eq!(site.count("SELECT count(*) FROM job"), 0);
}

/// Many rows that fit nothing any more are put aside in batches, and do not hold up the rest.
#[test]
fn rows_of_a_missing_exporter_do_not_stop_the_others() {
    let site = Site::new().exporter(NOTING).more("[queue.default]\nmax_queued = 5000\n").create();
    let rows = "
        WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1500)
        INSERT INTO job (filename, exporter, params, queue, rank, submitted, run_after, queued_since, last_asked)
        SELECT 'gone/' || i, 'gone', '{}', 'default', i / 100, i, i, i, i FROM n";
    site.database().execute(rows, []).unwrap();
    site.recount();
    site.ask("Emma").exits(75);
    site.tick().exits(0).warns("more jobs have failed");
    assert_eq!(site.count("SELECT count(*) FROM job WHERE status = 3"), 1000);
    run_all(&site);
    assert_eq!(site.count("SELECT count(*) FROM job WHERE status = 3"), 1500);
    assert_eq!(lines(&site, "runs"), ["Emma"]);
}
