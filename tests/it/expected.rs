//! The expected time of a pending job: true or absent, and then with the reason.

use serde_json::Value;

use crate::support::{
    running::{go, start},
    site::{LIMITS, Site, wait_until},
    together::{Beside, wait_for_runs},
    web::{get, site as web_site},
};

/// Stays until the test lets it go, and says how far it is if there is something to say.
const WAITS: &str = r#"[ ! -e ../../../percent ] || cat ../../../percent >>"$PRESSROOM_PROGRESS"
echo up >>../../../up; until [ -e ../../../go ]; do sleep 0.01; done; echo x >"$1""#;

/// Another exporter, in a queue of its own.
const PDF: &str = r#"
[exporter.pdf]
command = ["/bin/sh", "-c", '''echo up >>../../../up; until [ -e ../../../go ]; do sleep 0.01; done; echo x >"$1"''', "sh", "{output}"]
filename = "{title}.pdf"
queue = "paper"
[exporter.pdf.params.title]
required = true
"#;

fn site(more: &str) -> Site {
    Site::new().exporter(WAITS).more(more).create()
}

/// Successes of an exporter that took so many seconds each.
fn past(site: &Site, exporter: &str, seconds: &[f64]) {
    let database = site.database();
    let hour_ago = jiff::Timestamp::now().as_millisecond() - 3_600_000;
    for seconds in seconds {
        let sql = "INSERT INTO attempt (id, job, filename, exporter, params, queue, number, submitted, started, counts_from,
                                        limits, ended, result, duration)
                   SELECT printf('%026d', 1 + count(*)), 1, ?1 || '/x', ?1, '{}', 'default', 1, ?2, ?2, ?2, ?3, ?2, 'ok', ?4
                     FROM attempt";
        #[expect(clippy::cast_possible_truncation, reason = "some seconds")]
        let ms = (seconds * 1000.0) as i64;
        database.execute(sql, (exporter, hour_ago, LIMITS, ms)).unwrap();
    }
}

#[track_caller]
fn look(site: &Site, exporter: &str, title: &str) -> Value {
    site.run(&["request", exporter, &format!("title={title}"), "--no-enqueue", "--format", "json"]).exits(75).json()
}

/// The expected time lies between these, and nothing delays the job.
#[track_caller]
fn expects(answer: &Value, from: u64, to: u64) {
    let seconds = answer["eta_seconds"].as_u64();
    assert!(seconds.is_some_and(|seconds| (from..=to).contains(&seconds)), "{from} to {to}: {answer}");
    assert_eq!(answer.get("delay"), None, "{answer}");
    assert_eq!(answer["retry_after"], seconds.unwrap().clamp(2, 30));
}

/// There is no expected time, and this is why.
#[track_caller]
fn delayed(answer: &Value, delay: &str, reason: &str) {
    assert_eq!((&answer["delay"], &answer["reason"]), (&delay.into(), &reason.into()), "{answer}");
    assert_eq!(answer.get("eta_seconds"), None, "{answer}");
    assert!((2..=30).contains(&answer["retry_after"].as_u64().unwrap()), "{answer}");
}

fn end(site: &Site) {
    go(site);
    wait_for_runs(site);
}

#[test]
fn a_paused_or_draining_queue_has_no_expected_time_until_it_is_resumed() {
    let site = site("");
    past(&site, "epub", &[20.0]);
    site.brief_tick().exits(0);
    site.ask("Emma").exits(75).stderr("");
    for (command, delay, reason) in [
        ("pause", "paused", "the queue is paused by the administrator"),
        ("drain", "draining", "the queue is being drained by the administrator; no job is started"),
    ] {
        site.run(&["queues", command, "default"]).exits(0);
        delayed(&look(&site, "epub", "Emma"), delay, reason);
        site.ask("Emma").exits(75).stdout("queued 1\n").stderr(&format!("pressroom: {reason}\n"));
    }
    site.run(&["queues", "resume", "default"]).exits(0);
    expects(&look(&site, "epub", "Emma"), 60, 80);
}

#[test]
fn with_a_plain_crontab_the_next_tick_is_waited_for() {
    let site = site("");
    past(&site, "epub", &[1.0; 9]);
    for minute in [0.0, 60.0, 120.0] {
        site.clock(minute);
        site.brief_tick().exits(0);
    }
    site.clock(125.0);
    site.ask("Emma").exits(75).stderr("");
    expects(&look(&site, "epub", "Emma"), 50, 57);
    site.clock(170.0);
    expects(&look(&site, "epub", "Emma"), 6, 12);
}

#[test]
fn where_ticks_come_each_quarter_of_an_hour_nobody_is_told_that_they_are_late() {
    let site = site("");
    past(&site, "epub", &[1.0; 9]);
    for seconds in [0.0, 900.0] {
        site.clock(seconds);
        site.brief_tick().exits(0);
    }
    site.clock(1200.0);
    site.ask("Emma").exits(75).stderr("");
    expects(&look(&site, "epub", "Emma"), 590, 603);
    site.clock(900.0 + 900.0 + 125.0);
    delayed(&look(&site, "epub", "Emma"), "no_tick", "no tick has run for 17 minutes");
}

#[test]
fn while_a_tick_stays_nothing_waits_for_the_next_minute() {
    let site = site("[queue.default]\nmax_running = 1\n");
    past(&site, "epub", &[20.0; 9]);
    let lingering = Beside::start(&mut site.command(&["tick", "--allow-root", "--for", "10min"]));
    site.ask("Emma").exits(75);
    wait_until("it has started", || site.count("SELECT count(*) FROM job WHERE status = 1") == 1);
    site.ask("Nana").exits(75);
    site.clock(5.0);
    expects(&look(&site, "epub", "Emma"), 1, 16);
    expects(&look(&site, "epub", "Nana"), 30, 36);
    end(&site);
    drop(lingering);
}

/// Whoever is asked to end starts nothing at once any more: the next tick is a minute after its beginning.
#[test]
fn a_tick_that_was_ended_early_is_not_counted_on() {
    let site = site("");
    past(&site, "epub", &[1.0; 9]);
    let lingering = Beside::start(&mut site.command(&["tick", "--allow-root", "--for", "10min"]));
    wait_until("it stays", || site.count("SELECT coalesce(max(tick_until), 0) FROM meta") > 0);
    lingering.stop();
    site.ask("Emma").exits(75);
    site.clock(5.0);
    expects(&look(&site, "epub", "Emma"), 20, 60);
}

#[test]
fn without_a_tick_there_is_no_expected_time_and_in_the_end_the_reason() {
    let site = site("");
    past(&site, "epub", &[20.0]);
    site.ask("Emma").exits(75).stderr("");
    assert_eq!(look(&site, "epub", "Emma").get("eta_seconds"), None);
    site.clock(200.0);
    delayed(&look(&site, "epub", "Emma"), "no_tick", "no tick has run for 3 minutes");
}

#[test]
fn an_exporter_that_never_succeeded_has_no_expected_time() {
    let site = site("");
    site.brief_tick().exits(0);
    site.ask("Emma").exits(75).stderr("");
    let answer = look(&site, "epub", "Emma");
    assert_eq!((answer.get("eta_seconds"), answer.get("delay")), (None, None), "{answer}");
}

#[test]
fn lengths_that_differ_too_much_give_no_expected_time() {
    let site = site("");
    past(&site, "epub", &[1.0, 300.0, 1.0, 300.0, 1.0, 300.0]);
    start_one(&site, "Emma");
    let answer = look(&site, "epub", "Emma");
    assert_eq!((answer.get("eta_seconds"), answer.get("delay")), (None, None), "{answer}");
    site.clock(20.0);
    expects(&look(&site, "epub", "Emma"), 200, 285); // it is none of the short ones
    end(&site);
}

fn start_one(site: &Site, title: &str) {
    site.ask(title).exits(75);
    start(site);
}

#[test]
fn a_run_beyond_the_95th_percentile_takes_longer_than_usual_and_has_no_expected_time() {
    let site = site("");
    past(&site, "epub", &[20.0; 9]);
    start_one(&site, "Emma");
    site.clock(5.0);
    expects(&look(&site, "epub", "Emma"), 1, 16);
    site.clock(30.0);
    delayed(&look(&site, "epub", "Emma"), "longer", "it is taking longer than usual");
    site.ask("Emma").exits(75).stdout("started ?\n").stderr("");
    end(&site);
}

#[test]
fn the_percentage_and_the_time_that_it_took_tell_what_is_left() {
    let site = site("");
    past(&site, "epub", &[100.0, 200.0, 400.0, 50.0, 1000.0, 30.0, 700.0]);
    std::fs::write(site.path("percent"), "50 half\n").unwrap();
    start_one(&site, "Emma");
    wait_until("the progress is in the row", || site.ask("Emma").exits(75).out() == "started 50\n");
    site.clock(100.0);
    expects(&look(&site, "epub", "Emma"), 80, 160);
    end(&site);
}

#[test]
fn those_before_it_count_with_the_times_of_their_own_exporters() {
    let site = site(&format!("[queue.paper]\nmax_running = 1\n{PDF}"))
        .more(&format!("[queue.default]\nmax_running = 1\n{}", PDF.replace("queue = \"paper\"", "")));
    past(&site, "epub", &[10.0; 9]);
    past(&site, "pdf", &[100.0; 9]);
    site.brief_tick().exits(0);
    for title in ["a", "b"] {
        site.run(&["request", "pdf", &format!("title={title}")]).exits(75);
    }
    site.ask("Emma").exits(75);
    let answer = look(&site, "epub", "Emma");
    assert_eq!(answer["position"], 3);
    expects(&answer, 180, 400); // each waits for a tick
}

#[test]
fn a_host_that_is_full_with_another_queue_is_waited_for_and_named_where_no_time_is_known() {
    let head = "state_dir = \"s\"\n[cache]\nmin_free = \"0B\"\n[host]\nmin_free_memory = \"0B\"\nmax_running = 1\n";
    let queues = "[queue.paper]\nmax_running = 1\n[queue.default]\nmax_running = 1\n";
    let site = Site::new().exporter(WAITS).head(head).more(&format!("{queues}{PDF}")).create();
    past(&site, "epub", &[10.0; 9]);
    site.run(&["request", "pdf", "title=Nana"]).exits(75);
    start(&site);
    site.ask("Emma").exits(75);
    delayed(&look(&site, "epub", "Emma"), "host_full", "the server is busy with other exports");
    past(&site, "pdf", &[300.0; 9]);
    expects(&look(&site, "epub", "Emma"), 290, 380);
    end(&site);
}

#[test]
fn while_memory_or_disk_space_is_low_there_is_no_expected_time() {
    let site = site("");
    past(&site, "epub", &[10.0; 9]);
    start_one(&site, "Nana");
    site.ask("Emma").exits(75);
    let low = |cache: &str, host: &str| {
        format!("state_dir = \"s\"\n[cache]\nmin_free = \"{cache}\"\n[host]\nmin_free_memory = \"{host}\"\n")
    };
    let site = site.head(&low("0B", "900TB"));
    let reason = "the server is low on memory; the job waits until more is free";
    delayed(&look(&site, "epub", "Emma"), "memory_low", reason);
    let site = site.head(&low("900TB", "0B"));
    delayed(&look(&site, "epub", "Emma"), "disk_low", "the server is low on disk space; no job is started");
    let site = site.head(&low("0B", "0B"));
    expects(&look(&site, "epub", "Emma"), 40, 72);
    end(&site);
}

#[test]
fn while_its_breaker_is_open_an_export_is_having_trouble() {
    let settings = "retry_on = []\nbreaker = { failures = 2, pause = \"5m\" }";
    let site = Site::new().exporter_with("exit 75", settings).more("[queue.default]\nmax_running = 1\n").create();
    past(&site, "epub", &[10.0]);
    for title in ["one", "two", "three"] {
        site.ask(title).exits(75);
    }
    for _ in 0..2 {
        site.tick().exits(0);
    }
    let reason = "this kind of export keeps failing; it is tried again later";
    delayed(&look(&site, "epub", "three"), "trouble", reason);
    site.clock(301.0);
    site.tick().exits(0);
    site.clock(302.0);
}

/// A job that waits for its time has one that is known, and the reason for it.
#[test]
fn a_job_that_waits_for_its_time_says_until_when() {
    let site = site("");
    past(&site, "epub", &[10.0; 9]);
    site.brief_tick().exits(0);
    let time = jiff::Timestamp::now() + jiff::SignedDuration::from_secs(600);
    let time = time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    site.run(&["request", "epub", "title=Emma", "--not-before", &time]).exits(75);
    let answer = look(&site, "epub", "Emma");
    assert_eq!((&answer["delay"], &answer["not_before"]), (&"not_before".into(), &time.clone().into()), "{answer}");
    assert_eq!(answer["reason"], format!("waits until {time}"));
    assert!((590..=680).contains(&answer["eta_seconds"].as_u64().unwrap()), "{answer}");
}

#[test]
fn a_retry_is_waited_for_with_its_delay() {
    let settings = "retry_on = [\"exit\"]\nretry_delay = \"5m\"\nmax_attempts = 3";
    let site = Site::new().exporter_with("exit 1", settings).create();
    past(&site, "epub", &[10.0; 9]);
    site.ask("Emma").exits(75);
    site.tick().exits(0);
    let answer = look(&site, "epub", "Emma");
    assert_eq!((&answer["state"], &answer["delay"]), (&"queued".into(), &"not_before".into()), "{answer}");
    assert!((250..=450).contains(&answer["eta_seconds"].as_u64().unwrap()), "{answer}");
}

#[test]
fn jobs_of_an_exporter_that_cannot_be_used_are_held() {
    let lang = "[exporter.epub.params.lang]\npattern = \"PATTERN\"\ndefault = \"\"\n";
    let site = site(&lang.replace("PATTERN", "[a-z]*"));
    past(&site, "epub", &[10.0]);
    site.brief_tick().exits(0);
    site.ask("Emma").exits(75);
    expects(&look(&site, "epub", "Emma"), 10, 80);
    let site = site.more(&lang.replace("PATTERN", "("));
    delayed(&look(&site, "epub", "Emma"), "held", "this kind of export is misconfigured; its jobs are held");
}

/// Each waits for a tick.
#[test]
fn what_it_is_made_from_comes_first() {
    let pdf = "[exporter.pdf]\nsource = \"epub\"\ncommand = [\"cp\", \"{source}\", \"{output}\"]\n\
               filename = \"{title}.pdf\"\n[exporter.pdf.params.title]\nrequired = true\n";
    let site = site(pdf);
    past(&site, "epub", &[100.0; 9]);
    past(&site, "pdf", &[7.0; 9]);
    site.brief_tick().exits(0);
    site.run(&["request", "pdf", "title=Emma"]).exits(75);
    expects(&look(&site, "epub", "Emma"), 150, 165);
    expects(&look(&site, "pdf", "Emma"), 180, 190);
    site.run(&["queues", "pause", "default"]).exits(0);
    delayed(&look(&site, "pdf", "Emma"), "paused", "the queue is paused by the administrator");
}

#[test]
fn the_page_tells_the_reason_in_place_of_a_time_in_the_readers_language() {
    let site = web_site().create();
    past(&site, "epub", &[20.0; 9]);
    site.brief_tick().exits(0);
    let page = |language: &str| get(&site, "title=Emma", &[("HTTP_ACCEPT_LANGUAGE", language)]);
    page("en").is(202).says("Expected time</dt><dd id=\"expected\">8").says("<p id=\"delay\" hidden></p>");
    site.run(&["queues", "pause", "default"]).exits(0);
    for (language, sentence) in [
        ("en", "The administrator has paused the queue."),
        ("de", "Die Verwaltung hat die Warteschlange angehalten."),
        ("fr", "L’administrateur a suspendu la file d’attente."),
        ("ar", "أوقف المسؤول قائمة الانتظار مؤقتًا."),
    ] {
        page(language).is(202).says(&format!("<p id=\"delay\">{sentence}")).says("<dd id=\"expected\"></dd>");
    }
    assert_eq!(get(&site, "title=Emma&format=json", &[]).json()["delay"], "paused");
}

#[test]
fn a_running_row_that_names_an_exporter_without_a_configuration_is_answered_without_a_time() {
    let site = site("");
    site.ask("Emma").exits(75);
    let sql = "UPDATE job SET exporter = 'ghost', status = 1, started = submitted, attempts = 1, attempt = ?1";
    site.database().execute(sql, [format!("{:026}", 1)]).unwrap();
    let answer = look(&site, "epub", "Emma");
    assert_eq!((&answer["state"], answer.get("eta_seconds")), (&Value::from("started"), None), "{answer}");
}
