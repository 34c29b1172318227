//! What a process is before it supervises.

use std::{
    fs::{self, File, OpenOptions},
    io,
    os::fd::AsFd,
};

use nix::{
    errno::Errno,
    sys::{
        prctl,
        signal::{SigSet, Signal},
    },
    unistd::{dup2_stdin, setsid},
};

use super::sys;
use crate::model::passing;

/// The signals that ask a run to stop; they wait until the supervisor reads them.
pub(super) fn stop_signals() -> SigSet {
    [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP, Signal::SIGQUIT].into_iter().collect()
}

/// The locked file that is the stdin of a run, on a close-on-exec descriptor. [`become_run`] puts `/dev/null` in its place.
pub fn inherited_lock() -> io::Result<File> {
    Ok(File::from(io::stdin().as_fd().try_clone_to_owned()?))
}

/// Makes this process the run of one attempt: `/dev/null` as stdin; own session; subreaper; signals wait for the
/// supervisor.
pub fn become_run() -> io::Result<()> {
    dup2_stdin(OpenOptions::new().read(true).open("/dev/null")?)?;
    match setsid() {
        // It leads a session already if somebody started it so.
        Ok(_) | Err(Errno::EPERM) => {}
        Err(error) => return Err(error.into()),
    }
    let _ = prctl::set_name(c"pressroom run"); // for people: started by way of /proc it would be called "exe"
    become_trial()
}

/// For a process that waits for children: whoever ignores SIGCHLD hears of no child's end, and that is inherited.
pub fn hear_children() -> io::Result<()> {
    sys::default_signal(Signal::SIGCHLD)
}

/// For a process that ends when it is told to, whatever started it: a shell starts what it puts into the background with
/// SIGINT ignored, and nohup with SIGHUP.
pub fn heed_stop_signals() -> io::Result<()> {
    [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP].into_iter().try_for_each(sys::default_signal)
}

/// A file that may not grow any more is an error like a full disk, and no reason to die in the middle of an answer. What
/// an exporter is started with is set anew.
pub fn survive_file_limit() -> io::Result<()> {
    sys::ignore_signal(Signal::SIGXFSZ)
}

/// Starts a program of somebody else's: a signal that is ignored would be inherited, and a program that does not expect that
/// takes a cut file for a whole one.
pub fn with_file_limit<T>(start: impl FnOnce() -> T) -> T {
    let _ = sys::default_signal(Signal::SIGXFSZ);
    let started = start();
    let _ = survive_file_limit();
    started
}

/// Why no exporter can be started or supervised on this machine, one sentence. `None`: nothing is known to be missing.
pub fn cannot_supervise() -> Option<String> {
    let exe = fs::symlink_metadata("/proc/self/exe").and_then(|_| fs::File::open("/proc/self/stat"));
    if let Err(error) = exe {
        let advice = what_helps(&error, "mount it, since no exporter can be supervised without");
        return Some(format!("cannot look into /proc: {error}{advice}"));
    }
    let null = OpenOptions::new().read(true).write(true).open("/dev/null");
    let error = null.err()?;
    let advice = what_helps(&error, "make it, since each exporter is given it");
    Some(format!("cannot open /dev/null: {error}{advice}"))
}

/// What to do about the error, as the end of a sentence; `missing` is the advice where there is no such file.
fn what_helps(error: &io::Error, missing: &str) -> String {
    let missing = (error.kind() == io::ErrorKind::NotFound).then_some(missing);
    passing::advice(error).or(missing).map_or_else(String::new, |advice| format!("; {advice}"))
}

/// What a run is, for `try`, which stays in the foreground: stdin and session are left alone.
pub fn become_trial() -> io::Result<()> {
    prctl::set_child_subreaper(true)?;
    hear_children()?;
    stop_signals().thread_block()?;
    Ok(())
}
