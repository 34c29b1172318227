//! `pressroom try`: one export in the foreground, under its real limits.

use std::{
    fs,
    io::{BufRead, BufReader},
    process::{Command, Stdio},
};

use nix::sys::signal::{Signal, kill};

use crate::support::{
    site::{Done, Site, wait_until},
    strays::{nobody_is_left, strays},
};

fn words<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&["try", "epub", "title=Emma", "--allow-root"], more].concat()
}

#[track_caller]
fn attempt(site: &Site) -> Done {
    let done = site.run(&words(&[]));
    leaves_nothing(site);
    done
}

/// Nothing is queued, recorded or published, and nothing is left over.
#[track_caller]
fn leaves_nothing(site: &Site) {
    nobody_is_left(site);
    for table in ["job", "attempt"] {
        assert_eq!(site.count(&format!("SELECT count(*) FROM {table}")), 0, "{table}");
    }
    for dir in ["s/cache", "s/work", "s/log"] {
        assert_eq!(site.names(dir), [""; 0], "{dir}");
    }
}

#[test]
fn a_success_tells_what_was_used_and_which_limits_would_fit() {
    let site = Site::new().exporter("echo said; head -c 300000 /dev/zero >\"$1\"; sleep 100 &").create();
    let done = attempt(&site);
    done.exits(0).stderr("said\n").says("result: ok\n").says("largest file: 300 kB of 200 MB");
    for line in ["time: ", "cpu: ", "memory: ", "work directory: ", "processes: "] {
        assert!(done.out().lines().any(|said| said.starts_with(line) && said.len() > line.len()), "{}", done.out());
    }
    done.says("limits that would fit")
        .says("timeout = \"10s\"")
        .says("limits.memory = \"")
        .says("limits.cpu = \"10s\"");
    site.ask("Emma").exits(75).stdout("queued 1\n");
}

/// The suggestion is in the words of the configuration.
#[test]
fn the_fitting_limits_can_be_copied_into_the_configuration() {
    let site = Site::new().exporter("echo x >\"$1\"").create();
    let done = attempt(&site);
    let fitting = done.out().split("of this size:\n").nth(1).expect("a suggestion").to_owned();
    let site = site.exporter_with("echo x >\"$1\"", &fitting);
    site.run(&words(&[])).exits(0);
}

#[test]
fn the_file_can_be_kept() {
    let site = Site::new().create();
    site.run(&words(&["--output", "kept"])).exits(0);
    assert_eq!(fs::read_to_string(site.path("kept")).unwrap(), "Emma\n");
    leaves_nothing(&site);
}

#[test]
fn failures_are_told_as_they_would_be_recorded() {
    for (script, settings, says) in [
        ("echo bad >&2; exit 3", "", "result: exit, exit status 3\n"),
        ("kill -SEGV $$", "", "result: signal, signal 11\n"),
        ("exit 0", "", "result: no_output, the exporter left no file"),
        ("exec sleep 1000", "timeout = \"300ms\"", "result: timeout, signal 15\n"),
        ("while :; do :; done", "limits.cpu = \"300ms\"", "result: cpu"),
        ("head -c 20000 /dev/zero >\"$1\"", "limits.file_size = \"10kB\"", "result: file_size"),
        ("exec python3 -c 'x = b\"x\" * (1 << 30)'", "limits.memory = \"50MB\"", "result: memory"),
    ] {
        let site = Site::new().exporter_with(script, settings).create();
        let done = attempt(&site);
        done.exits(70).says(says);
        assert!(!done.out().contains("would fit"), "{}", done.out());
    }
}

#[test]
fn wrong_words_are_refused() {
    let site = Site::new().create();
    site.run(&["try", "mobi", "--allow-root"]).exits(64).warns("there is no exporter \"mobi\"");
    site.run(&["try", "epub", "--allow-root"]).exits(65).warns("title");
    site.run(&["try", "epub", "title", "--allow-root"]).exits(64).warns("NAME=VALUE");
    leaves_nothing(&site);
}

/// Its stderr is read up to this line.
fn read_to(site: &mut Command, line: &str) -> std::process::Child {
    let mut child = site.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut log = BufReader::new(child.stderr.take().unwrap());
    let mut said = String::new();
    while !said.ends_with(&format!("{line}\n")) {
        assert_ne!(log.read_line(&mut said).unwrap(), 0, "{said}");
    }
    child.stderr = Some(log.into_inner());
    child
}

fn pid(child: &std::process::Child) -> nix::unistd::Pid {
    nix::unistd::Pid::from_raw(child.id().cast_signed())
}

const WAITING: &str = "(setsid sh -c 'trap \"\" TERM; : >../../../daemon; while :; do sleep 0.05; done' &)\n\
    until [ -e ../../../daemon ]; do sleep 0.01; done\necho early\nuntil [ -e ../../../go ]; do sleep 0.01; done\necho x >\"$1\"";

#[test]
fn the_log_comes_while_the_exporter_works_and_ctrl_c_ends_it_all() {
    let site = Site::new().exporter_with(WAITING, "kill_after = \"300ms\"").create();
    let child = read_to(&mut site.command(&words(&[])), "early");
    site.tick().exits(0).stderr(""); // which sweeps nothing from under it
    assert_eq!(site.names("s/work").len(), 2);
    kill(pid(&child), Signal::SIGINT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(70));
    assert!(String::from_utf8_lossy(&output.stdout).starts_with("result: shutdown"));
    leaves_nothing(&site);
}

#[test]
fn what_a_killed_one_has_left_is_ended_and_swept_by_the_next_tick() {
    let site = Site::new().exporter(WAITING).create();
    let mut child = read_to(&mut site.command(&words(&[])), "early");
    let before = strays(&site).len();
    child.kill().unwrap();
    child.wait().unwrap();
    wait_until("the leader has died with it", || strays(&site).len() < before);
    assert!(!strays(&site).is_empty());
    site.tick().exits(0).stdout("").stderr("");
    leaves_nothing(&site);
}
