//! Derived formats: the source is made once and reused, waited for, pinned, and failed with.

use std::os::unix::fs::PermissionsExt;

use crate::support::{
    classes::{attempts, later, lines, request, run_all, set_mode, shell, touch},
    formats::{EPUB, site},
    site::{Site, wait_until},
    together::{Beside, at_once, wait_for_runs},
};

#[test]
fn ten_clients_who_ask_at_once_cause_one_run_of_each() {
    let site = site(EPUB);
    let lingering = Beside::start(&mut site.command(&["tick", "--allow-root", "--for", "10min"]));
    let ask =
        |client| shell(&site, &format!("pressroom request pdf title=Emma --client c{client} --wait 1min >/dev/null"));
    for done in at_once((0..10).map(ask)) {
        done.exits(0).stderr("");
    }
    drop(lingering);
    wait_for_runs(&site);
    site.tick().exits(0);
    assert_eq!(lines(&site, "runs"), ["epub", "pdf"]);
    assert_eq!(std::fs::read_to_string(site.cached("pdf/Emma.pdf")).unwrap(), "Emma\npdf\n");
}

#[test]
fn a_chain_of_three_is_made_in_order_and_its_parts_are_reused() {
    let site = site(EPUB);
    request(&site, "preview title=Emma").exits(75);
    assert_eq!(site.count("SELECT count(*) FROM job WHERE waits = 2"), 2);
    for _ in 0..3 {
        run_all(&site);
    }
    assert_eq!(lines(&site, "runs"), ["epub", "pdf", "preview"]);
    std::fs::remove_file(site.cached("preview/Emma.png")).unwrap();
    request(&site, "preview title=Emma").exits(75).stdout("queued 1\n");
    run_all(&site);
    assert_eq!(lines(&site, "runs"), ["epub", "pdf", "preview", "preview"]);
}

#[test]
fn a_source_that_has_expired_is_made_anew() {
    let site = site(EPUB);
    site.ask("Emma").exits(75);
    site.tick().exits(0);
    site.clock(601.0);
    request(&site, "pdf title=Emma").exits(75);
    run_all(&site);
    run_all(&site);
    assert_eq!(lines(&site, "runs"), ["epub", "epub", "pdf"]);
}

#[test]
fn prune_leaves_a_source_alone_while_something_is_to_be_made_from_it() {
    let site = site(EPUB);
    set_mode(&site, "paper", "paused");
    request(&site, "pdf title=Emma").exits(75);
    run_all(&site);
    later(&site, 1800.0);
    assert!(site.cached("epub/Emma.epub").exists());
    set_mode(&site, "paper", "open");
    run_all(&site);
    assert_eq!(lines(&site, "runs"), ["epub", "pdf"], "it was made for this job");
    later(&site, 1801.0);
    assert!(!site.cached("epub/Emma.epub").exists());
}

#[test]
fn a_failed_source_fails_all_that_is_made_from_it_with_its_reason() {
    let site = site(r#"echo "no such book" >"$PRESSROOM_MESSAGE"; exit 65"#);
    request(&site, "preview title=Emma").exits(75);
    site.tick().exits(0).stderr("");
    for exporter in ["epub", "pdf", "preview"] {
        request(&site, &format!("{exporter} title=Emma")).exits(70).stdout("failed_unknown no such book\n");
    }
    site.tick().exits(0).stderr(""); // bad input is nothing to mail, three times less so
    let answer = request(&site, "pdf title=Emma --format json").json();
    assert_eq!(answer["filename"], "pdf/Emma.pdf");
    let other = request(&site, "pdf title=Emma --format json").json();
    assert_eq!(answer["message"], other["message"]);
}

#[test]
fn a_source_that_times_out_times_out_what_waits_for_it_and_both_are_mailed() {
    let script = "sleep 600";
    let site = Site::new().exporter_with(script, "timeout = \"1s\"\nmax_attempts = 1").more(DERIVED_PLAIN).create();
    request(&site, "pdf title=Emma").exits(75);
    site.tick().exits(0);
    request(&site, "pdf title=Emma")
        .exits(70)
        .stdout("failed_timeout the file that it is made from could not be created\n");
    let mail = site.mailed();
    mail.exits(0).warns("(epub/Emma.epub) failed: timeout");
    mail.warns("(pdf/Emma.pdf) failed: timeout, since epub/Emma.epub could not be made");
    site.tick().exits(0).stderr("");
}

const DERIVED_PLAIN: &str = "[exporter.pdf]\nsource = \"epub\"\ncommand = [\"/bin/cp\", \"{source}\", \"{output}\"]\nfilename = \"{title}.pdf\"\n";

/// While the source is being retried nobody fails.
#[test]
fn what_waits_for_a_source_outlives_its_retries() {
    let flaky = r#"echo epub >>../../../runs; [ -e ../../../well ] || exit 75; echo "$2" >"$1""#;
    let site = site(flaky);
    request(&site, "pdf title=Emma").exits(75);
    site.tick().exits(0);
    assert_eq!(site.count("SELECT count(*) FROM job WHERE status = 0"), 2);
    touch(&site, "well");
    site.clock(60.0);
    site.tick().exits(0);
    run_all(&site);
    assert_eq!(lines(&site, "runs"), ["epub", "epub", "pdf"]);
}

#[test]
fn position_and_expected_time_count_the_source_too() {
    let site = site(EPUB);
    let past = |exporter: &str, seconds: i64| {
        let sql = format!(
            "INSERT INTO attempt (id, job, filename, exporter, params, queue, number, submitted, started, counts_from,
                                  limits, ended, result, duration)
             VALUES (printf('%026d', {seconds}), 1, '{exporter}/x', '{exporter}', '{{}}', 'default', 1, 1, 1, 1,
                     '{{}}', 1, 'ok', {seconds}000)"
        );
        site.database().execute(&sql, []).unwrap();
    };
    site.brief_tick().exits(0);
    for title in ["a", "b"] {
        site.ask(title).exits(75);
    }
    past("epub", 100);
    let answer = request(&site, "pdf title=Emma --format json").exits(75).json();
    assert_eq!((&answer["position"], answer.get("eta_seconds")), (&4.into(), None), "third there, then first here");
    past("pdf", 7);
    let answer = request(&site, "pdf title=Emma --format json").json();
    let seconds = |answer: &serde_json::Value| answer["eta_seconds"].as_u64().unwrap();
    let (derived, source) = (seconds(&answer), seconds(&request(&site, "epub title=Emma --format json").json()));
    assert!((150..=160).contains(&source), "four seats: it is made in the round a minute from the last: {source}");
    assert!((177..=187).contains(&derived), "in the round after it has been made: {derived}");
}

#[test]
fn a_source_whose_queue_is_full_is_refused_and_nothing_is_queued() {
    let site = site(EPUB).more(&format!("[queue.default]\nmax_queued = 1\n{DERIVED_PLAIN}"));
    site.ask("other").exits(75);
    request(&site, "pdf title=Emma").exits(69).says("unavailable");
    assert_eq!(site.count("SELECT count(*) FROM job"), 1);
}

/// The two of them need two places.
#[test]
fn a_queue_with_one_place_left_takes_no_file_whose_source_has_to_be_made() {
    let more = format!("[queue.default]\nmax_queued = 3\nmax_per_client = 2\n{DERIVED_PLAIN}");
    let site = Site::new().exporter(EPUB).more(&more).create();
    for title in ["one", "two"] {
        site.ask(title).exits(75);
    }
    request(&site, "pdf title=Emma").exits(69).says("unavailable");
    assert_eq!(site.count("SELECT count(*) FROM job"), 2);
    request(&site, "pdf title=one").exits(75); // its source has its place already
    run_all(&site);
    request(&site, "epub title=three --client ann").exits(75);
    request(&site, "pdf title=Emma --client ann").exits(69).says("limited");
    request(&site, "pdf title=Emma --client bob").exits(75);
}

/// What was admitted once is not stopped by a queue that is full of its like.
#[test]
fn a_source_that_is_lost_again_is_made_although_the_queue_is_full() {
    let rules = "[queue.default]\nmax_queued = 2\nmax_per_client = 1\n[queue.paper]\nmax_running = 1\n";
    let pdf = DERIVED_PLAIN.replace("source =", "queue = \"paper\"\nsource =");
    let site = Site::new().exporter(EPUB).more(&format!("{rules}{pdf}")).create();
    set_mode(&site, "paper", "paused");
    request(&site, "pdf title=Emma --client ann").exits(75);
    run_all(&site);
    std::fs::remove_file(site.cached("epub/Emma.epub")).unwrap();
    set_mode(&site, "default", "paused");
    request(&site, "epub title=a --client ann").exits(75);
    site.ask("b").exits(75);
    set_mode(&site, "paper", "open");
    site.tick().exits(0).stderr("");
    assert_eq!(site.count("SELECT count(*) FROM job WHERE filename = 'epub/Emma.epub' AND status = 0"), 1);
    set_mode(&site, "default", "open");
    wait_until("the PDF is there", || {
        site.tick().exits(0);
        site.cached("pdf/Emma.pdf").exists()
    });
    assert_eq!(attempts(&site, "pdf"), 1);
}

#[test]
fn the_dry_run_says_which_source_would_be_made_first() {
    let site = site(EPUB);
    set_mode(&site, "paper", "paused");
    request(&site, "pdf title=Emma").exits(75);
    run_all(&site);
    std::fs::remove_file(site.cached("epub/Emma.epub")).unwrap();
    set_mode(&site, "paper", "open");
    let dry = site.run(&["tick", "--dry-run", "--allow-root"]);
    dry.exits(0).says("queue job 3 (epub/Emma.epub): pdf/Emma.pdf is made from it");
    dry.says("claim job 3 (epub/Emma.epub): ")
        .says("(pdf/Emma.pdf): it waits for its source epub/Emma.epub, which is started");
    assert_eq!(site.count("SELECT count(*) FROM job"), 1);
}

/// A PDF with a rule of its own for its title.
const PDF: &str = r#"
[exporter.pdf]
source = "epub"
command = ["/bin/cp", "{source}", "{output}"]
filename = "{title}.pdf"
[exporter.pdf.params.title]
required = true
"#;

/// A rule that became stricter while a PDF waits: its source cannot be asked for any more. That is this job's matter alone.
#[test]
fn a_job_whose_source_does_not_fit_any_more_fails_alone() {
    let site = Site::new().more(PDF).create();
    request(&site, "epub title=Candide").exits(75);
    site.tick().exits(0);
    request(&site, "pdf title=Candide").exits(75);
    std::fs::remove_file(site.cached("epub/Candide.epub")).unwrap();
    let kept = std::fs::read_to_string(site.config()).unwrap();
    let stricter = kept.replacen("required = true\n", "required = true\nmax_bytes = 5\n", 1);
    std::fs::write(site.config(), stricter).unwrap();
    request(&site, "epub title=Emma").exits(75);
    let done = site.tick();
    done.exits(0);
    assert!(site.cached("epub/Emma.epub").exists(), "{}", done.err());
    site.mailed().exits(0).warns("pdf/Candide.pdf) failed: spawn, parameter title is longer than 5 bytes");
}

/// The directory of the source cannot be entered: jobs that need nothing of it are made.
#[test]
fn a_source_that_cannot_be_looked_at_stops_no_other_job() {
    let site = Site::new().more(PDF).by_nobody().create();
    request(&site, "pdf title=Candide").exits(75);
    site.tick();
    request(&site, "pdf title=Nana").exits(75);
    let text = "[exporter.text]\ncommand = [\"/bin/cp\", \"/etc/hostname\", \"{output}\"]\nfilename = \"a.txt\"\n";
    let site = site.more(&format!("{PDF}{text}"));
    std::fs::set_permissions(site.path("s/cache/epub"), std::fs::Permissions::from_mode(0o000)).unwrap();
    request(&site, "text").exits(75);
    site.tick().exits(0);
    assert!(site.cached("text/a.txt").exists());
    std::fs::set_permissions(site.path("s/cache/epub"), std::fs::Permissions::from_mode(0o2750)).unwrap();
    crate::support::site::wait_until("the PDF is made", || {
        site.tick().exits(0);
        site.cached("pdf/Nana.pdf").exists()
    });
}

/// The configuration names another source while the PDF waits: the PDF is made from that one.
#[test]
fn a_source_that_was_changed_in_the_configuration_counts_for_jobs_that_wait() {
    let other = PDF.replace("exporter.pdf", "exporter.other").replace("source = \"epub\"\n", "");
    let other = other.replace("\"/bin/cp\", \"{source}\"", "\"/bin/cp\", \"/etc/hostname\"").replace(".pdf", ".txt");
    let site = Site::new().more(&format!("{PDF}{other}")).create();
    request(&site, "epub title=Emma").exits(75);
    request(&site, "other title=Emma").exits(75);
    site.tick().exits(0).stderr("");
    request(&site, "pdf title=Emma").exits(75);
    let changed = std::fs::read_to_string(site.config()).unwrap().replace("source = \"epub\"", "source = \"other\"");
    std::fs::write(site.config(), changed).unwrap();
    site.tick().exits(0).stderr("");
    let made = std::fs::read(site.cached("pdf/Emma.pdf")).unwrap();
    assert_eq!(made, std::fs::read("/etc/hostname").unwrap());
}
