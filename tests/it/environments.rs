//! What a host may take away: descriptors, `/dev`, entries of `/proc`, memory, variables, the working directory. Each
//! command then does its work or says in a sentence why it cannot, and ends with a code of the contract.

use std::{fs, process::Command};

use crate::support::{
    site::{Done, Site},
    web,
};

/// Every code that a command may end with, whatever happens to it.
const CONTRACT: [i32; 11] = [0, 1, 2, 64, 65, 66, 69, 70, 74, 75, 78];

const TICK: [&str; 3] = ["tick", "--allow-root", "--wait"];
const WORDS: [&[&str]; 8] = [
    &["request", "epub", "title=Hit"],
    &["request", "epub", "title=New", "--format", "json"],
    &["status"],
    &["jobs", "list"],
    &["queues", "list"],
    &["check", "--allow-root"],
    &["tick", "--allow-root", "--dry-run"],
    &["try", "epub", "title=Tried", "--allow-root"],
];

/// A site with one file in its cache.
fn site() -> Site {
    let site = Site::new().exporter_with(r#"echo whole >"$1""#, "web = true").create();
    site.ask("Hit").exits(75);
    site.tick().exits(0).stderr("");
    site
}

/// Every command as it is usually started: by a shell, by a web server for a page, for JSON and for a file, by cron.
fn commands(site: &Site) -> Vec<Command> {
    let mut all: Vec<Command> = WORDS.iter().map(|words| site.command(words)).collect();
    for (title, accept) in [("Paged", "text/html"), ("Json", "application/json"), ("Hit", "text/html")] {
        let mut cgi = web::cgi(site, "GET", "/epub", &format!("title={title}"));
        cgi.env("HTTP_ACCEPT", accept);
        all.push(cgi);
    }
    all.push(web::program(site, "status", "GET", ""));
    all.push(site.command(&TICK));
    all
}

/// The command, started by a shell that has done this first.
fn after(deed: &str, command: &Command, own_mounts: bool) -> Command {
    let script = format!("{deed}; exec \"$0\" \"$@\"");
    let mut shell = if own_mounts { Command::new("unshare") } else { Command::new("/bin/bash") };
    if own_mounts {
        shell.args(["-m", "/bin/bash"]);
    }
    shell.args(["-c", &script]).arg(command.get_program()).args(command.get_args());
    shell.current_dir(command.get_current_dir().expect("a directory")).env_clear();
    shell.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    shell
}

/// Runs every command after each of the deeds, with a job in the queue for the tick.
#[track_caller]
fn nothing_panics(deeds: &[String], own_mounts: bool) {
    let site = site();
    for (number, deed) in deeds.iter().enumerate() {
        site.ask(&format!("Waiting{number}"));
        for command in commands(&site) {
            let done = Done::of(&mut after(deed, &command, own_mounts));
            is_told_well(&done, deed);
        }
        for log in site.names("s/log") {
            let text = fs::read_to_string(site.path("s/log").join(&log)).unwrap_or_default();
            assert!(!text.contains("a fault in pressroom"), "after {deed}, a run: {text}");
        }
    }
}

#[track_caller]
fn is_told_well(done: &Done, deed: &str) {
    let (code, err, out) = (done.output.status.code(), done.err(), done.out());
    let said = format!("after {deed}: {}\n{:?}\nstdout: {out}stderr: {err}", done.what, done.output.status);
    assert!(code.is_some_and(|code| CONTRACT.contains(&code)), "{said}");
    assert!(!err.contains("panicked") && !err.contains("a fault in pressroom"), "{said}");
    let is_deaf = deed.contains("2>&-") || deed.contains("/dev/full");
    assert!(code == Some(0) || is_deaf || !err.is_empty() || !out.is_empty(), "no sentence {said}");
    // What the kernel says of an error tells nobody what it is about.
    let is_bare = |line: &str| {
        let text = line.strip_prefix("pressroom: ").unwrap_or_default();
        text.starts_with(|c: char| c.is_ascii_uppercase()) && text.contains("(os error")
    };
    assert!(!err.lines().any(is_bare), "nothing is named {said}");
}

fn can_mount(test: &str) -> bool {
    crate::support::outside::has_mounts(test)
}

#[test]
fn without_descriptors_nothing_panics() {
    let closed = ["0<&-", "1>&-", "2>&-", "0<&- 1>&-", "1>&- 2>&-", "0<&- 1>&- 2>&-"].map(|it| format!("exec {it}"));
    // With fewer the program cannot be loaded.
    let few = (4..=14).map(|number| format!("ulimit -n {number}"));
    let full = ["exec >/dev/full", "exec 2>/dev/full", "exec >/dev/full 2>&1"].map(str::to_owned);
    nothing_panics(&closed.into_iter().chain(few).chain(full).collect::<Vec<_>>(), false);
}

#[test]
fn without_a_working_directory_or_variables_nothing_panics() {
    let deeds = [
        "mkdir gone; cd gone; rmdir ../gone",
        "exec env -i PRESSROOM_CONFIG=\"$PRESSROOM_CONFIG\" \"$0\" \"$@\"",
        "exec env -i \"$0\" \"$@\"",
        "unset PATH HOME LANG TZ",
        "export TZ=$'\\377/x' LANG=$'\\376' LC_ALL=zz HOME=/nowhere COLUMNS=0 TERM=x TMPDIR=/nowhere",
        "export PRESSROOM_LOG=$'=,[[\\377'",
        "export PRESSROOM_LOG=trace; exec 2>&-",
        "exec -a '' \"$0\" \"$@\"",
        "trap '' CHLD PIPE HUP TERM",
        "umask 777",
    ];
    nothing_panics(&deeds.map(str::to_owned), false);
}

#[test]
fn without_dev_or_parts_of_proc_and_etc_nothing_panics() {
    if !can_mount("without_dev_or_parts_of_proc_and_etc_nothing_panics") {
        return;
    }
    let empty = ["/dev", "/proc", "/proc/sys", "/etc", "/sys"].map(|dir| format!("mount -t tmpfs none {dir}"));
    let files = [
        "/proc/meminfo",
        "/proc/stat",
        "/proc/uptime",
        "/proc/loadavg",
        "/proc/1/stat",
        "/proc/sys/kernel/random/boot_id",
        "/etc/passwd",
        "/etc/group",
    ];
    let blank = files.map(|file| format!(": >blank; mount --bind blank {file}"));
    nothing_panics(&empty.into_iter().chain(blank).collect::<Vec<_>>(), true);
}

/// The least memory, in KiB, with which the program can be loaded and has a stack: the kernel ends a process whose stack
/// cannot grow, and nobody is asked.
fn least(limit: char, site: &Site) -> u64 {
    let deep = site.command(&["check", "--allow-root"]);
    let starts = |size: &u64| {
        let done = Done::of(&mut after(&format!("ulimit -{limit} {size}"), &deep, false));
        done.output.status.code().is_some_and(|code| code != 127)
    };
    (1..1000).map(|step| step * 256).find(starts).expect("with 250 MiB it starts")
}

#[test]
fn without_memory_nothing_panics() {
    let site = site();
    for limit in ['v', 'd'] {
        let least = least(limit, &site);
        let deeds: Vec<_> = (1..20).map(|step| format!("ulimit -{limit} {}", least + step * 64)).collect();
        nothing_panics(&deeds, false);
    }
}
