//! What cannot be read is not taken for gone: a round that cannot look keeps the seat and says so, and the next one goes on.
//! The calls are made to fail by strace(1).

use std::{path::Path, process::Command};

use crate::support::{
    running::{held_by, kill_run, lock, results},
    site::{Done, Site, wait_until},
    strays::{nobody_is_left, strays},
};

/// Whether strace is there and may trace.
fn can_inject(test: &str) -> bool {
    let tried = Command::new("strace").args(["-f", "-o", "/dev/null", "true"]).output();
    let can = tried.is_ok_and(|tried| tried.status.success());
    if !can {
        crate::support::outside::skipped(test, "strace cannot trace here");
    }
    can
}

/// The program under strace, which lets this call fail where it is about this file, or everywhere.
#[track_caller]
fn failing(site: &Site, call: &str, error: &str, file: Option<&Path>, words: &[&str]) -> Done {
    let program = site.command(words);
    let mut strace = Command::new("/usr/bin/strace");
    strace.args(["-f", "-o", "/dev/null", "-e", &format!("inject={call}:error={error}")]);
    if let Some(file) = file {
        strace.arg("-P").arg(file);
    }
    strace.arg(program.get_program()).args(program.get_args()).current_dir(site.dir()).env_clear();
    for (name, value) in program.get_envs() {
        if let Some(value) = value {
            strace.env(name, value);
        }
    }
    Done::of(&mut strace)
}

/// Leaves a daemon to which nothing but the cookie leads, and works on.
const LEFT: &str = "(setsid sleep 1000 >/dev/null 2>&1 &)\necho up >>../../../up\nexec sleep 1001";

#[test]
fn a_round_that_cannot_look_keeps_the_seat_and_says_so() {
    if !can_inject("a_round_that_cannot_look_keeps_the_seat_and_says_so") {
        return;
    }
    let site = held_by(LEFT, "max_attempts = 3");
    let before = strays(&site);
    let lock = lock(&site);
    kill_run(&site);
    wait_until("the leader has died with its run", || strays(&site).len() < before.len());
    let left = strays(&site);
    let daemon = left[0].split_once(": ").unwrap().0;
    let (stat, environ) = (format!("{daemon}/stat"), format!("{daemon}/environ"));
    let boot = "/proc/sys/kernel/random/boot_id";
    let cases = [
        ("openat", "EMFILE", boot),
        ("read", "EIO", boot),
        ("openat", "EMFILE", lock.to_str().unwrap()),
        ("pread64", "EIO", lock.to_str().unwrap()),
        ("openat", "EMFILE", "/proc"),
        ("getdents64", "EIO", "/proc"),
        ("openat", "ENFILE", &stat),
        ("read", "EIO", &stat),
        ("openat", "EMFILE", &environ),
        ("read", "EIO", &environ),
    ];
    for (call, error, file) in cases {
        let tick = failing(&site, call, error, Some(Path::new(file)), &["tick", "--allow-root"]);
        tick.exits(0).warns("job 1 (epub/Emma.epub)");
        assert_eq!(results(&site), "-", "{call} of {file}");
        site.ask("Emma").exits(75).says("started");
        assert_eq!(strays(&site).len(), 1, "{call} of {file}");
    }
    site.brief_tick().exits(0);
    assert_eq!(results(&site), "lost");
    nobody_is_left(&site);
}

#[test]
fn check_says_that_the_kernel_holds_no_processes() {
    if !can_inject("check_says_that_the_kernel_holds_no_processes") {
        return;
    }
    let site = Site::new().create();
    let check = failing(&site, "pidfd_open", "ENOSYS", None, &["check", "--allow-root"]);
    check.exits(0);
    assert!(format!("{}{}", check.out(), check.err()).contains("pidfd_open"), "{}{}", check.out(), check.err());
}

#[test]
fn an_export_succeeds_without_descriptors_of_processes() {
    if !can_inject("an_export_succeeds_without_descriptors_of_processes") {
        return;
    }
    let site = Site::new().create();
    site.ask("Emma").exits(75);
    failing(&site, "pidfd_open", "EPERM", None, &["tick", "--allow-root", "--wait"]).exits(0).stdout("");
    assert_eq!(results(&site), "ok");
    nobody_is_left(&site);
}

/// So many opened files lie between two cases; one is the whole truth and takes minutes.
const STEP: usize = 41;

/// Whichever file cannot be opened while a dead run is reaped: what it has left is gone afterwards, or it keeps its seat
/// and something is said.
#[test]
fn no_file_that_cannot_be_opened_leaves_a_process_without_a_seat() {
    if !can_inject("no_file_that_cannot_be_opened_leaves_a_process_without_a_seat") {
        return;
    }
    let (mut site, mut number) = (abandoned(), 1);
    loop {
        let when = format!("EMFILE:when={number}");
        let tick = failing(&site, "openat", &when, None, &["tick", "--allow-root"]);
        let (left, seat) = (strays(&site), site.count("SELECT count(*) FROM job WHERE status = 1"));
        let case = format!("{number}: {:?}, {} seats, {left:?}\n{}", tick.output.status, seat, tick.err());
        assert!(left.is_empty() || seat == 1, "{case}");
        assert!(left.is_empty() || !tick.err().is_empty(), "{case}");
        assert_eq!(site.ask("Emma").output.status.code(), Some(75), "{case}");
        if left.is_empty() {
            if tick.err().is_empty() && number > 400 {
                return; // no call has failed
            }
            site = abandoned();
        }
        number += STEP;
    }
}

/// A site whose run is dead and has left a daemon.
fn abandoned() -> Site {
    let site = held_by(LEFT, "max_attempts = 3");
    let before = strays(&site);
    kill_run(&site);
    wait_until("the leader has died with its run", || strays(&site).len() < before.len());
    site
}

/// An id cannot be made without random numbers: nothing is claimed then, and nothing waits for them or panics.
#[test]
fn without_random_numbers_nothing_is_claimed_and_that_is_said() {
    if !can_inject("without_random_numbers_nothing_is_claimed_and_that_is_said") {
        return;
    }
    let site = Site::new().create();
    site.ask("Emma").exits(75);
    // The first two are those of the C library and of the standard library.
    let tick = failing(&site, "getrandom", "EAGAIN:when=3+", None, &["tick", "--allow-root", "--wait"]);
    tick.warns("cannot get random numbers");
    assert!(!tick.err().contains("a fault in pressroom"), "{}", tick.err());
    site.ask("Emma").exits(75).stdout("queued 1\n");
    let urandom = Some(Path::new("/dev/urandom"));
    failing(&site, "openat", "EMFILE", urandom, &["tick", "--allow-root", "--wait"]).exits(0).stdout("").stderr("");
    site.ask("Emma").exits(0);
}
