//! A clock that is set, and a machine that slept: nothing is expired in the first round, stamps ahead are set back.

use std::{fs, time::SystemTime};

use crate::support::{classes::forget_the_boot, site::Site};

/// A site with a file, a failure, a waiting job, and a tick that knows the time.
fn lived_in() -> Site {
    let script = r#"[ "$2" != Bad ] || exit 1; echo "$2" >"$1""#;
    let site = Site::new().exporter_with(script, "failure_keep = \"30m\"\nqueued_ttl = \"30m\"").create();
    site.ask("Emma").exits(75);
    site.ask("Bad").exits(75);
    site.tick().exits(0);
    site.mailed().exits(0).warns("epub/Bad.epub");
    site.database().execute("UPDATE queue SET mode = 'paused'", []).unwrap();
    site.ask("Waiting").exits(75);
    site
}

#[track_caller]
fn nothing_has_expired(site: &Site) {
    assert_eq!(site.names("s/cache/epub"), ["Emma.epub"]);
    assert_eq!(site.count("SELECT count(*) FROM job WHERE status = 0"), 1);
    assert_eq!(site.count("SELECT count(*) FROM job WHERE status = 3"), 1);
}

/// But for the job that waits in a paused queue, which does not age there.
#[track_caller]
fn everything_has_expired(site: &Site) {
    assert_eq!(site.names("s/cache/epub"), [""; 0]);
    assert_eq!(site.count("SELECT count(*) FROM job WHERE status <> 0"), 0);
    assert_eq!(site.count("SELECT count(*) FROM job"), 1);
}

#[test]
fn after_a_jump_forwards_nothing_is_expired_in_the_first_round() {
    let site = lived_in();
    site.clock(7200.0);
    site.tick().exits(0).stdout("").stderr("");
    nothing_has_expired(&site);
    site.tick().exits(0).stdout("").stderr("");
    everything_has_expired(&site);
}

#[test]
fn an_hour_of_ticks_expires_what_a_jump_of_an_hour_does_not() {
    let site = lived_in();
    let minutes = |count: i32| {
        site.clock(60.0 * f64::from(count));
        forget_the_boot(&site);
        site.tick().exits(0).stderr("");
    };
    (1..=31).for_each(minutes);
    everything_has_expired(&site);
}

#[test]
fn after_a_jump_backwards_stamps_that_lie_ahead_are_set_back() {
    let site = Site::new().create();
    site.clock(86_400.0);
    site.ask("Emma").exits(75);
    site.tick().exits(0);
    site.ask("Nana").exits(75);
    let later = (jiff::Timestamp::now() + jiff::SignedDuration::from_hours(48)).to_string();
    site.run(&["request", "epub", "title=Later", "--not-before", &later]).exits(75);
    let due = site.count("SELECT run_after FROM job WHERE filename = 'epub/Later.epub'");
    site.database().execute("UPDATE queue SET mode = 'paused'", []).unwrap();
    site.clock(0.0);
    site.ask("Emma").exits(0); // a file from the future is fresh
    site.tick().exits(0).stdout("").stderr("");
    let now = jiff::Timestamp::now().as_millisecond();
    let near = |stamp: i64| assert!((now - 60_000..=now + 60_000).contains(&stamp), "{stamp} is not {now}");
    near(site.count("SELECT max(submitted) FROM job"));
    near(site.count("SELECT max(last_asked) FROM job"));
    near(site.count("SELECT tick_at FROM meta"));
    near(site.count("SELECT served FROM queue"));
    near(site.count("SELECT ended FROM attempt"));
    let made = fs::metadata(site.cached("epub/Emma.epub")).unwrap().modified().unwrap();
    near(i64::try_from(made.duration_since(std::time::UNIX_EPOCH).unwrap().as_millis()).unwrap());
    assert_eq!(
        site.count("SELECT run_after FROM job WHERE filename = 'epub/Later.epub'"),
        due,
        "a due time is left alone"
    );
    site.database().execute("UPDATE queue SET mode = 'open'", []).unwrap();
    site.tick().exits(0).stderr("");
    site.ask("Nana").exits(0);
}

/// What was old already when the clock jumped back is still not expired in that round.
#[test]
fn after_a_jump_backwards_nothing_is_expired_in_the_first_round() {
    let site = lived_in();
    site.clock(800.0);
    forget_the_boot(&site);
    let file = fs::File::open(site.cached("epub/Emma.epub")).unwrap();
    file.set_modified(std::time::SystemTime::now() - std::time::Duration::from_mins(150)).unwrap();
    site.tick().exits(0).stderr(""); // silent for more than ten minutes: calm
    nothing_has_expired(&site);
    site.clock(0.0);
    site.tick().exits(0).stderr("");
    nothing_has_expired(&site);
    site.tick().exits(0).stderr("");
    assert_eq!(site.names("s/cache/epub"), [""; 0]);
}

#[test]
fn after_ten_minutes_without_a_tick_whoever_was_told_ready_still_finds_the_file() {
    let site = lived_in();
    site.clock(3600.0);
    forget_the_boot(&site);
    site.tick().exits(0).stderr("");
    nothing_has_expired(&site);
}

/// A running attempt is measured by the clock that nobody sets.
#[test]
fn a_jump_does_not_end_a_running_export() {
    let site = Site::new().exporter(r#"until [ -e ../../../go ]; do sleep 0.01; done; echo whole >"$1""#).create();
    site.ask("Emma").exits(75);
    site.brief_tick().exits(0);
    for seconds in [90_000.0, -90_000.0] {
        site.clock(seconds);
        site.brief_tick().exits(0).stdout("").stderr("");
        site.ask("Emma").exits(75).says("started");
    }
    site.clock(0.0);
    fs::write(site.path("go"), "").unwrap();
    crate::support::together::wait_for_runs(&site);
    site.ask("Emma").exits(0);
    assert_eq!(site.count("SELECT count(*) FROM attempt"), 1);
}

/// A crontab that ticks each quarter of an hour: only the first of these rounds is one after a silence.
#[test]
fn who_ticks_each_quarter_of_an_hour_prunes_all_the_same() {
    let site = lived_in();
    let quarter = |count: i32| {
        site.clock(900.0 * f64::from(count));
        forget_the_boot(&site);
        site.tick().exits(0).stderr("");
    };
    quarter(1);
    nothing_has_expired(&site);
    (2..=3).for_each(quarter);
    everything_has_expired(&site);
}

/// Whoever may write the database says that the last round was at another moment, again and again.
#[test]
fn the_database_cannot_keep_ticks_from_pruning() {
    let site = lived_in();
    for minutes in 1..=31 {
        site.clock(60.0 * f64::from(minutes));
        forget_the_boot(&site);
        let far = "UPDATE meta SET tick_at = 1, tick_boottime = 1, tick_boot_id = 'x' WHERE tick_at IS NOT NULL";
        site.database().execute_batch(far).unwrap();
        site.tick().exits(0).stderr("");
    }
    everything_has_expired(&site);
}

const DAY: f64 = 86_400.0;

/// No time service stands by the clock, so a step of it is not believed at once.
fn unsynchronised(site: &Site) {
    fs::write(site.path("clock.unsynchronised"), "").unwrap();
}

/// All that a wrong clock could spoil: rows with their stamps, and files with theirs.
fn everything(site: &Site) -> (Vec<String>, Vec<(String, SystemTime)>) {
    let database = site.database();
    let mut rows = Vec::new();
    for sql in [
        "SELECT json_array(id, filename, status, waits, rank, submitted, run_after, due, queued_since, last_asked, started,
                           failed, attempts) FROM job ORDER BY id",
        "SELECT json_array(id, submitted, started, counts_from, ended, log, log_size) FROM attempt ORDER BY id",
        "SELECT json_array(name, queued, delayed, served) FROM queue ORDER BY name",
        "SELECT json_array(queue, client, at, count) FROM arrival ORDER BY at",
    ] {
        let mut statement = database.prepare(sql).unwrap();
        let found = statement.query_map([], |row| row.get(0)).unwrap();
        rows.extend(found.map(|row| row.unwrap()));
    }
    let made = |name: String| {
        let made = fs::metadata(site.cached("epub").join(&name)).unwrap().modified().unwrap();
        (name, made)
    };
    let logs = site.names("s/log").into_iter().map(|name| (name, SystemTime::UNIX_EPOCH));
    (rows, site.names("s/cache/epub").into_iter().map(made).chain(logs).collect())
}

/// The same with a job that waits to be tried again, and one that waits for its time.
fn with_all_kinds() -> Site {
    let script = r#"case "$2" in Bad) exit 1;; Again) exit 75;; esac; echo "$2" >"$1""#;
    let site = Site::new()
        .exporter_with(script, "failure_keep = \"30m\"\nqueued_ttl = \"30m\"\nretry_delay = \"20m\"")
        .more("[history]\nkeep = \"2h\"\nkeep_ok_logs = \"1h\"\n[queue.default]\nnew_per_client = \"9/1h\"\n")
        .create();
    for title in ["Emma", "Bad", "Again"] {
        site.run(&["request", "epub", &format!("title={title}"), "--client", "anna"]).exits(75);
    }
    site.tick().exits(0);
    site.mailed().exits(0).warns("epub/Bad.epub");
    site.database().execute("UPDATE queue SET mode = 'paused'", []).unwrap();
    let later = (jiff::Timestamp::now() + jiff::SignedDuration::from_hours(48)).to_string();
    site.run(&["request", "epub", "title=Later", "--not-before", &later]).exits(75);
    site.ask("Waiting").exits(75);
    site
}

#[track_caller]
fn silent_rounds(site: &Site) {
    for _ in 0..3 {
        site.tick().exits(0).stdout("").stderr("");
    }
}

/// Wrong by so many days in several rounds, and right again.
#[track_caller]
fn nothing_is_lost_by(site: &Site, shifts: &[f64]) {
    let before = everything(site);
    unsynchronised(site);
    for (place, days) in shifts.iter().enumerate() {
        site.clock(days * DAY);
        for round in 0..3 {
            let told = site.tick().exits(0).stdout("").err();
            assert_eq!(told.contains("pressroom tick --accept-clock"), place == 0 && round == 0, "{told}");
        }
        assert_eq!(everything(site), before, "while the clock is {days} days off");
        assert!(site.path("s/tick.doubt").exists(), "the status page can tell");
        site.run(&["status"]).says("warning: the clock says 2").says("nothing expires until it is set right");
        site.run(&["tick", "--dry-run", "--allow-root"]).exits(0).says("hold prune: the clock was set");
    }
    site.clock(0.0);
    site.tick().exits(0).stdout("").warns("the clock is right again");
    silent_rounds(site);
    assert_eq!(everything(site), before, "after the clock was {shifts:?} days off");
    site.run(&["status"]).exits(1).says("queue default is paused"); // and nothing else
    assert!(!site.path("s/tick.doubt").exists());
}

#[test]
fn a_clock_that_was_far_ahead_and_is_right_again_has_cost_nothing() {
    nothing_is_lost_by(&with_all_kinds(), &[400.0]);
}

#[test]
fn a_clock_that_was_far_behind_and_is_right_again_has_cost_nothing() {
    nothing_is_lost_by(&with_all_kinds(), &[-400.0]);
}

#[test]
fn a_clock_that_is_wrong_in_one_way_after_another_costs_nothing() {
    nothing_is_lost_by(&with_all_kinds(), &[-0.25, 37.5, 400.0, -400.0, 0.125]);
}

/// As a dead clock in the machine makes it: across a boot only less than before, or a month more, can be told.
#[test]
fn a_clock_that_was_wrong_after_a_boot_costs_nothing() {
    for days in [400.0, -400.0] {
        let site = with_all_kinds();
        let before = everything(&site);
        unsynchronised(&site);
        forget_the_boot(&site);
        site.clock(days * DAY);
        site.tick().exits(0).warns("it should say at least 20");
        silent_rounds(&site);
        assert_eq!(everything(&site), before, "{days} days off");
        site.clock(0.0);
        site.tick().exits(0).stderr("pressroom: the clock is right again\n");
        silent_rounds(&site);
        assert_eq!(everything(&site), before, "{days} days off, and back");
    }
}

/// Exports are made and recorded meanwhile, and what a clock that was behind has stamped is not taken for old.
#[test]
fn what_is_queued_and_made_by_a_wrong_clock_stays_when_the_clock_is_right_again() {
    for days in [400.0, -400.0] {
        let site = with_all_kinds();
        unsynchronised(&site);
        site.clock(days * DAY);
        site.tick().exits(0);
        let turn = |mode: &str| {
            site.run(&["queues", mode, "default"]).exits(0);
        };
        site.run(&["jobs", "cancel", "epub/Again.epub"]).exits(0);
        turn("resume");
        site.ask("Nana").exits(75);
        site.tick().exits(0).stderr("");
        site.ask("Nana").exits(0);
        turn("pause");
        site.ask("Odes").exits(75);
        site.tick().exits(0).stderr("");
        site.clock(0.0);
        site.tick().exits(0);
        silent_rounds(&site);
        assert_eq!(site.count("SELECT count(*) FROM job WHERE filename = 'epub/Odes.epub'"), 1, "{days}");
        assert!(site.cached("epub/Nana.epub").exists(), "{days}");
        assert_eq!(
            site.count("SELECT count(*) FROM attempt WHERE filename = 'epub/Nana.epub' AND log = 1"),
            1,
            "{days}"
        );
        turn("resume");
        site.tick().exits(0);
        site.ask("Odes").exits(0);
    }
}

#[test]
fn a_new_time_is_believed_when_the_admin_says_so_or_a_day_has_gone_by() {
    for by_admin in [true, false] {
        let site = lived_in();
        unsynchronised(&site);
        site.clock(40.0 * DAY);
        site.tick().exits(0).warns("or has gone on for 1d more");
        if by_admin {
            site.run(&["tick", "--accept-clock", "--allow-root"]).exits(0).warns("the clock is believed from now on");
        } else {
            let mark = fs::read_to_string(site.path("s/tick.lock")).unwrap();
            let (before, _) = mark.rsplit_once("steady_ms ").unwrap();
            fs::write(site.path("s/tick.lock"), format!("{before}steady_ms {:020}\n", 86_400_000)).unwrap();
            site.tick().exits(0).warns("the clock is believed from now on");
        }
        nothing_has_expired(&site); // in this round
        site.tick().exits(0).stderr("");
        everything_has_expired(&site);
    }
}

#[test]
fn a_retry_never_waits_for_longer_than_its_longest_delay() {
    let site = Site::new().exporter_with("exit 75", "retry_max_delay = \"10m\"").create();
    site.clock(DAY);
    site.ask("Emma").exits(75);
    site.tick().exits(0);
    let later = (jiff::Timestamp::now() + jiff::SignedDuration::from_hours(48)).to_string();
    site.run(&["request", "epub", "title=Later", "--not-before", &later]).exits(75);
    let due = |title: &str| site.count(&format!("SELECT run_after FROM job WHERE filename = 'epub/{title}.epub'"));
    let later = due("Later");
    site.clock(0.0);
    site.run(&["status"]).says("1 job would be tried again later than retry_max_delay from now");
    site.tick().exits(0).stderr("");
    let now = jiff::Timestamp::now().as_millisecond();
    assert!(due("Emma") <= now + 600_000, "{} is not near {now}", due("Emma"));
    assert_eq!(due("Later"), later, "somebody has wished that");
    assert!(!site.run(&["status"]).out().contains("retry_max_delay"));
    let site = site.exporter_with(r#"echo whole >"$1""#, "retry_max_delay = \"10m\"");
    site.clock(601.0);
    site.tick().exits(0).stderr("");
    site.ask("Emma").exits(0);
}

/// While the clock is not believed, a retry that lies far ahead of it waits for no longer either.
#[test]
fn a_retry_does_not_wait_for_the_clock_to_be_believed() {
    let script = r#"[ -e ../../../again ] || (: >../../../again; exit 75) || exit 75; echo whole >"$1""#;
    let site = Site::new().exporter_with(script, "retry_max_delay = \"10m\"").create();
    site.ask("Emma").exits(75);
    site.tick().exits(0);
    unsynchronised(&site);
    site.clock(-400.0 * DAY);
    site.tick().exits(0);
    site.ask("Emma").exits(75);
    let mark = fs::read_to_string(site.path("s/tick.lock")).unwrap();
    let (before, _) = mark.rsplit_once("steady_ms ").unwrap();
    fs::write(site.path("s/tick.lock"), format!("{before}steady_ms {:020}\n", 600_000)).unwrap();
    site.tick().exits(0).stderr("");
    site.ask("Emma").exits(0);
}
