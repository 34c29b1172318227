//! What is to be executed, completely spelled out.

use std::{
    collections::BTreeMap,
    ffi::CString,
    io,
    path::{Path, PathBuf},
};

use crate::model::limits::Limits;

/// The `PATH` of every exporter.
pub const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// One exporter run: everything is decided, no name is looked up any more.
#[derive(Clone, Debug)]
pub struct Order {
    /// Absolute; executed as it is, never searched for and never handed to a shell.
    pub program: PathBuf,
    /// The whole vector, the program's name first.
    pub argv: Vec<CString>,
    /// `NAME=VALUE`, and nothing else reaches the exporter. Holds `PRESSROOM_ATTEMPT`; see [`environment`].
    pub env: Vec<CString>,
    /// The attempt's own directory.
    pub work: PathBuf,
    /// Where the exporter is to leave its file; `None` for a task.
    pub output: Option<PathBuf>,
    pub limits: Limits,
    /// The captured stdout and stderr go here.
    pub log: PathBuf,
    /// Bytes of the log that are kept.
    pub log_max: u64,
    /// The attempt's id, which is in the environment of the tree.
    pub attempt: String,
    /// The file that the exporter appends its progress to.
    pub progress: PathBuf,
    /// The file whose first line is for the visitor.
    pub message: PathBuf,
}

/// The environment of an exporter: its own directory as home, fixed words, what the configuration adds, and the
/// `own` names (`PRESSROOM_…`), which the configuration cannot replace.
///
/// Fails on a NUL byte in a value.
pub fn environment(
    work: &Path,
    configured: &BTreeMap<String, String>,
    own: &[(&str, &str)],
) -> io::Result<Vec<CString>> {
    let _ = (work, configured, own);
    todo!()
}

/// The file that `command0` names: itself if it has a slash, else the first in `path`. `None` if there is none that
/// may be executed.
pub fn resolve(command0: &str, path: &str) -> Option<PathBuf> {
    let _ = (command0, path);
    todo!()
}
