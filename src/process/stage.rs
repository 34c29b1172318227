//! What a process is before it supervises.

use std::{
    fs::{File, OpenOptions},
    io,
    os::fd::AsFd,
};

use nix::{
    errno::Errno,
    sys::{prctl, signal::SigSet, signal::Signal},
    unistd::{dup2_stdin, setsid},
};

use super::sys;

/// The signals that ask a run to stop; they wait until the supervisor reads them.
pub(super) fn stop_signals() -> SigSet {
    [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP, Signal::SIGQUIT].into_iter().collect()
}

/// Makes this process the run of one attempt: the locked file that is its stdin moves to a close-on-exec descriptor,
/// which is returned, and `/dev/null` takes its place; own session; subreaper; signals wait for the supervisor.
pub fn become_run() -> io::Result<File> {
    let moved = io::stdin().as_fd().try_clone_to_owned()?;
    dup2_stdin(OpenOptions::new().read(true).open("/dev/null")?)?;
    match setsid() {
        // It leads a session already if somebody started it so.
        Ok(_) | Err(Errno::EPERM) => {}
        Err(error) => return Err(error.into()),
    }
    become_trial()?;
    Ok(File::from(moved))
}

/// For a process that waits for children: whoever ignores SIGCHLD hears of no child's end, and that is inherited.
pub fn hear_children() -> io::Result<()> {
    sys::default_signal(Signal::SIGCHLD)
}

/// What a run is, for `try`, which stays in the foreground: stdin and session are left alone.
pub fn become_trial() -> io::Result<()> {
    prctl::set_child_subreaper(true)?;
    hear_children()?;
    stop_signals().thread_block()?;
    Ok(())
}
