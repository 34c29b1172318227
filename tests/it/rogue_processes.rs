//! Exporters that do not want to end, through the real request, tick and run.

use std::process::Command;

use crate::support::rogue::{ends, ends_at, python, site};

#[test]
fn one_that_ignores_sigterm_is_killed() {
    let ended = ends("trap '' TERM; while :; do sleep 0.05; done", "timeout = \"1s\"", "timeout");
    ended.is_answered("failed_timeout it took too long\n");
    assert_eq!(ended.number("signal"), 9);
}

#[test]
fn one_that_answers_sigterm_with_a_whole_file_has_timed_out_all_the_same() {
    let script = r#"trap 'echo late >"$1"; exit 0' TERM; while :; do sleep 0.05; done"#;
    let ended = ends(script, "timeout = \"1s\"", "timeout");
    assert_eq!(ended.number("exit_code"), 0);
    assert!(!ended.site.cached("epub/rogue.epub").exists());
}

/// Neither parent, nor group, nor session, nor environment leads to it; only that it becomes the run's child.
#[test]
fn one_that_forks_twice_is_found() {
    let daemon = "(setsid env -i sh -c 'trap \"\" TERM HUP; : >up; while :; do sleep 0.05; done' &)\n";
    let wait = "until [ -e up ]; do sleep 0.01; done\n";
    ends(&format!("{daemon}{wait}echo x >\"$1\""), "", "ok");
    ends(&format!("{daemon}{wait}exit 3"), "", "exit");
}

/// What a service starts that was there before is no descendant; as at(1) does it, it has the environment of whoever
/// asked for it.
#[test]
fn one_that_lets_a_service_start_its_helper_does_not_leave_it_behind() {
    for pause in ["0", "0.5"] {
        let site = site(
            &format!("echo $PRESSROOM_ATTEMPT >../../../ask; read up <../../../up; sleep {pause}; echo x >\"$1\""),
            "",
        );
        let site = site.create();
        for name in ["ask", "up"] {
            nix::unistd::mkfifo(&site.path(name), nix::sys::stat::Mode::S_IRWXU).unwrap();
        }
        let helper = "read cookie <ask; PRESSROOM_ATTEMPT=$cookie sh -c 'echo yes >up; exec sleep 1000' & wait";
        let mut service = Command::new("/bin/sh");
        let mut service = service.args(["-c", helper]).current_dir(site.dir()).env_clear().spawn().unwrap();
        ends_at(site, "ok");
        assert_eq!(service.wait().unwrap().code(), Some(0), "its helper was ended");
    }
}

#[test]
fn one_that_moves_to_another_session_is_found() {
    ends("setsid sleep 1000 & setsid -w sleep 1001", "timeout = \"500ms\"", "timeout");
}

#[test]
fn one_that_stops_itself_ends_at_its_time() {
    let ended = ends("kill -STOP $$", "timeout = \"500ms\"", "timeout");
    assert_eq!(ended.number("signal"), 15, "it was continued, so that it heard the request to end");
}

#[test]
fn one_that_closes_its_output_and_sleeps_ends_at_its_time() {
    ends("exec >&- 2>&- sleep 1000", "timeout = \"500ms\"", "timeout");
}

#[test]
fn a_grandchild_that_keeps_the_pipe_does_not_keep_the_attempt() {
    ends("sleep 1000 & echo x >\"$1\"", "", "ok");
    ends("yes & exit 4", "", "exit");
}

#[test]
fn one_that_spins_is_ended_by_its_cpu_limit() {
    let ended = ends("while :; do :; done", "limits.cpu = \"1s\"", "cpu");
    ended.is_answered("failed_timeout it took too long\n");
    assert!(ended.number("cpu_used") >= 950, "{} ms", ended.number("cpu_used"));
}

/// The time of all processes counts, and no single one of them passes the kernel's own limit.
#[test]
fn a_tree_that_spins_is_ended_by_its_cpu_limit() {
    let script = "for i in 1 2 3 4; do (while :; do :; done) & done; wait";
    ends(script, "limits.cpu = \"1s\"", "cpu");
}

/// The kernel counts processes by user, and root's not at all.
#[test]
fn a_fork_bomb_stays_within_its_limit_and_is_ended() {
    let bomb = python("import os\nwhile 1:\n try: os.fork()\n except OSError: pass");
    let site = site(&bomb, "timeout = \"2s\"\nlimits.processes = 100").by_nobody().create();
    ends_at(site, "timeout");
}

#[test]
fn a_fork_bomb_that_ignores_sigterm_is_ended() {
    let bomb = "import os,signal\nsignal.signal(15, signal.SIG_IGN)\nwhile 1:\n try: os.fork()\n except OSError: pass";
    let site = site(&python(bomb), "timeout = \"2s\"\nlimits.processes = 100").by_nobody().create();
    ends_at(site, "timeout");
}
