//! Starting an exporter: everything is prepared before the fork, the child only makes system calls.

use std::{
    collections::HashSet,
    ffi::CString,
    fmt,
    fs::{File, OpenOptions},
    io::{self, Read},
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::ffi::OsStrExt,
    },
    path::Path,
    time::Duration,
};

use nix::{
    fcntl::{FcntlArg, OFlag, fcntl},
    sys::{
        signal::{Signal, kill},
        wait::waitpid,
    },
    unistd::{Pid, pipe2},
};

use super::{
    child::{self, EXECUTE, REPORT, Recipe, STEPS},
    events::Events,
    exec_spec::{ExecSpec, rlimits},
    proc::{self, Handle},
    process_tree::{Swept, TreeIds, end_tree},
    sys, work,
};
use crate::model::{clock::since_boot, limits::Limits, passing, process::ProcessId};

/// An exporter that was executed. Must be handed to `supervise`, which ends and reaps it.
#[derive(Debug)]
pub struct Leader {
    /// Its number is also that of its group and session.
    pub(super) process: ProcessId,
    pub(super) handle: Handle,
    /// This process.
    pub(super) run: ProcessId,
    pub(super) events: Events,
    /// The reading end of its stdout and stderr; does not block.
    pub(super) output: OwnedFd,
    /// Time since boot.
    pub(super) started: Duration,
    /// Bytes that lay in the work directory before.
    pub(super) given: u64,
    /// The numbers of all processes that were there before it.
    pub(super) strangers: HashSet<i32>,
}

/// The exporter could not be started.
#[derive(Debug)]
pub struct SpawnError {
    step: &'static str,
    cause: io::Error,
}

impl fmt::Display for SpawnError {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "cannot {}: {}", self.step, self.cause)
    }
}

impl std::error::Error for SpawnError {}

impl SpawnError {
    /// What helps, if the machine refuses and may not the next time. Too little memory for a program that has a limit on
    /// memory of its own is that limit's doing; its limit on processes holds for what it forks itself.
    pub fn passing(&self, limits: &Limits) -> Option<&'static str> {
        let is_limited = limits.address_space.is_some() || limits.data.is_some();
        let own = self.step == STEPS[EXECUTE] && self.cause.kind() == io::ErrorKind::OutOfMemory && is_limited;
        passing::advice(&self.cause).filter(|_| !own)
    }
}

impl From<io::Error> for SpawnError {
    fn from(cause: io::Error) -> Self {
        Self { step: "prepare it", cause }
    }
}

impl From<nix::Error> for SpawnError {
    fn from(cause: nix::Error) -> Self {
        io::Error::from(cause).into()
    }
}

impl Leader {
    pub const fn process(&self) -> ProcessId {
        self.process
    }
}

/// Starts the exporter in a session of its own, under its limits, with nothing inherited.
///
/// `note` learns who it is before it is executed: whoever finds the run dead can find all that the exporter has left.
/// Returns when the kernel has executed it. Whatever supervising needs is there before: nothing that runs may be without
/// a supervisor. It dies with the calling thread, which has to be the run's main thread.
///
/// # Errors
/// The step that could not be done; nothing has been executed then.
pub fn spawn(order: &ExecSpec, note: impl FnOnce(ProcessId) -> io::Result<()>) -> Result<Leader, SpawnError> {
    let null = aside(OpenOptions::new().read(true).open("/dev/null")?.into())?;
    let (output, to_output) = pipe()?;
    let (report, to_report) = pipe()?;
    let (go, to_go) = pipe()?;
    let given = work::count(&order.work, None).total;
    let (run, events) = (ProcessId::this()?, Events::new()?);
    let strangers = proc::pids()?.into_iter().collect();
    fcntl(&output, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
    let started = since_boot();
    let pid = child::fork(&Recipe {
        program: c_path(&order.program)?,
        argv: &order.argv,
        env: &order.env,
        work: c_path(&order.work)?,
        limits: rlimits(&order.limits),
        null: null.as_fd(),
        output: to_output.as_fd(),
        report: to_report.as_fd(),
        go: [go.as_fd(), to_go.as_fd()],
    })?;
    drop((to_output, to_report, go));
    let begun = ProcessId::of(pid).map_err(SpawnError::from).and_then(|process| {
        let handle = Handle::of_child(process);
        let_go(process, &to_go, note)?;
        drop(to_go);
        executed(report)?;
        Ok((process, handle))
    });
    let (process, handle) = begun.inspect_err(|_| undo(pid, run, order))?;
    Ok(Leader { process, handle, run, events, output, started, given, strangers })
}

/// Lets the child execute the exporter, or end, if it cannot be noted down.
fn let_go(child: ProcessId, to_go: &OwnedFd, note: impl FnOnce(ProcessId) -> io::Result<()>) -> Result<(), SpawnError> {
    note(child).map_err(|cause| SpawnError { step: "note it down in its lock file", cause })?;
    // A child that has failed already has closed the other end.
    match nix::unistd::write(to_go, &[1]) {
        Ok(_) | Err(nix::Error::EPIPE) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Ends and reaps a child that has not become the exporter, and whoever it may have started all the same.
fn undo(pid: i32, run: ProcessId, order: &ExecSpec) {
    let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
    let _ = waitpid(Pid::from_raw(pid), None);
    let ids = TreeIds { attempt: order.attempt.clone(), run: Some(run), leader: None };
    while sys::has_children() && end_tree(&ids, Duration::ZERO) != Swept::Gone {}
}

/// Waits until the child has become the exporter, or says what it could not do.
fn executed(report: OwnedFd) -> Result<(), SpawnError> {
    let mut bytes = Vec::with_capacity(REPORT);
    File::from(report).read_to_end(&mut bytes)?;
    let &[step, ref error @ ..] = bytes.as_slice() else { return Ok(()) };
    let number = error.try_into().map_or(0, i32::from_ne_bytes);
    let step = STEPS.get(usize::from(step)).copied().unwrap_or("start it");
    Err(SpawnError { step, cause: io::Error::from_raw_os_error(number) })
}

fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let (from, to) = pipe2(OFlag::O_CLOEXEC)?;
    Ok((aside(from)?, aside(to)?))
}

/// Above 2: the child's own 0, 1 and 2 must not cover what they are made of.
fn aside(fd: OwnedFd) -> io::Result<OwnedFd> {
    // A clone is never below 3.
    if is_standard(fd.as_fd()) { fd.try_clone() } else { Ok(fd) }
}

fn is_standard(fd: BorrowedFd<'_>) -> bool {
    std::os::fd::AsRawFd::as_raw_fd(&fd) <= 2
}

fn c_path(path: &Path) -> io::Result<CString> {
    Ok(CString::new(path.as_os_str().as_bytes())?)
}
