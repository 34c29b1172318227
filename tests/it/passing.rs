//! A machine that refuses for a while: too many processes or open files, too little memory, a quota. No job is at fault:
//! none is used up, the admin is told once, and the next healthy round makes them all.

use std::{fs, process::Command};

use crate::support::{
    site::{Done, Site, wait_until},
    together::Beside,
};

/// The command as the site's user, under these limits (options of prlimit) or by another program that executes it.
fn under(site: &Site, limits: &[&str], words: &[&str]) -> Command {
    let (command, user) = (site.command(words), site.user().to_string());
    let mut limited = Command::new("setpriv");
    limited.args(["--reuid", &user, "--regid", &user, "--clear-groups"]);
    limited.args(limits).arg(command.get_program()).args(command.get_args()).current_dir(site.dir()).env_clear();
    limited.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    limited
}

#[track_caller]
fn limited(site: &Site, limits: &[&str], words: &[&str]) -> Done {
    Done::of(&mut under(site, limits, words))
}

const TICK: [&str; 2] = ["tick", "--allow-root"];
const TICK_AND_WAIT: [&str; 3] = ["tick", "--allow-root", "--wait"];

/// Ten queued books, of which so many may run at once. `None`: only root can become somebody without rights.
fn ten_books(test: &str, at_once: u32) -> Option<Site> {
    if !nix::unistd::geteuid().is_root() {
        crate::support::outside::skipped(test, "only root can become a user with few processes");
        return None;
    }
    let settings = format!(
        "state_dir = \"s\"\n[cache]\nmin_free = \"0B\"\n[host]\nmin_free_memory = \"0B\"\nmax_running = {at_once}\n\
         [queue.default]\nmax_running = {at_once}\n"
    );
    let site = Site::new().head(&settings).by_nobody().create();
    for book in 0..10 {
        site.ask(&format!("b{book}")).exits(75);
    }
    Some(site)
}

/// All are queued as if nobody had claimed them.
#[track_caller]
fn none_is_used_up(site: &Site) {
    let states = "SELECT group_concat(DISTINCT status || ' ' || attempts || ' ' || coalesce(result, '-')) FROM job";
    assert_eq!(site.text(states), "0 0 -");
    assert_eq!(site.count("SELECT count(*) FROM job"), 10);
    assert_eq!(site.count("SELECT count(*) FROM attempt"), 0);
    assert_eq!(site.count("SELECT queued FROM queue WHERE name = 'default'"), 10);
}

#[track_caller]
fn the_next_tick_makes_them_all(site: &Site, at_once: usize) {
    (0..10 / at_once).for_each(|_| drop(site.tick()));
    assert_eq!(site.names("s/cache/epub").len(), 10);
    assert_eq!(site.count("SELECT count(*) FROM attempt WHERE result <> 'ok'"), 0);
    site.tick().exits(0).stdout("").stderr("");
    assert_eq!(site.names("s/work"), Vec::<String>::new());
    assert_eq!(site.logs().len(), 10);
}

#[test]
fn with_too_many_processes_no_job_is_used_up_and_the_next_tick_makes_them_all() {
    let Some(site) = ten_books("with_too_many_processes", 10) else { return };
    for _ in 0..2 {
        let tick = limited(&site, &["prlimit", "--nproc=1"], &TICK);
        tick.exits(74).warns("10 claimed jobs are queued again").warns("raise ulimit -u");
        assert_eq!(tick.err().lines().count(), 1, "{}", tick.err());
        none_is_used_up(&site);
        let status = site.run(&["status"]);
        status.exits(2).says("critical: ticks can start nothing: cannot start a run: ").says("raise ulimit -u");
    }
    the_next_tick_makes_them_all(&site, 10);
    site.tick();
    assert!(!site.run(&["status"]).out().contains("ticks can start nothing"));
}

#[test]
fn a_run_that_cannot_start_its_exporter_gives_the_job_back() {
    let Some(site) = ten_books("a_run_that_cannot_start_its_exporter_gives_the_job_back", 1) else { return };
    for _ in 0..2 {
        // The tick and one run: its exporter would be the third.
        let tick = limited(&site, &["prlimit", "--nproc=2"], &TICK_AND_WAIT);
        tick.exits(74).warns("a run could not start its exporter: ").warns("raise ulimit -u");
        none_is_used_up(&site);
    }
    the_next_tick_makes_them_all(&site, 1);
}

/// From too few to begin with to enough, whoever is the first that lacks one.
#[test]
fn with_any_number_of_open_files_no_job_is_used_up() {
    let Some(site) = ten_books("with_any_number_of_open_files_no_job_is_used_up", 10) else { return };
    for files in 3..40 {
        limited(&site, &["prlimit", &format!("--nofile={files}:{files}")], &TICK_AND_WAIT);
        assert_eq!(site.count("SELECT count(*) FROM job WHERE status > 1"), 0, "{files} files");
        let failed = "SELECT coalesce(group_concat(result || ' ' || coalesce(detail, '')), '') FROM attempt WHERE result <> 'ok'";
        assert_eq!(site.text(failed), "", "{files} files");
    }
    the_next_tick_makes_them_all(&site, 10);
}

/// What a run and its child ask of the kernel before the exporter runs, each refused in turn.
#[test]
fn whatever_the_kernel_refuses_a_run_the_job_goes_back() {
    let Some(site) = ten_books("whatever_the_kernel_refuses_a_run_the_job_goes_back", 10) else { return };
    let has_strace = Command::new("strace").arg("-V").output().is_ok();
    if !has_strace {
        return crate::support::outside::skipped("whatever_the_kernel_refuses_a_run_the_job_goes_back", "no strace");
    }
    for refused in ["pipe2:error=ENFILE", "mkdir:error=EDQUOT", "mkdir:error=ENOSPC", "timerfd_create:error=ENOMEM"] {
        let inject = format!("inject={refused}");
        let strace = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", &inject];
        let tick = limited(&site, &strace, &TICK_AND_WAIT);
        tick.exits(74).warns("a run could not start its exporter: ").warns("the jobs of 10 runs are queued again");
        none_is_used_up(&site);
    }
    the_next_tick_makes_them_all(&site, 10);
}

/// Neither rings nor ended runs make it try again and again; when the machine is well again, it goes on by itself.
#[test]
fn a_lingering_tick_pauses_while_the_machine_refuses_and_says_it_once() {
    let scenes =
        [("--nproc=1:500", 10, "cannot start a run: "), ("--nproc=2:500", 1, "a run could not start its exporter: ")];
    for (processes, at_once, told) in scenes {
        let name = "a_lingering_tick_pauses_while_the_machine_refuses_and_says_it_once";
        let Some(site) = ten_books(name, at_once) else { return };
        let mut tick = under(&site, &["prlimit", processes], &["tick", "--allow-root", "--for", "10min"]);
        tick.env("PRESSROOM_LOG", "info");
        let said = || fs::read_to_string(site.path("said")).unwrap_or_default();
        let tick = Beside::start_into(&mut tick, fs::File::create(site.path("said")).unwrap());
        wait_until("it is told", || said().contains(told));
        for ring in 0..30 {
            site.ask(&format!("more{ring}")).exits(75);
        }
        let launched = said().matches("launched").count();
        assert!(launched <= 6, "{launched} runs were started: {}", said());
        assert_eq!(site.count("SELECT count(*) FROM job WHERE status <> 1 AND attempts > 0"), 0);
        let pid = tick.id().to_string();
        let user = site.user().to_string();
        let mut raise = Command::new("setpriv");
        raise.args(["--reuid", &user, "--regid", &user, "--clear-groups", "prlimit", "--pid", &pid, "--nproc=500:500"]);
        Done::of(&mut raise).exits(0);
        wait_until("all are made", || site.names("s/cache/epub").len() == 40);
        crate::support::together::wait_for_runs(&site);
        tick.stop().exits(0);
        assert_eq!(said().matches(told).count(), 1, "{}", said());
        assert_eq!(site.count("SELECT count(*) FROM attempt WHERE result <> 'ok'"), 0);
    }
}
