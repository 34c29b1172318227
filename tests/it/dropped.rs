//! No queued job is lost in silence: what does not count for `queued_ttl`, and who is told of what was dropped.

use std::fs;

use crate::support::{
    classes::{forget_the_boot, later, request, set_mode},
    site::Site,
    together::AFTER_ITS_ROUND,
};

/// One seat, taken by a book that is made until the test says go.
fn busy_site(extra: &str, more: &str) -> Site {
    let more = format!("[queue.default]\nmax_running = 1\n[queue.other]\nmax_running = 1\n{more}");
    let site = Site::new().exporter_with(&format!("{AFTER_ITS_ROUND}echo x >\"$1\""), extra).more(&more).create();
    site.ask("First").exits(75);
    site.brief_tick().exits(0);
    site.ask("Emma").exits(75);
    site
}

/// A tick each minute; the result is what the last one has said.
fn minutes(site: &Site, from: i32, to: i32) -> String {
    let mut said = String::new();
    for minute in from..=to {
        site.clock(60.0 * f64::from(minute));
        forget_the_boot(site);
        said = site.brief_tick().exits(0).err();
    }
    said
}

/// As if a queued job had waited for so much longer.
fn age(site: &Site, title: &str, seconds: i64) {
    let sql = "UPDATE job SET queued_since = queued_since - ?1, submitted = submitted - ?1 WHERE filename = ?2";
    site.database().execute(sql, (seconds * 1000, format!("epub/{title}.epub"))).unwrap();
}

fn is_queued(site: &Site, title: &str) -> bool {
    site.count(&format!("SELECT count(*) FROM job WHERE status = 0 AND filename = 'epub/{title}.epub'")) == 1
}

fn entries(site: &Site) -> i64 {
    site.count("SELECT count(*) FROM attempt WHERE result = 'dropped'")
}

#[test]
fn a_job_that_waits_for_a_seat_is_dropped_after_queued_ttl_and_not_before() {
    let site = busy_site("queued_ttl = \"10m\"", "");
    assert_eq!(minutes(&site, 1, 9), "");
    assert!(is_queued(&site, "Emma"));
    let said = minutes(&site, 10, 11);
    assert!(!is_queued(&site, "Emma"), "{said}");
    fs::write(site.path("go"), "").unwrap();
}

#[test]
fn the_time_in_which_its_queue_is_paused_or_draining_does_not_count() {
    let site = busy_site("queued_ttl = \"10m\"", "");
    minutes(&site, 1, 5);
    set_mode(&site, "default", "paused");
    minutes(&site, 6, 20);
    set_mode(&site, "default", "draining");
    minutes(&site, 21, 35);
    set_mode(&site, "default", "open");
    minutes(&site, 36, 38);
    assert!(is_queued(&site, "Emma"), "five minutes before and three after it");
    minutes(&site, 39, 43);
    assert!(!is_queued(&site, "Emma"), "as much time as it had has passed");
    minutes(&site, 44, 44);
    assert_eq!(site.count("SELECT count(*) FROM standstill"), 0, "nothing is queued that needs it");
    fs::write(site.path("go"), "").unwrap();
}

#[test]
fn the_time_in_which_nobody_ticked_or_the_clock_was_set_does_not_count() {
    let site = busy_site("queued_ttl = \"30m\"", "");
    later(&site, 3000.0); // the clock was set: and the second round is no first one
    assert!(is_queued(&site, "Emma"));
    minutes(&site, 51, 53);
    site.clock(60.0 * 58.0); // five minutes without a tick, which is no reason for a calm round
    forget_the_boot(&site);
    site.brief_tick().exits(0);
    minutes(&site, 59, 81);
    assert!(is_queued(&site, "Emma"), "26 minutes");
    minutes(&site, 82, 88);
    assert!(!is_queued(&site, "Emma"));
    fs::write(site.path("go"), "").unwrap();
}

#[test]
fn a_job_that_waited_for_the_first_tick_of_all_is_not_dropped() {
    let site = Site::new().exporter_with("echo x >\"$1\"", "").create();
    site.ask("Emma").exits(75);
    age(&site, "Emma", 100_000);
    site.tick().exits(0).stderr("");
    site.ask("Emma").exits(0);
}

#[test]
fn the_time_in_which_the_disk_is_low_does_not_count() {
    let site = Site::new().exporter_with("echo x >\"$1\"", "queued_ttl = \"10m\"").create();
    site.ask("Emma").exits(75);
    let config = fs::read_to_string(site.config()).unwrap();
    fs::write(site.config(), config.replace("min_free = \"0B\"", "min_free = \"900PB\"")).unwrap();
    site.brief_tick().exits(0);
    minutes(&site, 1, 15);
    assert!(is_queued(&site, "Emma"));
    fs::write(site.config(), config).unwrap();
    site.tick().exits(0).stderr("");
    site.ask("Emma").exits(0);
}

#[test]
fn the_time_in_which_the_breaker_is_open_does_not_count() {
    let site = busy_site("queued_ttl = \"10m\"\nbreaker = { failures = 1, pause = \"20m\" }", "");
    let broken = "INSERT INTO attempt (id, job, filename, exporter, params, queue, number, submitted, started, counts_from,
                                       limits, ended, result, duration)
                  SELECT '01ARZ3NDEKTSV4RRFFQ69G5FAV', 99, 'epub/x.epub', 'epub', '{}', 'default', 1, submitted, submitted,
                         submitted, limits, submitted, 'spawn', 1 FROM attempt LIMIT 1";
    site.database().execute_batch(broken).unwrap();
    minutes(&site, 1, 19);
    assert!(is_queued(&site, "Emma"));
    minutes(&site, 20, 29);
    assert!(is_queued(&site, "Emma"));
    minutes(&site, 30, 33);
    assert!(!is_queued(&site, "Emma"));
    fs::write(site.path("go"), "").unwrap();
}

#[test]
fn what_is_made_from_another_file_does_not_age_while_that_one_cannot_be_started() {
    let pdf = "[exporter.pdf]\nsource = \"epub\"\nqueue = \"other\"\nqueued_ttl = \"10m\"\n\
               command = [\"/bin/cp\", \"{source}\", \"{output}\"]\nfilename = \"{title}.pdf\"\n";
    let site = Site::new().exporter_with("echo x >\"$1\"", "").more(&format!("[queue.other]\n{pdf}")).create();
    request(&site, "pdf title=Emma").exits(75);
    set_mode(&site, "default", "paused");
    site.brief_tick().exits(0);
    minutes(&site, 1, 15);
    assert_eq!(site.count("SELECT count(*) FROM job WHERE status = 0"), 2);
}

#[test]
fn a_job_keeps_the_time_that_it_has_left_when_it_moves_to_another_queue() {
    let site = busy_site("queued_ttl = \"10m\"\nqueue = \"other\"", "");
    site.database().execute_batch("UPDATE job SET queue = 'gone' WHERE status = 0").unwrap();
    site.recount();
    set_mode(&site, "gone", "paused");
    site.database()
        .execute_batch("UPDATE job SET waits = 1, run_after = run_after + 1200000 WHERE status = 0") // not moved before that
        .unwrap();
    site.recount();
    minutes(&site, 1, 20);
    assert!(is_queued(&site, "Emma"));
    minutes(&site, 21, 23);
    assert_eq!(site.text("SELECT queue FROM job WHERE status = 0"), "other");
    minutes(&site, 24, 28);
    assert!(is_queued(&site, "Emma"));
    minutes(&site, 29, 34);
    assert!(!is_queued(&site, "Emma"));
    fs::write(site.path("go"), "").unwrap();
}

#[test]
fn none_is_a_value_and_the_default_for_tasks_and_for_what_schedules_queue() {
    let more = "[exporter.index]\noutput = \"none\"\ncommand = [\"/bin/true\"]\n[queue.index]\n\
                [schedule.books]\nexporter = \"epub\"\nevery = \"12h\"\nparams = { title = \"Emma\" }\n";
    let site = Site::new().exporter_with("echo x >\"$1\"", "").more(more).create();
    set_mode(&site, "default", "paused");
    set_mode(&site, "index", "paused");
    site.brief_tick().exits(0); // the schedule is due
    site.ask("Nana").exits(75);
    request(&site, "index").exits(75);
    site.database().execute_batch("UPDATE job SET queued_since = queued_since - 2000000000").unwrap();
    site.brief_tick().exits(0).stderr(
        "pressroom: job 2 (epub/Nana.epub) was dropped: it could have been started for longer than queued_ttl (1h)\n",
    );
    assert_eq!(site.count("SELECT count(*) FROM job WHERE status = 0"), 2);
    let none = Site::new().exporter_with("echo x >\"$1\"", "queued_ttl = \"none\"").create();
    set_mode(&none, "default", "paused");
    none.brief_tick().exits(0);
    none.ask("Emma").exits(75);
    age(&none, "Emma", 100_000_000);
    none.brief_tick().exits(0).stderr("");
    assert!(is_queued(&none, "Emma"));
}

#[test]
fn a_value_that_is_given_counts_for_schedules_too() {
    let more = "[schedule.books]\nexporter = \"epub\"\nevery = \"12h\"\nparams = { title = \"Emma\" }\n";
    let site = Site::new().exporter_with("echo x >\"$1\"", "queued_ttl = \"1h\"").more(more).create();
    set_mode(&site, "default", "paused");
    site.brief_tick().exits(0);
    age(&site, "Emma", 4000);
    site.brief_tick().exits(0).warns("job 1 (epub/Emma.epub) was dropped");
}

/// A paused queue, a job that waited for too long, and the tick that drops it.
fn dropped() -> Site {
    let site = Site::new().exporter_with("echo x >\"$1\"", "").create();
    set_mode(&site, "default", "paused");
    site.brief_tick().exits(0);
    site.ask("Emma").exits(75);
    age(&site, "Emma", 4000);
    site.brief_tick().exits(0).warns("job 1 (epub/Emma.epub) was dropped: it could have been started for longer than");
    site
}

#[test]
fn what_was_dropped_is_an_entry_of_the_history_and_said_once() {
    let site = dropped();
    site.brief_tick().exits(0).stderr("");
    assert_eq!(entries(&site), 1);
    site.run(&["jobs", "history"]).exits(0).says("dropped  -").says("epub/Emma.epub");
    let entry = site.run(&["jobs", "history", "--result", "dropped", "--format", "json"]).json();
    assert_eq!((&entry["result"], &entry["drop_reason"]), (&"dropped".into(), &"too_old".into()));
    assert_eq!((&entry["job"], &entry["number"], &entry["duration"]), (&1.into(), &0.into(), &0.0.into()));
    assert_eq!(entry["message"], "it waited longer than 1 hour");
    site.run(&["jobs", "show", "1"]).exits(0).says("job 1 was dropped at").says("longer than queued_ttl (1h)");
    assert_eq!(site.run(&["jobs", "show", "1", "--format", "json"]).json()["result"], "dropped");
    site.run(&["jobs", "log", "1"]).exits(66).warns("was dropped at").warns("so there is no log");
    site.run(&["jobs", "cancel", "1"]).exits(65).warns("was dropped at");
    site.run(&["check", "--allow-root"]).exits(0); // the counts are right
}

#[test]
fn status_and_monitoring_tell_of_what_was_dropped() {
    let site = dropped();
    let status = site.run(&["status"]);
    status.says("1 job was dropped in the last hour (1 waited longer than queued_ttl)").says("; 1 job dropped");
    let json = site.run(&["status", "--format", "json"]).json();
    assert_eq!(json["dropped"]["too_old"], 1);
    assert_eq!(json["failures"], serde_json::json!({}), "nothing has failed");
    let metrics = site.run(&["status", "--format", "prometheus"]);
    metrics.says("pressroom_dropped_total{exporter=\"epub\",reason=\"too_old\"} 1\n");
    assert!(!metrics.out().contains("result=\"dropped\""), "it is no attempt");
}

#[test]
fn the_next_request_is_told_and_who_only_looks_as_well() {
    let site = dropped();
    let why = "an earlier request for this file was dropped: it waited longer than 1 hour";
    let look = |format: &str| request(&site, &format!("epub title=Emma --no-enqueue --format {format}"));
    let json = look("json");
    json.exits(66);
    assert_eq!((&json.json()["state"], &json.json()["reason"]), (&"absent".into(), &why.into()));
    look("text").exits(66).stdout("absent\n").stderr(&format!("pressroom: {why}\n"));
    let json = request(&site, "epub title=Emma --format json");
    json.exits(75);
    let paused = "the queue is paused by the administrator";
    assert_eq!(json.json()["state"], "queued");
    assert_eq!(json.json()["reason"], format!("{paused}; {why}"));
    site.ask("Emma").exits(75).stdout("queued 1\n").warns(why).warns(paused);
    site.ask("Nana").exits(75).stderr(&format!("pressroom: {paused}\n"));
    site.clock(170.0);
    site.ask("Emma").exits(75).warns(why);
    later(&site, 310.0);
    site.ask("Emma").exits(75).stderr(&format!("pressroom: {paused}\n"));
}

#[test]
fn what_an_admin_cancels_and_what_nobody_asks_about_is_told_without_an_alarm() {
    let site = Site::new().exporter_with("echo x >\"$1\"", "abandon_after = \"5m\"").create();
    set_mode(&site, "default", "paused");
    for title in ["Emma", "Nana"] {
        site.ask(title).exits(75);
    }
    site.run(&["jobs", "cancel", "epub/Emma.epub"]).exits(0).stdout("cancelled job 1 (epub/Emma.epub)\n");
    site.database().execute_batch("UPDATE job SET queued_since = 1, last_asked = last_asked - 400000").unwrap();
    site.database().execute_batch("UPDATE job SET queued_since = last_asked").unwrap();
    site.brief_tick().exits(0).stderr("");
    let reasons = site.run(&["jobs", "history", "--sort", "ended", "--format", "json"]).out();
    let reasons: Vec<serde_json::Value> = reasons.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |place: usize| (&reasons[place]["filename"], &reasons[place]["drop_reason"]);
    assert_eq!(of(0), (&"epub/Emma.epub".into(), &"cancelled".into()));
    assert_eq!(of(1), (&"epub/Nana.epub".into(), &"abandoned".into()));
    let status = site.run(&["status"]);
    status.says("; 2 jobs dropped");
    assert!(!status.out().contains("dropped in the last hour"), "{}", status.out());
    request(&site, "epub title=Emma --no-enqueue").warns("dropped: it was cancelled by an administrator");
    request(&site, "epub title=Nana --no-enqueue").warns("dropped: nobody asked about it for 5 minutes");
}

#[test]
fn a_job_whose_exporter_has_gone_is_dropped_after_a_day() {
    let site = Site::new().exporter_with("echo x >\"$1\"", "queued_ttl = \"none\"").create();
    set_mode(&site, "default", "paused");
    site.brief_tick().exits(0);
    site.ask("Emma").exits(75);
    let config = fs::read_to_string(site.config()).unwrap();
    fs::write(site.config(), config.replace("exporter.epub", "exporter.book")).unwrap();
    age(&site, "Emma", 80_000);
    site.brief_tick().exits(0).stderr("");
    age(&site, "Emma", 10_000);
    site.brief_tick().exits(0).warns("was dropped: exporter epub has not been configured for a day");
    site.run(&["status"]).says("1 job was dropped in the last hour (1 whose exporter is not configured)");
}

#[test]
fn of_many_dropped_jobs_twenty_are_told_and_the_rest_counted() {
    let site = Site::new().exporter_with("echo x >\"$1\"", "").create();
    set_mode(&site, "default", "paused");
    site.brief_tick().exits(0);
    site.ask("Emma").exits(75);
    let many = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60)
        INSERT INTO job (filename, exporter, params, queue, rank, submitted, run_after, queued_since, last_asked)
        SELECT 'epub/b' || i || '.epub', exporter, json_object('title', 'b' || i), queue, rank, submitted, run_after,
               queued_since, last_asked FROM job, n;
        UPDATE job SET queued_since = queued_since - 4000000";
    site.database().execute_batch(many).unwrap();
    site.recount();
    let tick = site.brief_tick();
    tick.exits(0).warns("pressroom: 41 more jobs were dropped\n");
    assert_eq!(tick.err().lines().count(), 21);
    assert_eq!((entries(&site), site.count("SELECT count(*) FROM job")), (61, 0));
    site.run(&["check", "--allow-root"]).exits(0);
    assert!(site.count("SELECT history_size FROM meta") > 61 * 512, "the bound of the history counts them");
}

/// A job that has waited for its retry was dropped without a word, and what it had been was all that was left.
#[test]
fn a_retry_that_is_dropped_changes_nothing_about_its_attempts() {
    let site = Site::new().exporter_with("exit 75", "").create();
    site.tick().exits(0);
    site.ask("Emma").exits(75);
    site.tick().exits(0);
    set_mode(&site, "default", "paused");
    age(&site, "Emma", 4000);
    site.brief_tick().exits(0).warns("was dropped");
    site.run(&["jobs", "history", "--format", "json"]).says("\"result\":\"exit\"").says("\"result\":\"dropped\"");
    site.run(&["jobs", "log", "1"]).exits(0);
    set_mode(&site, "default", "open");
    site.ask("Emma").exits(75);
    site.tick().exits(0);
    assert_eq!(site.count("SELECT number FROM attempt ORDER BY rowid DESC LIMIT 1"), 1);
}

#[test]
fn a_visitor_is_told_in_the_language_of_the_page() {
    let web = "[exporter.page]\nweb = true\ncommand = [\"/bin/sh\", \"-c\", \"echo x >\\\"$0\\\"\", \"{output}\"]\nfilename = \"page.txt\"\n";
    let site = Site::new().more(web).create();
    let page = |language: &str| {
        let mut request = crate::support::web::cgi(&site, "GET", "/page", "");
        crate::support::web::reply(request.env("HTTP_ACCEPT_LANGUAGE", language))
    };
    page("en").is(202);
    site.run(&["jobs", "cancel", "1"]).exits(0);
    page("en").is(202).says("An earlier request for this file was dropped");
    page("de").is(202).says("Eine frühere Anfrage nach dieser Datei wurde verworfen");
}

#[test]
fn a_job_that_the_first_round_of_all_moves_to_another_queue_stays() {
    let site =
        Site::new().exporter_with("echo x >\"$1\"", "queue = \"old\"").more("[queue.old]\n[queue.new]\n").create();
    site.ask("Emma").exits(75);
    let site = site.exporter_with("echo x >\"$1\"", "queue = \"new\"").more("[queue.new]\n");
    site.run(&["queues", "pause", "new"]).exits(0);
    for _ in 0..2 {
        site.tick().exits(0).stderr("");
    }
    site.run(&["jobs", "list"]).exits(0).says("Emma");
    site.run(&["queues", "resume", "new"]).exits(0);
    site.tick().exits(0).stderr("");
    site.ask("Emma").exits(0);
}
