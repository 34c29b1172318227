//! Trees that do not want to end.

use std::{fs, time::Duration};

use super::{World, alone, world::until};
use crate::{
    model::{process::ProcessId, status::Outcome},
    supervise::{
        StopOrder,
        process_tree::{Swept, TreeIds, end_tree},
        spawn,
    },
};

const SOON: Duration = Duration::from_millis(300);

fn impatient(world: World) -> World {
    world.limits(|limits| (limits.timeout, limits.kill_after) = (SOON, SOON))
}

#[test]
fn whoever_ignores_sigterm_is_killed() {
    alone(|| {
        let mut world = impatient(World::sh("trap '' TERM; echo ready; while :; do sleep 1; done"));
        assert_eq!(world.ends(Outcome::Timeout).signal, Some(9));
    });
}

#[test]
fn a_success_after_being_asked_is_a_timeout() {
    alone(|| {
        let mut world = impatient(World::sh("trap 'echo x >out; exit 0' TERM; while :; do sleep 0.01; done"));
        assert_eq!(world.ends(Outcome::Timeout).exit_code, Some(0));
    });
}

#[test]
fn a_stopped_exporter_ends_at_its_time() {
    alone(|| {
        assert_eq!(impatient(World::sh("kill -STOP $$")).ends(Outcome::Timeout).signal, Some(15));
    });
}

#[test]
fn a_closed_stdout_is_no_end() {
    alone(|| {
        impatient(World::sh("exec >&- 2>&-; sleep 1000")).ends(Outcome::Timeout);
    });
}

#[test]
fn a_grandchild_that_keeps_the_pipe_does_not_keep_the_attempt() {
    alone(|| {
        let ending = World::sh("sleep 1000 & echo done").ends(Outcome::Ok);
        assert_eq!(ending.log_tail, "done\n");
        World::sh("yes & exit 3").ends(Outcome::Exit);
    });
}

#[test]
fn daemons_in_sessions_of_their_own_without_the_cookie_are_found() {
    alone(|| {
        let script = "(setsid env -i sh -c 'trap \"\" TERM HUP; touch up; while :; do sleep 1; done' &) ; \
                      while [ ! -e up ]; do sleep 0.01; done";
        let mut world = World::sh(script).limits(|limits| limits.kill_after = SOON);
        world.ends(Outcome::Ok);
        assert!(world.file("up").exists());
    });
}

#[test]
fn orphans_that_ended_are_reaped_while_the_exporter_works() {
    alone(|| {
        let script = "for i in 1 2 3 4 5 6 7 8 9; do (sh -c 'exit' &); done; \
                      until [ $(cat /proc/[0-9]*/stat 2>/dev/null | grep -c \") Z $PPID \") = 0 ]; do sleep 0.05; done";
        World::sh(script).ends(Outcome::Ok);
    });
}

#[test]
fn a_fork_bomb_within_its_limit_is_ended() {
    alone(|| {
        let bomb = "import os,signal\nsignal.signal(15, signal.SIG_IGN)\nif os.getuid()==0: os.setgid(54321); os.setuid(54321)\n\
                    while 1:\n try: os.fork()\n except OSError: pass";
        let world = World::python(bomb).limits(|limits| (limits.processes, limits.kill_after) = (Some(200), SOON));
        let mut world = world.wish(|seen| if seen.processes > 100 { StopOrder::Cancel } else { StopOrder::GoOn });
        let ending = world.ends(Outcome::Cancelled);
        assert!(ending.peak_processes > 100, "{ending:?}");
    });
}

#[test]
fn a_tree_of_a_thousand_is_seen_and_ended() {
    alone(|| {
        let script = "import os,time\nfor i in range(1000):\n if os.fork()==0:\n  if i%3==0: os.setsid()\n  \
                      time.sleep(1000)\nopen('up','w').close()\ntime.sleep(1000)";
        let mut world = World::python(script).limits(|limits| limits.kill_after = Duration::from_secs(20));
        let up = world.file("up");
        world = world
            .wish(move |seen| if up.exists() && seen.processes > 1000 { StopOrder::Cancel } else { StopOrder::GoOn });
        assert!(world.ends(Outcome::Cancelled).peak_processes > 1000);
    });
}

#[test]
fn a_request_to_stop_ends_the_tree_in_order() {
    alone(|| {
        let mut world = World::sh("trap 'echo bye; exit 3' TERM; kill -TERM $PPID; while :; do sleep 0.01; done");
        let ending = world.ends(Outcome::Shutdown);
        assert_eq!(ending.exit_code, Some(3));
        assert!(ending.log_tail.ends_with("bye\n"), "{ending:?}");
    });
}

#[test]
fn a_wish_is_heeded() {
    alone(|| {
        World::sh("sleep 1000").wish(|_| StopOrder::Cancel).ends(Outcome::Cancelled);
        World::sh("sleep 1000").wish(|_| StopOrder::Taken).ends(Outcome::Lost);
    });
}

#[test]
fn what_a_dead_run_left_is_found_by_session_and_cookie() {
    alone(|| {
        // The tree of a run that is not us: a shell plays the run, and its children lose it.
        let world = World::sh(
            "setsid sh -c 'echo $$ >leader; setsid sleep 1001 & env -i sleep 1002 & wait' & \
             until [ -s leader ]; do sleep 0.01; done; kill -9 $$",
        );
        let run = spawn(&world.order, |_| Ok(())).expect("started");
        until("the leader is there", || {
            fs::read_to_string(world.file("leader")).is_ok_and(|text| text.ends_with('\n'))
        });
        let pid: i32 = fs::read_to_string(world.file("leader")).expect("a number").trim().parse().expect("a number");
        let leader = ProcessId::of(pid).expect("alive");
        until("the run is dead", || !run.process.is_alive().unwrap());
        let ids = TreeIds { attempt: world.order.attempt.clone(), run: Some(run.process), leader: Some(leader) };
        assert_eq!(end_tree(&ids, Duration::ZERO), Swept::Gone);
        assert!(!leader.is_alive().unwrap());
    });
}

#[test]
fn a_number_that_passed_to_somebody_else_is_not_touched() {
    alone(|| {
        let world = World::sh("sleep 1000");
        let stranger = spawn(&world.order, |_| Ok(())).expect("started").process;
        let old = ProcessId { start: stranger.start - 1, ..stranger };
        let ids = TreeIds { attempt: "another".into(), run: Some(old), leader: Some(old) };
        assert_eq!(end_tree(&ids, Duration::ZERO), Swept::Gone);
        assert!(stranger.is_alive().unwrap());
        let ids = TreeIds { attempt: "another".into(), run: None, leader: Some(stranger) };
        assert_eq!(end_tree(&ids, Duration::ZERO), Swept::Gone);
        assert!(!stranger.is_alive().unwrap());
    });
}

#[test]
fn a_run_that_is_overdue_is_killed_with_its_tree() {
    alone(|| {
        let world = World::sh("setsid env -i sleep 1001 & sleep 1002 & touch up; wait");
        let run = spawn(&world.order, |_| Ok(())).expect("started").process;
        until("all are there", || world.left().len() >= 2 && world.file("up").exists());
        let ids = TreeIds { attempt: world.order.attempt.clone(), run: Some(run), leader: None };
        assert_eq!(end_tree(&ids, Duration::from_secs(30)), Swept::Gone);
        assert!(!run.is_alive().unwrap());
    });
}

#[test]
fn who_may_not_be_killed_is_reported() {
    if !nix::unistd::geteuid().is_root() {
        return crate::outside::skipped(
            "who_may_not_be_killed_is_reported",
            "only root can make a process that we may not kill",
        );
    }
    alone(|| {
        let world = World::sh("sleep 1000");
        let leader = spawn(&world.order, |_| Ok(())).expect("started").process;
        let ids = TreeIds { attempt: world.order.attempt.clone(), run: None, leader: Some(leader) };
        let swept = std::thread::scope(|scope| scope.spawn(|| end_as_somebody_else(&ids)).join().expect("joined"));
        let Swept::Stuck(stuck) = swept else { panic!("it cannot be gone") };
        assert_eq!(stuck[0].process, Some(leader));
        assert!(stuck[0].to_string().contains(") cannot be killed: Operation not permitted"), "{}", stuck[0]);
        assert_eq!(end_tree(&ids, Duration::ZERO), Swept::Gone);
    });
}

/// Only this thread changes its user, which the C library would not do.
fn end_as_somebody_else(ids: &TreeIds) -> Swept {
    const NOBODY: libc::uid_t = 65534;
    // SAFETY: a system call without pointers; the thread does nothing but what follows.
    #[expect(unsafe_code, reason = "the user of a single thread")]
    let done = unsafe { libc::syscall(libc::SYS_setresuid, NOBODY, NOBODY, NOBODY) };
    assert_eq!(done, 0);
    end_tree(ids, Duration::ZERO)
}
