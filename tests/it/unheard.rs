//! Stderr that cannot be written: a full disk behind a log, a pipe that nobody reads. What is said there is lost, and
//! nothing else is.

use std::{
    fs::OpenOptions,
    process::{Command, Stdio},
};

use crate::support::site::{Done, Site};

/// The same command with a stderr that refuses every byte, and with one whose reader has gone.
fn deaf(command: impl Fn() -> Command) -> [Done; 2] {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let full = OpenOptions::new().write(true).open("/dev/full").expect("/dev/full");
    [Stdio::from(full), Stdio::from(writer)].map(|stderr| {
        let output = command().stderr(stderr).stdout(Stdio::piped()).spawn().expect("it starts").wait_with_output();
        Done { what: "with a stderr that cannot be written".into(), output: output.expect("it ends") }
    })
}

#[test]
fn a_failure_that_cannot_be_reported_ends_no_round_and_is_not_reported_for_ever() {
    let site = Site::new().exporter("exit 3").create();
    for (number, _) in (0..2).enumerate() {
        site.ask(&format!("Emma{number}"));
    }
    site.tick();
    site.database().execute_batch("UPDATE job SET reported = 0").expect("as if not told");
    for done in deaf(|| site.command(&["tick", "--allow-root", "--wait"])) {
        done.exits(0);
    }
    assert_eq!(site.count("SELECT count(*) FROM job WHERE reported = 0"), 0);
}

#[test]
fn a_lingering_tick_outlives_its_log() {
    let site = Site::new().exporter("exit 3").create();
    site.ask("Emma").exits(75);
    for done in deaf(|| site.command(&["tick", "--allow-root", "--for", "1s"])) {
        done.exits(0);
    }
    site.run(&["jobs", "list", "--status", "failed"]).says("epub/Emma.epub");
}

/// With a reason that stands on stderr besides: nobody has ticked for long.
#[test]
fn a_request_with_a_warning_is_answered_all_the_same() {
    let site = Site::new().create();
    site.ask("Emma").exits(75);
    site.clock(600.0);
    for done in deaf(|| site.command(&["request", "epub", "title=Emma"])) {
        done.exits(75).stdout("queued 1\n");
    }
    for done in deaf(|| site.command(&["-vv", "request", "epub", "title=Emma"])) {
        done.exits(75).stdout("queued 1\n");
    }
    let page = || {
        let mut command = site.command(&["request", "--cgi"]);
        command.envs([("REQUEST_METHOD", "GET"), ("PATH_INFO", "/nothing"), ("QUERY_STRING", "")]);
        command
    };
    for done in deaf(page) {
        done.exits(0).says("Status: 404");
    }
}

#[test]
fn a_command_that_fails_ends_with_its_code_although_it_cannot_say_why() {
    let site = Site::new();
    for done in deaf(|| site.command(&["jobs", "list"])) {
        done.exits(78);
    }
}

/// A kill between two writes must not leave half a line: each is written whole.
#[test]
fn a_line_is_one_write() {
    if !std::path::Path::new("/usr/bin/strace").exists() {
        crate::support::outside::skipped("a_line_is_one_write", "strace is not installed");
        return;
    }
    let site = Site::new().exporter("exit 3").create();
    site.ask("Emma").exits(75);
    site.tick();
    site.database().execute_batch("UPDATE job SET reported = 0").expect("as if not told");
    let trace = site.path("trace");
    let tick = site.command(&["tick", "--allow-root"]);
    let mut strace = Command::new("/usr/bin/strace");
    strace.args(["-f", "-e", "trace=write", "-e", "write=2", "-o"]).arg(&trace).arg(tick.get_program());
    strace.args(tick.get_args()).env("PRESSROOM_CONFIG", site.config()).current_dir(site.dir());
    Done::of(&mut strace).exits(0).warns("epub/Emma.epub");
    let trace = std::fs::read_to_string(trace).expect("a trace");
    let lines: Vec<_> = trace.lines().filter(|line| line.contains(" write(2, ")).collect();
    assert!(lines.len() == 1 && lines[0].contains("\"pressroom: job 1"), "{lines:?}");
}
