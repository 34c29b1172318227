//! A clock that is set, and a machine that slept: nothing is expired in the first round, stamps ahead are set back.

use std::fs;

use crate::site::Site;

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

#[track_caller]
fn everything_has_expired(site: &Site) {
    assert_eq!(site.names("s/cache/epub"), [""; 0]);
    assert_eq!(site.count("SELECT count(*) FROM job"), 0);
}

/// As if the machine had been started anew: then the clock that nobody sets tells nothing about the time between.
fn forget_the_boot(site: &Site) {
    let mark = fs::read_to_string(site.path("s/tick.lock")).unwrap();
    let (before, _) = mark.rsplit_once("boot ").unwrap();
    fs::write(site.path("s/tick.lock"), format!("{before}boot {:36}\n", "an earlier one")).unwrap();
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
    crate::together::wait_for_runs(&site);
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
