//! What cannot be read is not taken for gone: a round that cannot look keeps the seat and says so, and the next one goes on.
//! The calls are made to fail by strace(1).

use std::{path::Path, process::Command};

use crate::{
    running::{held_by, kill_run, lock, results},
    site::{Done, Site, wait_until},
    strays::{nobody_is_left, strays},
};

/// Whether strace is there and may trace.
fn can_inject(test: &str) -> bool {
    let tried = Command::new("strace").args(["-f", "-o", "/dev/null", "true"]).output();
    let can = tried.is_ok_and(|tried| tried.status.success());
    if !can {
        eprintln!("SKIPPED: {test}: strace cannot trace here");
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
