//! `tick --dry-run`: the plan of a round in its order, and not a byte written anywhere.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::{fs::PermissionsExt, process::CommandExt},
};

use crate::support::{
    site::{Done, Site, wait_until},
    together::{TICK, copy_program},
    untouched::{listing, writes_nothing},
};

const DRY: [&str; 2] = ["tick", "--dry-run"];

#[track_caller]
fn dry(site: &Site) -> Done {
    let done = writes_nothing(site, || site.run(&DRY));
    done.exits(0).stderr("");
    done
}

/// A plan without the moment at which a dead run is tried again, which counts from the look.
fn timeless(plan: &str) -> String {
    let line = |line: &str| line.split("; it is queued again").next().unwrap_or_default().to_owned();
    plan.lines().map(line).filter(|line| !line.contains("is tried again")).collect::<Vec<_>>().join("\n")
}

/// One of everything: a dead run, a file to prune, a job to drop, one to retry, jobs to claim, one with no seat.
fn busy_site() -> Site {
    let site = Site::new()
        .exporter_with(r#"echo "$2" >"$1""#, "queued_ttl = \"10m\"")
        .more("[queue.default]\nmax_running = 2\n")
        .create();
    site.ask("Old").exits(75);
    site.tick().exits(0);
    site.ask("Lost").exits(75);
    site.run_at("run-started=kill", &TICK).exits(0);
    let file = fs::File::open(site.cached("epub/Old.epub")).unwrap();
    file.set_modified(std::time::SystemTime::now() - std::time::Duration::from_mins(15)).unwrap();
    for title in ["Overdue", "Again", "Emma", "Nana"] {
        site.ask(title).exits(75);
    }
    let database = site.database();
    database
        .execute("UPDATE job SET queued_since = queued_since - 700000 WHERE filename = 'epub/Overdue.epub'", [])
        .unwrap();
    database.execute("UPDATE job SET attempts = 1 WHERE filename = 'epub/Again.epub'", []).unwrap();
    site
}

#[test]
fn the_plan_has_the_order_of_a_round_and_a_round_then_does_it() {
    let site = busy_site();
    let plan = dry(&site).out();
    let lines: Vec<_> = plan.lines().collect();
    assert_eq!(lines.len(), 7, "{plan}");
    let reaped = "reap job 2 (epub/Lost.epub): its run has died, its result is lost; it is queued again, not before 20";
    assert!(lines[0].starts_with(reaped), "{plan}");
    assert!(lines[1].starts_with("prune cache/epub/Old.epub: made at "), "{plan}");
    assert_eq!(lines[2], "drop job 3 (epub/Overdue.epub): could not be started for too long");
    assert!(lines[3].starts_with("retry 2 job 4 (epub/Again.epub): \"/bin/sh\" \"-c\" "), "{plan}");
    assert!(lines[3].ends_with("\"OUTPUT\" \"Again\""), "{plan}");
    assert!(lines[4].starts_with("claim job 5 (epub/Emma.epub): "), "{plan}");
    assert_eq!(lines[5], "hold job 6 (epub/Nana.epub): no seat is free in queue default, which has 2");
    assert!(lines[6].starts_with("hold job 2 (epub/Lost.epub): it is tried again, not before 20"), "{plan}");
    site.tick().exits(0).warns("job 3 (epub/Overdue.epub) was dropped");
    assert_eq!(site.names("s/cache/epub"), ["Again.epub", "Emma.epub"]);
    assert_eq!(
        site.text("SELECT group_concat(filename, ' ') FROM (SELECT filename FROM job ORDER BY id)"),
        "epub/Lost.epub epub/Nana.epub"
    );
}

#[test]
fn nothing_to_do_is_no_line() {
    let site = Site::new().create();
    dry(&site).stdout("");
    site.ask("Emma").exits(75);
    dry(&site).says("claim job 1 (epub/Emma.epub)");
    site.tick().exits(0);
    dry(&site).stdout("");
}

#[test]
fn a_running_job_is_named_and_a_published_one_will_be_ok() {
    let site = Site::new().exporter(r#"until [ -e ../../../go ]; do sleep 0.01; done; echo whole >"$1""#).create();
    site.ask("Emma").exits(75);
    site.run_at("run-renamed=kill", &["tick", "--allow-root"]).exits(0);
    site.run(&DRY).exits(0).stdout("running job 1 (epub/Emma.epub)\n").stderr("");
    fs::write(site.path("go"), "").unwrap();
    wait_until("the file is there", || site.cached("epub/Emma.epub").exists());
    wait_until("the run is dead", || site.run(&DRY).out().starts_with("reap "));
    dry(&site).stdout("reap job 1 (epub/Emma.epub): its run has died, its result is ok\n");
}

#[test]
fn what_holds_jobs_back_is_told() {
    let site = Site::new().create();
    site.ask("Emma").exits(75);
    site.database().execute("UPDATE queue SET mode = 'paused'", []).unwrap();
    dry(&site).stdout("hold job 1 (epub/Emma.epub): queue default is paused\n");
    let low = "state_dir = \"s\"\n[cache]\nmin_free = \"900PB\"\n[host]\nmin_free_memory = \"0B\"\n";
    dry(&site.head(low)).says("hold job 1 (epub/Emma.epub): queue default is paused\n");
}

#[test]
fn what_lets_nothing_be_started_is_told() {
    let site = Site::new().create();
    site.ask("Emma").exits(75);
    fs::remove_dir(site.path("s/work")).unwrap();
    dry(&site)
        .says(&format!("problem claim: {} is missing; run ", site.path("s/work").display()))
        .says("hold job 1 (epub/Emma.epub): no job can be started\n");
}

#[test]
fn each_job_that_waits_is_named_with_its_reason_and_a_queue_without_jobs_is_not() {
    let site = Site::new().more("[queue.idle]\nmax_running = 1\n").create();
    for title in ["Emma", "Nana"] {
        site.ask(title).exits(75);
    }
    site.run(&["request", "epub", "title=Kim", "--not-before", "2199-01-01T00:00:00Z"]).exits(75);
    let database = site.database();
    database.execute("UPDATE queue SET mode = 'paused'", []).unwrap();
    let paused = |id: i64, title: &str| format!("hold job {id} (epub/{title}.epub): queue default is paused\n");
    let later = "hold job 3 (epub/Kim.epub): it is not started before 2199-01-01T00:00:00Z\n";
    dry(&site).stdout(&format!("{}{}{later}", paused(1, "Emma"), paused(2, "Nana")));
    let copy = "
        WITH RECURSIVE n (value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM n WHERE value < 150)
        INSERT INTO job (filename, exporter, params, queue, rank, submitted, run_after, queued_since, last_asked)
        SELECT 'epub/' || value || '.epub', exporter, params, queue, rank, submitted, run_after, queued_since, last_asked
          FROM job, n WHERE id = 1";
    database.execute(copy, []).unwrap();
    site.recount();
    let plan = dry(&site).out();
    assert_eq!(plan.lines().count(), 101, "{plan}");
    assert!(plan.ends_with("hold queue default: 53 more jobs wait\n"), "{plan}");
}

#[test]
fn after_a_jump_of_the_clock_it_says_why_nothing_is_pruned() {
    let site = busy_site();
    site.clock(7200.0);
    let plan = dry(&site).out();
    assert!(plan.contains("hold prune: the clock was set"), "{plan}");
    assert!(!plan.contains("prune cache/") && !plan.contains("drop "), "{plan}");
}

/// Without the log and its index beside the database: nobody has it open, and they are not made.
#[test]
fn without_the_log_beside_the_database_none_is_made() {
    let site = busy_site();
    let with = timeless(&dry(&site).out());
    site.database().execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    for ending in ["-shm", "-wal"] {
        fs::remove_file(site.path(&format!("s/queue/pressroom.db{ending}"))).unwrap();
        assert_eq!(timeless(&dry(&site).out()), with);
    }
    assert_eq!(site.names("s/queue"), ["doorbell", "pressroom.db", "reserve"]);
}

/// It waits for no lock: neither for a tick at work nor for a writer.
#[test]
fn it_plans_while_another_tick_is_at_work() {
    let site = busy_site();
    let at_work = crate::support::together::Paused::at(&site, "tick-before-reap", &TICK);
    let database = site.database();
    database.execute_batch("BEGIN IMMEDIATE; UPDATE job SET percent = NULL").unwrap();
    dry(&site).says("claim job 5");
    database.execute_batch("ROLLBACK").unwrap();
    at_work.go_on().exits(0);
}

/// Somebody who may read everything and write nothing.
#[test]
fn it_works_for_a_user_without_any_right_to_write() {
    if !crate::support::outside::is_root(
        "it_works_for_a_user_without_any_right_to_write",
        "needs root, to become another user",
    ) {
        return;
    }
    let site = busy_site();
    let expected = timeless(&dry(&site).out());
    fs::set_permissions(site.dir(), fs::Permissions::from_mode(0o755)).unwrap();
    let program = site.path("pressroom");
    copy_program(&program);
    let mut all = BTreeMap::new();
    listing(&site.path("s"), &mut all);
    for path in all.keys().chain([&site.path("s")]) {
        let mode = if path.is_dir() { 0o755 } else { 0o444 };
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }
    let nobody = || {
        let mut command = site.command(&DRY);
        let mut other = std::process::Command::new(&program);
        other
            .args(command.get_args())
            .env_clear()
            .envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command = other;
        Done::of(command.current_dir(site.dir()).uid(65534).gid(65534))
    };
    assert_eq!(timeless(&writes_nothing(&site, nobody).exits(0).stderr("").out()), expected);
    site.database().execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    for ending in ["-shm", "-wal"] {
        fs::remove_file(site.path(&format!("s/queue/pressroom.db{ending}"))).unwrap();
    }
    assert_eq!(timeless(&writes_nothing(&site, nobody).exits(0).stderr("").out()), expected);
}

/// A process was killed while it wrote the index of the log: a dry run writes nothing, and whoever may puts it right.
#[test]
fn a_log_that_was_left_half_written_is_told_and_put_right_by_who_may_write() {
    let site = busy_site();
    let idle = site.database(); // while somebody has it open, as a lingering tick has, its index is believed
    idle.query_row("SELECT count(*) FROM job", [], |row| row.get::<_, i64>(0)).unwrap();
    let index = fs::File::options().write(true).open(site.path("s/queue/pressroom.db-shm")).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&index, &[0x5a; 96], 0).unwrap(); // both copies of its header
    let told = site.run(&DRY);
    told.exits(69).stderr(
        "pressroom: the database's log was left half written by a process that was killed; the next tick puts it right, \
         try again then\n",
    );
    site.run(&["jobs", "list"]).exits(0).stderr("");
    dry(&site);
}
