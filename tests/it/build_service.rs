//! `docs/examples/build-service` for ten minutes of a clock that the test sets.

use std::{fs, os::unix::fs::PermissionsExt, time::Instant};

use crate::support::{
    classes::{attempts, lines, run_all},
    site::Site,
};

const CLASSES: [(&str, i64); 5] = [("sync", 17), ("index", 45), ("build", 60), ("verify", 120), ("clean", 300)];

/// Stands before each program: notes the run, and whether another one of its class is at work.
const GUARD: &str = r#"#!/bin/sh
class=${1##*/}
mkdir "$GUARD/$class.busy" || echo "$class" >>"$GUARD/faults"
"$@"
status=$?
rmdir "$GUARD/$class.busy"
exit "$status"
"#;

fn site() -> Site {
    let site = Site::example("build-service");
    fs::create_dir_all(site.path("srv/build/incoming")).unwrap();
    fs::write(site.path("srv/build/incoming/main.c"), "int main(void) { return 0; }\n").unwrap();
    fs::write(site.path("guard"), GUARD).unwrap();
    fs::set_permissions(site.path("guard"), fs::Permissions::from_mode(0o755)).unwrap();
    let dir = site.dir().display().to_string();
    let guarded = format!("output = \"none\"\nwrapper = [\"{dir}/guard\"]\nenv = {{ GUARD = \"{dir}\" }}\n");
    site.replacing("output = \"none\"\n", &guarded).create()
}

/// The beat that comes next, in seconds since the first one.
fn beats(site: &Site, class: &str) -> i64 {
    site.count(&format!("SELECT next FROM schedule WHERE name = '{class}'"))
}

#[test]
fn in_ten_minutes_each_class_runs_as_often_as_due_and_never_twice_at_once() {
    let site = site();
    site.tick().exits(0).stdout("").stderr("");
    let first = CLASSES.map(|(class, _)| beats(&site, class));
    let begun = Instant::now();
    for second in (8..=600).step_by(8) {
        // What the machine takes in the meantime is none of the ten minutes.
        site.clock(f64::from(second) - begun.elapsed().as_secs_f64());
        site.brief_tick().exits(0).stdout("").stderr("");
        let most = "SELECT coalesce(max(jobs), 0) FROM (SELECT count(*) AS jobs FROM job GROUP BY exporter)";
        assert!(site.count(most) <= 1, "more than one of a class is enqueued");
        crate::support::together::wait_for_runs(&site);
    }
    run_all(&site);
    for ((class, every), first) in CLASSES.into_iter().zip(first) {
        let due = (beats(&site, class) - first) / (every * 1000) + 1;
        assert_eq!(attempts(&site, class), due, "{class}");
        let expected = 600 / every + 1;
        assert!((expected - 1..=expected).contains(&due), "{class} was due {due} times");
    }
    assert_eq!(site.count("SELECT count(*) FROM attempt WHERE result <> 'ok'"), 0);
    assert_eq!(lines(&site, "faults"), [""; 0]);
    let page = fs::read_to_string(site.path("srv/build/builds/index.html")).unwrap();
    assert!(page.contains(".tar.gz\">"), "{page}");
}

/// A build that takes long holds up neither the others nor, after its end, itself.
#[test]
fn a_class_that_takes_long_drops_its_beats_and_holds_up_nobody() {
    let site = site();
    fs::write(site.path("slow"), "#!/bin/sh\nuntil [ -e ../../../go ]; do sleep 0.02; done\n").unwrap();
    fs::set_permissions(site.path("slow"), fs::Permissions::from_mode(0o755)).unwrap();
    let slow = site.path("slow").display().to_string();
    let site = site.replacing("\"bin/sync\"", &format!("\"{slow}\""));
    for second in (0..=120).step_by(20) {
        site.clock(f64::from(second));
        site.brief_tick().exits(0).stderr("");
        let others = "SELECT count(*) FROM job WHERE status = 1 AND exporter <> 'sync'";
        crate::support::site::wait_until("the others have ended", || site.count(others) == 0);
    }
    assert_eq!(attempts(&site, "sync"), 1);
    assert!(attempts(&site, "build") >= 2);
    crate::support::classes::touch(&site, "go");
    crate::support::together::wait_for_runs(&site);
    run_all(&site);
    assert_eq!(attempts(&site, "sync"), 1, "nothing was saved up");
    site.clock(140.0);
    run_all(&site);
    assert_eq!(attempts(&site, "sync"), 2);
}
