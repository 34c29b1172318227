//! What an exporter is given, and what cannot be started.

use std::{
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt},
};

use nix::sys::signal::{self, SigHandler, Signal};

use super::{World, alone, world::until};
use crate::{
    model::status::Outcome,
    supervise::{
        become_run, inherited_lock,
        process_tree::{Swept, TreeIds, end_tree},
        spawn,
    },
};

#[test]
fn an_exporter_gets_its_own_surroundings_and_nothing_else() {
    alone(|| {
        let leaked = fs::File::open("/etc/passwd").and_then(|file| {
            nix::fcntl::fcntl(&file, nix::fcntl::FcntlArg::F_SETFD(nix::fcntl::FdFlag::empty()))?;
            Ok(file)
        });
        let leaked = leaked.expect("inheritable");
        ignore_and_block();
        let mut world = World::sh(
            "pwd; umask; env | sort; i=3; while [ $i -lt 256 ]; do [ -e /proc/$$/fd/$i ] && echo leaked $i; i=$((i+1)); done; readlink /proc/$$/fd/0; cat /proc/$$/oom_score_adj; \
             grep -E 'Sig(Blk|Ign)' /proc/self/status; cut -d' ' -f1,5,6 /proc/$$/stat; ulimit -c",
        );
        world.ends(Outcome::Ok);
        drop(leaked);
        let log = world.log();
        let work = world.order.work.display().to_string();
        assert!(log.starts_with(&format!("{work}\n0027\n")), "{log}");
        for expected in
            [&format!("HOME={work}\n"), &format!("TMPDIR={work}\n"), "LANG=C.UTF-8\n", "TZ=UTC\n", "/dev/null"]
        {
            assert!(log.contains(expected), "no {expected} in {log}");
        }
        assert!(!log.contains("leaked") && !log.contains("CARGO"), "{log}");
        assert!(log.contains("SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n"), "{log}");
        let (_, numbers) = log.trim_end().rsplit_once("0000\n").expect("numbers");
        let lines: Vec<&str> = numbers.lines().collect();
        let ids: Vec<&str> = lines[0].split(' ').collect();
        assert!(ids[0] == ids[1] && ids[1] == ids[2], "own group and session: {ids:?}");
        assert_eq!(lines[1], "0", "no core files");
        assert!(log.contains("\n1000\n"), "the kernel's first choice: {log}");
    });
}

/// As a web server might leave them.
fn ignore_and_block() {
    for signal in [Signal::SIGHUP, Signal::SIGUSR1, Signal::SIGXFSZ] {
        // SAFETY: nobody else handles signals in this process, and no handler is installed.
        #[expect(unsafe_code, reason = "there is no safe way to ignore a signal")]
        unsafe {
            signal::signal(signal, SigHandler::SigIgn).expect("ignored");
        }
    }
    signal::SigSet::from(Signal::SIGUSR2).thread_block().expect("blocked");
}

#[test]
fn a_run_moves_its_lock_away_from_stdin_and_leads_a_session() {
    alone(|| {
        let lock = tempfile::tempfile().expect("a file");
        nix::unistd::dup2_stdin(&lock).expect("given as stdin");
        let moved = inherited_lock().expect("a lock");
        become_run().expect("a run");
        let inode = |file: &fs::File| file.metadata().expect("metadata").ino();
        assert_eq!(inode(&moved), inode(&lock));
        let flags = nix::fcntl::fcntl(&moved, nix::fcntl::FcntlArg::F_GETFD).expect("flags");
        assert_eq!(flags & libc::FD_CLOEXEC, libc::FD_CLOEXEC);
        assert_eq!(fs::read_link("/proc/self/fd/0").expect("a link"), std::path::Path::new("/dev/null"));
        assert_eq!(nix::unistd::getsid(None), Ok(nix::unistd::getpid()));
    });
}

#[test]
fn the_leader_dies_with_its_run() {
    alone(|| {
        let world = World::sh("sleep 1000");
        // The kernel means the thread that forked, which in a run is the only one.
        let leader = std::thread::scope(|scope| {
            scope.spawn(|| spawn(&world.order, |_| Ok(())).expect("started").process).join().expect("joined")
        });
        until("the leader is dead", || !leader.is_alive().unwrap());
        let ids = TreeIds { attempt: world.order.attempt.clone(), run: None, leader: Some(leader) };
        assert_eq!(end_tree(&ids, std::time::Duration::ZERO), Swept::Gone);
    });
}

/// Whoever could not be found after the run's death is never there.
#[test]
fn nothing_is_executed_before_it_was_noted_down() {
    alone(|| {
        let world = World::sh("touch was-run");
        let refused = spawn(&world.order, |leader| {
            assert!(leader.is_alive().unwrap() && !world.file("was-run").exists());
            Err(std::io::ErrorKind::StorageFull.into())
        });
        let error = refused.expect_err("must not start").to_string();
        assert!(error.starts_with("cannot note it down in its lock file: "), "{error}");
        assert!(!world.file("was-run").exists());
        assert_eq!(world.left(), Vec::<i32>::new());
    });
}

#[test]
fn limits_reach_the_exporter() {
    alone(|| {
        let mut world = World::sh("ulimit -n; ulimit -f; ulimit -d; ulimit -t; ulimit -Ht").limits(|limits| {
            limits.open_files = Some(99);
            limits.file_size = Some(512 * 1000);
            limits.data = Some(1 << 30);
            limits.cpu = Some(std::time::Duration::from_secs(7));
        });
        world.ends(Outcome::Ok);
        assert_eq!(world.log(), "99\n1000\n1048576\n8\n13\n");
    });
}

#[test]
fn a_file_that_the_kernel_cannot_execute_is_not_handed_to_a_shell() {
    alone(|| {
        let mut world = World::command(&["false"]);
        world.order.program = world.file("script");
        fs::write(&world.order.program, "touch was-run\n").expect("written");
        fs::set_permissions(&world.order.program, fs::Permissions::from_mode(0o755)).expect("set");
        let error = world.refused().to_string();
        assert!(error.starts_with("cannot execute it: Exec format error"), "{error}");
        assert!(!world.file("was-run").exists());
        assert_eq!(world.left(), Vec::<i32>::new());
    });
}

#[test]
fn what_is_missing_is_named() {
    alone(|| {
        let mut world = World::command(&["true"]);
        world.order.program = "/nowhere/at/all".into();
        assert!(world.refused().to_string().starts_with("cannot execute it: No such file"));
        let mut world = World::command(&["true"]);
        world.order.work = "/nowhere".into();
        assert!(world.refused().to_string().starts_with("cannot enter its work directory: No such file"));
    });
}
