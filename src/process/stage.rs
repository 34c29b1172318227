//! What a process is before it supervises.

use std::{fs::File, io};

/// Makes this process the run of one attempt: the locked file that is its stdin moves to a close-on-exec descriptor,
/// which is returned, and `/dev/null` takes its place; own session; subreaper; signals wait for the supervisor.
pub fn become_run() -> io::Result<File> {
    todo!()
}

/// The same for `try`, which stays in the foreground: stdin and session are left alone.
pub fn become_trial() -> io::Result<()> {
    todo!()
}
