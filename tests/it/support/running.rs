//! An exporter that waits for a sign of the test, the run that supervises it, and how a test gets hold of both.

use std::{fs, path::PathBuf};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

use super::site::{Site, wait_until};

/// Says that it is up, leaves a daemon that nothing but the subreaper and the cookie lead to, and waits for the sign.
pub const HELD: &str = r#"(setsid sh -c 'trap "" TERM HUP; : >../../../daemon; while :; do sleep 0.05; done' &)
until [ -e ../../../daemon ]; do sleep 0.01; done
echo up >>../../../up
until [ -e ../../../go ]; do sleep 0.01; done
echo whole >"$1""#;

/// A site whose first book has been started and waits for [`go`].
#[track_caller]
pub fn held(settings: &str) -> Site {
    held_by(HELD, settings)
}

#[track_caller]
pub fn held_by(script: &str, settings: &str) -> Site {
    let site = Site::new().exporter_with(script, settings).create();
    site.ask("Emma").exits(75);
    start(&site);
    site
}

/// One tick, and then the exporter is up once more.
#[track_caller]
pub fn start(site: &Site) {
    let before = ups(site);
    site.brief_tick().exits(0).stdout("").stderr("");
    wait_until("the exporter is up", || ups(site) > before);
}

fn ups(site: &Site) -> usize {
    fs::read_to_string(site.path("up")).unwrap_or_default().lines().count()
}

pub fn go(site: &Site) {
    fs::write(site.path("go"), "").expect("the sign");
}

/// The lock file of the running attempt.
#[track_caller]
pub fn lock(site: &Site) -> PathBuf {
    site.path("s/work").join(format!("{}.lock", site.text("SELECT attempt FROM job WHERE status = 1")))
}

/// What the lock file says under this key.
#[track_caller]
pub fn noted(site: &Site, key: &str) -> String {
    let text = fs::read_to_string(lock(site)).expect("a lock");
    let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' ')).expect(key);
    line.to_owned()
}

/// Writes something else under this key; the file stays the same, and so does its lock.
#[track_caller]
pub fn note(site: &Site, key: &str, value: &str) {
    let text = fs::read_to_string(lock(site)).expect("a lock");
    let changed = |line: &str| if line.starts_with(key) { format!("{key} {value}\n") } else { format!("{line}\n") };
    fs::write(lock(site), text.lines().map(changed).collect::<String>()).expect("a lock");
}

/// Signals the run of the started job.
#[track_caller]
pub fn signal_run(site: &Site, signal: Signal) {
    let run = noted(site, "run");
    let pid: i32 = run.split(' ').next().and_then(|pid| pid.parse().ok()).expect("a number");
    kill(Pid::from_raw(pid), signal).expect("it is there");
}

/// Kills the run of the started job, and returns when its lock is free.
#[track_caller]
pub fn kill_run(site: &Site) {
    signal_run(site, Signal::SIGKILL);
    let lock = fs::File::open(lock(site)).expect("a lock");
    lock.lock_shared().expect("the lock");
}

/// Results of all attempts in their order.
pub fn results(site: &Site) -> String {
    site.text("SELECT coalesce(group_concat(coalesce(result, '-'), ' '), '') FROM (SELECT result FROM attempt ORDER BY rowid)")
}
