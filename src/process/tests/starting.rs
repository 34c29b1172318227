//! What an exporter is given, and what cannot be started.

use std::{fs, os::unix::fs::PermissionsExt};

use super::{World, alone};
use crate::model::status::Outcome;

#[test]
fn an_exporter_gets_its_own_surroundings_and_nothing_else() {
    alone(|| {
        let leaked = fs::File::open("/etc/passwd").and_then(|file| {
            nix::fcntl::fcntl(&file, nix::fcntl::FcntlArg::F_SETFD(nix::fcntl::FdFlag::empty()))?;
            Ok(file)
        });
        let leaked = leaked.expect("inheritable");
        let mut world = World::sh(
            "pwd; umask; env | sort; ls /proc/$$/fd | tr '\\n' ' '; readlink /proc/$$/fd/0; cat /proc/$$/oom_score_adj; \
             grep -E 'Sig(Blk|Ign)' /proc/$$/status; cut -d' ' -f1,5,6 /proc/$$/stat; ulimit -c",
        );
        world.ends(Outcome::Ok);
        drop(leaked);
        let log = world.log();
        let work = world.order.work.display().to_string();
        assert!(log.starts_with(&format!("{work}\n0027\n")), "{log}");
        for expected in
            [&format!("HOME={work}\n"), &format!("TMPDIR={work}\n"), "LANG=C.UTF-8\n", "TZ=UTC\n", "0 1 2", "/dev/null"]
        {
            assert!(log.contains(expected), "no {expected} in {log}");
        }
        assert!(!log.contains("0 1 2 3") && !log.contains("CARGO"), "{log}");
        assert!(log.contains("SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n"), "{log}");
        let (_, numbers) = log.trim_end().rsplit_once("0000\n").expect("numbers");
        let lines: Vec<&str> = numbers.lines().collect();
        let ids: Vec<&str> = lines[0].split(' ').collect();
        assert!(ids[0] == ids[1] && ids[1] == ids[2], "own group and session: {ids:?}");
        assert_eq!(lines[1], "0", "no core files");
        assert!(log.contains("\n1000\n"), "the kernel's first choice: {log}");
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
