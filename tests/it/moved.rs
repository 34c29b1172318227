//! The configuration has changed under queued jobs: their queue, their exporter or both are gone.

use crate::support::{
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
    dry.exits(0).says("move job 1 (epub/Emma.epub): from queue slow to queue default");
    dry.says("claim job 1 (epub/Emma.epub)");
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

const OLD: &str = r#"
[exporter.old]
queue = "slow"
command = ["/bin/sh", "-c", 'echo old >"$1"', "sh", "{output}"]
filename = "{title}.txt"
[exporter.old.params.title]
required = true
"#;

/// Neither a plain tick nor a lingering one takes it for failed, and no attempt is used up.
#[test]
fn a_job_whose_exporter_is_gone_is_held_and_goes_on_when_it_is_back() {
    let site = Site::new().more(&format!("{SLOW}{OLD}")).create();
    request(&site, "old title=Emma").exits(75);
    site.ask("Nana").exits(75);
    let site = site.more("");
    site.tick().exits(0).stderr("");
    site.ask("Nana").exits(0);
    site.run(&["tick", "--allow-root", "--for", "50ms"]).exits(0).stderr("");
    assert_eq!(site.count("SELECT count(*) FROM attempt WHERE exporter = 'old'"), 0);
    assert_eq!(site.text("SELECT status || ' ' || attempts || ' ' || queue FROM job"), "0 0 slow");
    let why = "exporter old is not in the configuration";
    site.run(&["jobs", "list"]).exits(0).says("queued").says(&format!("held: {why}"));
    site.run(&["jobs", "show", "1"]).exits(0).says(&format!("queued, held: {why}"));
    for command in ["list", "show"] {
        let words = ["jobs", command, "1", "--format", "json"];
        let told =
            site.run(&if command == "list" { [&words[..2], &words[3..]].concat() } else { words.to_vec() }).json();
        assert_eq!((&told["status"], &told["held"], &told["reason"]), (&"queued".into(), &true.into(), &why.into()));
    }
    site.run(&["status"]).exits(1).says(&format!("warning: {why}: 1 queued job of it held"));
    site.run(&["tick", "--dry-run"]).exits(0).stdout(&format!("hold job 1 (old/Emma.txt): {why}\n"));
    let site = site.more(&format!("{SLOW}{OLD}"));
    site.tick().exits(0).stderr("");
    request(&site, "old title=Emma").exits(0);
    assert_eq!(site.run(&["jobs", "list"]).out().lines().count(), 1);
}

/// It is dropped after a day; see `dropped::a_job_whose_exporter_has_gone_is_dropped_after_a_day`.
#[test]
fn a_day_without_ticks_does_not_count_for_a_job_whose_exporter_is_gone() {
    let site = Site::new().more(&format!("{SLOW}{OLD}")).create();
    request(&site, "old title=Emma").exits(75);
    let site = site.more("");
    crate::support::classes::later(&site, 25.0 * 3600.0);
    assert_eq!(site.count("SELECT count(*) FROM job"), 1);
}

/// A parameter that does not fit any more may have been written by the web user: such a row is not kept, but it costs
/// no attempt either, and the breaker does not count it.
#[test]
fn a_job_that_does_not_fit_its_exporter_any_more_fails_without_an_attempt() {
    let site = Site::new().exporter(NOTING).create();
    for title in ["Emma", "Nana", "Faust", "Dune", "Kim", "Jo"] {
        site.ask(title).exits(75);
    }
    let site = site.more("max_bytes = 4\n");
    site.mailed().exits(0).warns("job 3 (epub/Faust.epub) failed: spawn, parameter title is longer than 4 bytes");
    assert_eq!(site.count("SELECT count(*) FROM attempt WHERE filename = 'epub/Faust.epub'"), 0);
    assert_eq!(site.text("SELECT status || ' ' || attempts FROM job"), "3 0");
    let site = site.more("");
    site.run(&["jobs", "retry", "3"]).exits(0);
    run_all(&site);
    site.ask("Faust").exits(0);
}

/// However many they are.
#[test]
fn rows_of_a_missing_exporter_do_not_stop_the_others() {
    let site = Site::new().exporter(NOTING).more("[queue.default]\nmax_queued = 5000\n").create();
    let rows = "
        WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1500)
        INSERT INTO job (filename, exporter, params, queue, rank, submitted, run_after, queued_since, last_asked)
        SELECT 'gone/' || i, 'gone', '{}', 'default', i / 100, i, i, 8e12, i FROM n";
    site.database().execute(rows, []).unwrap();
    site.recount();
    site.ask("Emma").exits(75);
    site.tick().exits(0).stderr("");
    assert_eq!(lines(&site, "runs"), ["Emma"]);
    assert_eq!(site.count("SELECT count(*) FROM job WHERE status = 0 AND attempts = 0"), 1500);
    site.run(&["status"]).exits(1).says("1500 queued jobs of it held");
}

/// Put aside in batches.
#[test]
fn rows_that_fit_nothing_any_more_do_not_stop_the_others() {
    let site = Site::new().exporter(NOTING).more("[queue.default]\nmax_queued = 5000\n").create();
    let rows = "
        WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1500)
        INSERT INTO job (filename, exporter, params, queue, rank, submitted, run_after, queued_since, last_asked)
        SELECT 'epub/' || i, 'epub', '{}', 'default', i / 100, i, i, 8e12, i FROM n";
    site.database().execute(rows, []).unwrap();
    site.recount();
    site.ask("Emma").exits(75);
    site.tick().exits(0).warns("more jobs have failed");
    assert_eq!(site.count("SELECT count(*) FROM job WHERE status = 3"), 1000);
    run_all(&site);
    assert_eq!(site.count("SELECT count(*) FROM job WHERE status = 3"), 1500);
    assert_eq!(lines(&site, "runs"), ["Emma"]);
}
