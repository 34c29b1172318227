//! A kernel that lacks something.

use std::time::Duration;

use super::{World, alone};
use crate::{model::status::Outcome, supervise::without_pidfd};

/// From now on two system calls do not exist for this process and its children, as on an old kernel or in a sandbox.
fn lose_pidfds(error: i32) {
    let statement = |code: u32, jt, jf, k: i64| libc::sock_filter {
        code: u16::try_from(code).expect("fits"),
        jt,
        jf,
        k: u32::try_from(k).expect("fits"),
    };
    let (load, equals, answer) = (
        libc::BPF_LD | libc::BPF_W | libc::BPF_ABS,
        libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K,
        libc::BPF_RET | libc::BPF_K,
    );
    let mut filter = [
        statement(load, 0, 0, 0), // the number of the call
        statement(equals, 2, 0, libc::SYS_pidfd_open),
        statement(equals, 1, 0, libc::SYS_pidfd_send_signal),
        statement(answer, 0, 0, i64::from(libc::SECCOMP_RET_ALLOW)),
        statement(answer, 0, 0, i64::from(libc::SECCOMP_RET_ERRNO) | i64::from(error)),
    ];
    let program = libc::sock_fprog { len: 5, filter: filter.as_mut_ptr() };
    // SAFETY: the filter lives through the call, and the kernel copies it.
    #[expect(unsafe_code, reason = "there is no safe way to lose a system call")]
    let done = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program)
    };
    assert_eq!(done, 0, "{}", std::io::Error::last_os_error());
}

#[test]
fn without_pidfds_exporters_run_and_trees_end_all_the_same() {
    alone(|| {
        assert!(without_pidfd().is_none());
        lose_pidfds(libc::ENOSYS);
        assert!(without_pidfd().is_some());
        let ending = World::sh("echo x >out; sleep 1000 & exit 3").ends(Outcome::Exit);
        assert_eq!(ending.exit_code, Some(3));
        let daemon = "(setsid env -i sh -c 'trap \"\" TERM HUP; touch up; while :; do sleep 1; done' &) ; \
                      while [ ! -e up ]; do sleep 0.01; done; sleep 1000";
        let mut world = World::sh(daemon).limits(|limits| {
            limits.kill_after = Duration::from_millis(300);
            limits.timeout = Duration::from_secs(1);
        });
        assert_eq!(world.ends(Outcome::Timeout).signal, Some(15));
    });
}

/// A mapping that can be written to counts as well, after its descriptor was closed.
#[test]
fn a_file_that_somebody_may_write_to_is_told_from_one_that_nobody_can() {
    use crate::supervise::may_be_written;
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("file");
    std::fs::write(&path, "text").expect("written");
    let reading = || std::fs::File::open(&path).expect("opened");
    let other = reading();
    assert!(!may_be_written(&reading()));
    let writing = std::fs::OpenOptions::new().append(true).open(&path).expect("opened");
    assert!(may_be_written(&reading()));
    drop((writing, other));
    assert!(!may_be_written(&reading()));
}
