//! What falls due during the handover is done once, whichever tick sees it.

use super::*;
use crate::support::classes::{attempts, lines, request};

const BEAT: &str = r#"
[exporter.sync]
output = "none"
command = ["/bin/sh", "-c", "echo beat >>../../../beats"]
[schedule.sync]
exporter = "sync"
every = "17s"
"#;

/// Two ticks of which the second stops at `point`; `set_clock` is called then, with both at their places.
#[track_caller]
fn hand_over_at(site: &Site, point: &str, set_clock: impl Fn()) -> Tick {
    let old = Tick::old(site);
    let next = Tick::next(site, &[point]);
    if point == "linger-waits" {
        next.reaches(point);
        set_clock();
        next.leaves(point);
        old.ends();
    } else {
        next.sleeps();
        old.ends();
        next.reaches(point);
        set_clock();
        next.leaves(point);
    }
    next
}

const POINTS: [&str; 3] = ["linger-waits", "linger-took-lock", "tick-before-checkpoint"];

/// Nothing is done again by later rounds.
#[track_caller]
fn settles(site: &Site, next: Tick, expected: i64) {
    wait_for_runs(site);
    next.stops();
    site.tick().exits(0).stdout("").stderr("");
    assert_eq!(site.count("SELECT count(*) FROM attempt"), expected);
}

#[test]
fn a_beat_that_falls_into_the_handover_is_made_once() {
    for point in POINTS {
        let site = Site::new().more(BEAT).create();
        site.tick().exits(0).stderr("");
        let next = hand_over_at(&site, point, || site.clock(18.0));
        wait_until("the beat is made", || attempts(&site, "sync") == 2);
        settles(&site, next, 2);
        assert_eq!(lines(&site, "beats").len(), 2, "{point}");
    }
}

#[test]
fn a_job_whose_time_falls_into_the_handover_is_started_once() {
    for point in POINTS {
        let site = Site::new().create();
        let later = jiff::Timestamp::now() + jiff::SignedDuration::from_secs(8000);
        request(&site, &format!("epub title=Emma --not-before {later}")).exits(75);
        let next = hand_over_at(&site, point, || site.clock(8001.0));
        made(&site, "Emma");
        settles(&site, next, 1);
    }
}

#[test]
fn a_retry_whose_delay_ends_in_the_handover_is_made_once() {
    for point in POINTS {
        let script = r#"if [ -e ../../../again ]; then echo whole >"$1"; else touch ../../../again; exit 75; fi"#;
        let site = Site::new().exporter_with(script, "retry_delay = \"2h\"").create();
        site.ask("Emma").exits(75);
        site.tick().exits(0).stdout("").stderr("");
        let next = hand_over_at(&site, point, || site.clock(10_000.0));
        made(&site, "Emma");
        settles(&site, next, 2);
        assert_eq!(crate::support::running::results(&site), "exit ok", "{point}");
    }
}
