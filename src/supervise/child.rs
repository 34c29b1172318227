//! The child between fork and exec. Only system calls are made here: no memory is allocated, no lock is taken.

use std::{
    ffi::{CString, c_char},
    io,
    os::fd::{AsRawFd, BorrowedFd},
    ptr,
};

use super::exec_spec::Rlimit;

/// What the child could not do, in the order of doing it.
pub(super) const STEPS: [&str; 5] =
    ["give it a session of its own", "connect its output", "set its limits", "enter its work directory", "execute it"];

/// The last of them.
pub(super) const EXECUTE: usize = STEPS.len() - 1;

/// Bytes of a report: the step and the error number.
pub(super) const REPORT: usize = 5;

/// Everything that the child needs, made before the fork.
pub(super) struct Recipe<'a> {
    pub program: CString,
    pub argv: &'a [CString],
    pub env: &'a [CString],
    pub work: CString,
    pub limits: Vec<Rlimit>,
    pub null: BorrowedFd<'a>,
    pub output: BorrowedFd<'a>,
    /// Close-on-exec: its end tells the parent that the exporter runs.
    pub report: BorrowedFd<'a>,
    /// Both ends: the child closes the writing one and executes when a byte has come.
    pub go: [BorrowedFd<'a>; 2],
}

/// Forks and executes; returns the child's number in the parent.
pub(super) fn fork(recipe: &Recipe<'_>) -> io::Result<i32> {
    let argv = pointers(recipe.argv);
    let env = pointers(recipe.env);
    let parent = nix::unistd::getpid().as_raw();
    // SAFETY: the child calls nothing but async-signal-safe functions until it executes or leaves.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            // SAFETY: we are the child; the vectors end in null and live as long as this process image.
            unsafe { become_exporter(recipe, &argv, &env, parent) }
        }
        child => Ok(child),
    }
}

fn pointers(strings: &[CString]) -> Vec<*const c_char> {
    strings.iter().map(|string| string.as_ptr()).chain([ptr::null()]).collect()
}

/// SAFETY: only in a child right after fork; both vectors end in null.
unsafe fn become_exporter(recipe: &Recipe<'_>, argv: &[*const c_char], env: &[*const c_char], parent: i32) -> ! {
    // SAFETY: the helpers make plain system calls with the recipe's descriptors and strings.
    unsafe {
        reset_signals();
        let failed = if !leave_the_run(parent) {
            0
        } else if !connect(recipe) {
            1
        } else if !limit(&recipe.limits) {
            2
        } else if libc::chdir(recipe.work.as_ptr()) != 0 {
            3
        } else if !may_go(recipe.go) {
            libc::_exit(127)
        } else {
            libc::execve(recipe.program.as_ptr(), argv.as_ptr(), env.as_ptr());
            4
        };
        report(recipe.report, failed);
        libc::_exit(127)
    }
}

/// Ignored signals survive an exec, and so does the mask. The kernel is asked directly, because the C library keeps two
/// signals to itself and would leave them ignored.
unsafe fn reset_signals() {
    const KERNEL_SET: usize = 8;
    // An all-zero action is the default one with an empty mask; an all-zero set is empty.
    let zero = [0_u64; 8];
    // SAFETY: the buffer is larger than the kernel's action and set, and is only read.
    unsafe {
        for signal in 1..=64 {
            // Refused for SIGKILL and SIGSTOP, which are always at their default.
            libc::syscall(libc::SYS_rt_sigaction, signal, zero.as_ptr(), ptr::null_mut::<u64>(), KERNEL_SET);
        }
        let set = libc::SIG_SETMASK;
        libc::syscall(libc::SYS_rt_sigprocmask, set, zero.as_ptr(), ptr::null_mut::<u64>(), KERNEL_SET);
    }
}

/// An own session, and death with the run. A run that has died before the request was heard has another successor.
unsafe fn leave_the_run(parent: i32) -> bool {
    // SAFETY: no pointers but a literal path.
    unsafe {
        let alone = libc::setsid() != -1 && libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) == 0;
        if libc::getppid() != parent {
            libc::_exit(127);
        }
        libc::umask(0o027);
        let score = libc::open(c"/proc/self/oom_score_adj".as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
        // Without it the kernel only chooses less well.
        libc::write(score, c"1000".as_ptr().cast(), 4);
        alone
    }
}

unsafe fn connect(recipe: &Recipe<'_>) -> bool {
    // SAFETY: the descriptors are open and above 2.
    unsafe {
        libc::dup2(recipe.null.as_raw_fd(), 0) == 0
            && libc::dup2(recipe.output.as_raw_fd(), 1) == 1
            && libc::dup2(recipe.output.as_raw_fd(), 2) == 2
            && close_the_rest()
    }
}

/// The report must stay open until the exec, so all are marked, not closed.
unsafe fn close_the_rest() -> bool {
    // SAFETY: no pointers.
    unsafe {
        if libc::syscall(libc::SYS_close_range, 3, u32::MAX, libc::CLOSE_RANGE_CLOEXEC) == 0 {
            return true;
        }
        // A kernel before 5.11.
        let most = libc::sysconf(libc::_SC_OPEN_MAX).clamp(256, 1 << 20);
        for fd in 3..i32::try_from(most).unwrap_or(256) {
            libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC);
        }
        true
    }
}

/// Waits until the parent has noted down who we are. If it dies first, there is nothing to be found.
unsafe fn may_go([go, to_go]: [BorrowedFd<'_>; 2]) -> bool {
    let mut byte = 0_u8;
    // SAFETY: our own copy of the descriptor is closed; the buffer is valid for its length.
    unsafe {
        libc::close(to_go.as_raw_fd());
        loop {
            match libc::read(go.as_raw_fd(), (&raw mut byte).cast(), 1) {
                1 => return true,
                -1 if *libc::__errno_location() == libc::EINTR => {}
                _ => return false,
            }
        }
    }
}

unsafe fn limit(limits: &[Rlimit]) -> bool {
    limits.iter().all(|limit| {
        let value = libc::rlimit { rlim_cur: limit.soft, rlim_max: limit.hard };
        // SAFETY: a valid resource and a valid pointer.
        unsafe { libc::setrlimit(limit.resource as _, &raw const value) == 0 }
    })
}

unsafe fn report(to: BorrowedFd<'_>, step: u8) {
    let error = io::Error::last_os_error().raw_os_error().unwrap_or(0).to_ne_bytes();
    let bytes = [step, error[0], error[1], error[2], error[3]];
    // SAFETY: the buffer is valid for its length.
    unsafe { libc::write(to.as_raw_fd(), bytes.as_ptr().cast(), REPORT) };
}
