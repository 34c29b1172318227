//! Queues: never more at once than one allows, in its order; full, paused, draining and forgotten ones.

use crate::support::{
    classes::{NOTING, lines, request, run_all, set_mode, shell},
    site::{Site, wait_until},
    together::{Beside, at_once},
};

/// Notes whether another run is at work at the same time.
const ALONE: &str = r#"
mkdir ../../../busy || echo "$2" >>../../../faults
echo "$2" >>../../../runs
echo "$2" >"$1"
rmdir ../../../busy"#;

/// Sixteen processes that ask for 200 files in all, numbered from `first`.
fn sixteen(site: &Site, first: u32) {
    let script = |part: u32| {
        let (from, to) = (first + part * 25 / 2, first + (part + 1) * 25 / 2 - 1);
        format!("for i in $(seq {from} {to}); do pressroom request epub title=b$i; [ $? = 75 ] || exit 1; done")
    };
    for done in at_once((0..16).map(|part| shell(site, &script(part)))) {
        done.exits(0);
    }
}

#[test]
fn a_queue_with_one_seat_runs_two_hundred_jobs_one_at_a_time_and_in_order() {
    let site = Site::new().exporter(ALONE).more("[queue.default]\nmax_running = 1\n").create();
    set_mode(&site, "default", "paused");
    let lingering = [0, 1].map(|_| Beside::start(&mut site.command(&["tick", "--allow-root", "--for", "10min"])));
    let over = site.path("over");
    let ticks = Beside::start(&mut shell(&site, "until [ -e over ]; do pressroom tick --allow-root; sleep 0.3; done"));
    sixteen(&site, 0);
    let wanted = column(&site, "SELECT filename FROM job ORDER BY rank, submitted, id");
    set_mode(&site, "default", "open");
    for hundreds in 1..=20 {
        wait_until("ten more have run", || site.count("SELECT count(*) FROM attempt") >= hundreds * 10);
    }
    wait_until("all have run", || site.count("SELECT count(*) FROM job") == 0);
    std::fs::write(over, "").unwrap();
    ticks.end().exits(0).stdout("").stderr("");
    drop(lingering);
    assert_eq!(column(&site, "SELECT filename FROM attempt ORDER BY rowid"), wanted);
    assert_eq!(lines(&site, "faults"), [""; 0]);
    assert_eq!(lines(&site, "runs").len(), 200);
    assert_eq!(site.count("SELECT count(*) FROM attempt WHERE result <> 'ok' OR number > 1"), 0);
}

/// The same while the queue is open: requests, ticks and runs at once.
#[test]
fn jobs_that_come_while_others_run_are_run_one_at_a_time_too() {
    let site = Site::new().exporter(ALONE).more("[queue.default]\nmax_running = 1\n").create();
    let asking = (0..16).map(|part| shell(&site, &format!("pressroom request epub title=b{part}; [ $? = 75 ]")));
    let ticks = (0..16).map(|_| shell(&site, "pressroom tick --allow-root --wait"));
    for done in at_once(asking.zip(ticks).flat_map(<[_; 2]>::from)) {
        done.exits(0);
    }
    run_all(&site);
    assert_eq!(lines(&site, "faults"), [""; 0]);
    assert_eq!(lines(&site, "runs").len(), 16);
}

fn column(site: &Site, sql: &str) -> Vec<String> {
    let database = site.database();
    let mut statement = database.prepare(sql).unwrap();
    let rows = statement.query_map([], |row| row.get(0)).unwrap();
    rows.map(Result::unwrap).collect()
}

#[test]
fn a_full_queue_takes_no_more() {
    let site = Site::new().more("[queue.default]\nmax_queued = 2\n").create();
    site.ask("a").exits(75);
    site.ask("b").exits(75).stdout("queued 2\n");
    site.ask("c").exits(69).stdout("unavailable too many files are waiting already\n");
    site.ask("b").exits(75).stdout("queued 2\n");
    run_all(&site);
    site.ask("c").exits(75);
}

#[test]
fn a_client_may_have_so_many_pending_and_whoever_gives_no_name_is_not_counted() {
    let site = Site::new().more("[queue.default]\nmax_per_client = 2\n").create();
    for title in ["a", "b"] {
        request(&site, &format!("epub title={title} --client ann")).exits(75);
    }
    request(&site, "epub title=c --client ann").exits(69).says("limited ");
    request(&site, "epub title=b --client ann").exits(75).says("queued 2");
    request(&site, "epub title=c --client bob").exits(75);
    for title in ["d", "e", "f"] {
        site.ask(title).exits(75);
    }
    run_all(&site);
    request(&site, "epub title=g --client ann").exits(75);
}

#[test]
fn a_paused_queue_takes_requests_and_starts_nothing() {
    let site = Site::new().create();
    set_mode(&site, "default", "paused");
    site.ask("Emma").exits(75).stdout("queued 1\n");
    site.tick().exits(0).stdout("").stderr("");
    site.run(&["tick", "--dry-run", "--allow-root"])
        .exits(0)
        .stdout("hold job 1 (epub/Emma.epub): queue default is paused\n");
    assert_eq!(site.count("SELECT count(*) FROM attempt"), 0);
    set_mode(&site, "default", "open");
    site.tick().exits(0);
    site.ask("Emma").exits(0);
}

#[test]
fn a_draining_queue_takes_no_new_requests_and_answers_about_the_old_ones() {
    let site = Site::new().create();
    site.ask("Emma").exits(75);
    set_mode(&site, "default", "draining");
    site.ask("Nana").exits(69).stdout("unavailable no new files are accepted at the moment\n");
    site.ask("Emma").exits(75).stdout("queued 1\n");
    site.tick().exits(0).stderr("");
    assert_eq!(site.count("SELECT count(*) FROM attempt"), 0);
}

/// With one seat on the whole host, the queue that was served longest ago has it next.
#[test]
fn queues_take_turns() {
    let head = "state_dir = \"s\"\n[cache]\nmin_free = \"0B\"\n[host]\nmax_running = 1\nmin_free_memory = \"0B\"\n";
    let other = r#"
[queue.default]
max_running = 1
[queue.other]
max_running = 1
[exporter.other]
queue = "other"
command = ["/bin/sh", "-c", 'echo "$2" >>../../../runs; echo "$2" >"$1"', "sh", "{output}", "{title}"]
filename = "{title}.txt"
[exporter.other.params.title]
required = true
"#;
    let site = Site::new().head(head).exporter(NOTING).more(other).create();
    for title in ["a1", "a2", "a3"] {
        site.ask(title).exits(75);
    }
    for title in ["b1", "b2"] {
        request(&site, &format!("other title={title}")).exits(75);
    }
    run_all(&site);
    assert_eq!(lines(&site, "runs"), ["a1", "b1", "a2", "b2", "a3"]);
}
