//! What is to be executed, completely spelled out, with the limits that the kernel holds it to.

use std::{
    collections::BTreeMap,
    ffi::CString,
    io,
    path::{Path, PathBuf},
};

use nix::{
    sys::resource::{Resource, getrlimit, rlim_t},
    unistd::{AccessFlags, access},
};

use crate::{config::command::PATH, model::limits::Limits};

/// The variables that name an exporter's own directory.
const HOMES: [&str; 7] =
    ["HOME", "TMPDIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME"];

/// One exporter run: everything is decided, no name is looked up any more.
#[derive(Clone, Debug)]
pub struct ExecSpec {
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
/// Fails if `work` is not UTF-8 or a value holds a NUL byte.
pub fn environment(
    work: &Path,
    configured: &BTreeMap<String, String>,
    own: &[(&str, &str)],
) -> io::Result<Vec<CString>> {
    let home = work.to_str().ok_or_else(|| io::Error::other("the work directory's path is not UTF-8"))?;
    let mut names: BTreeMap<&str, &str> = HOMES.into_iter().map(|name| (name, home)).collect();
    names.extend([("PATH", PATH), ("LANG", "C.UTF-8"), ("TZ", "UTC")]);
    names.extend(configured.iter().map(|(name, value)| (name.as_str(), value.as_str())));
    names.extend(own.iter().copied());
    names.into_iter().map(|(name, value)| CString::new(format!("{name}={value}")).map_err(io::Error::from)).collect()
}

/// The file that `command0` names: itself if it has a slash, else the first in `path`. `None` if there is none that
/// may be executed.
pub fn resolve(command0: &str, path: &str) -> Option<PathBuf> {
    if command0.contains('/') {
        return Some(PathBuf::from(command0)).filter(|file| is_executable(file));
    }
    let mut found = path.split(':').filter(|dir| dir.starts_with('/')).map(|dir| Path::new(dir).join(command0));
    found.find(|file| is_executable(file))
}

fn is_executable(file: &Path) -> bool {
    file.is_file() && access(file, AccessFlags::X_OK).is_ok()
}

/// The kernel counts in whole seconds per process; the watcher, which sees the whole tree, is to be first.
const CPU_SLACK: u64 = 1;
/// What a stack starts with on every distribution; an unlimited one changes how the kernel lays out memory.
const STACK: rlim_t = 8 << 20;

/// One call of setrlimit(2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rlimit {
    pub resource: Resource,
    pub soft: rlim_t,
    pub hard: rlim_t,
}

/// Limits for every resource: those that are configured, and for the others whatever is allowed, so that none that
/// cron or a web server has set for itself reaches the exporter.
pub(super) fn rlimits(limits: &Limits) -> Vec<Rlimit> {
    let mut all = vec![
        at(Resource::RLIMIT_CORE, Some(0)),
        at(Resource::RLIMIT_FSIZE, limits.file_size),
        at(Resource::RLIMIT_NOFILE, limits.open_files),
        at(Resource::RLIMIT_DATA, limits.data),
        at(Resource::RLIMIT_AS, limits.address_space),
        at(Resource::RLIMIT_NPROC, limits.processes),
        cpu(limits),
    ];
    let stack = at(Resource::RLIMIT_STACK, None);
    all.push(Rlimit { soft: stack.hard.min(STACK), ..stack });
    all
}

/// Limits that this user may not set as high as they are configured: one sentence each.
pub fn unsettable(limits: &Limits) -> Vec<String> {
    let wanted = [
        ("file_size", Resource::RLIMIT_FSIZE, limits.file_size),
        ("open_files", Resource::RLIMIT_NOFILE, limits.open_files),
        ("data", Resource::RLIMIT_DATA, limits.data),
        ("address_space", Resource::RLIMIT_AS, limits.address_space),
        ("processes", Resource::RLIMIT_NPROC, limits.processes),
        ("cpu", Resource::RLIMIT_CPU, limits.cpu.map(|cpu| cpu.as_secs())),
    ];
    let above = wanted.into_iter().filter_map(|(name, resource, limit)| {
        let most = hard(resource);
        limit
            .filter(|limit| *limit > most)
            .map(|limit| format!("{name} is {limit}, but this user's own limit is {most}"))
    });
    above.collect()
}

fn at(resource: Resource, limit: Option<u64>) -> Rlimit {
    let most = hard(resource);
    let value = limit.map_or(most, |limit| limit.min(most));
    Rlimit { resource, soft: value, hard: value }
}

/// SIGXCPU at the soft limit, SIGKILL at the hard one.
fn cpu(limits: &Limits) -> Rlimit {
    let most = hard(Resource::RLIMIT_CPU);
    let Some(cpu) = limits.cpu else { return at(Resource::RLIMIT_CPU, None) };
    let seconds =
        |duration: std::time::Duration| duration.as_secs().saturating_add(u64::from(duration.subsec_nanos() > 0));
    let soft = seconds(cpu).saturating_add(CPU_SLACK);
    Rlimit {
        resource: Resource::RLIMIT_CPU,
        soft: soft.min(most),
        hard: soft.saturating_add(seconds(limits.kill_after).max(1)).min(most),
    }
}

fn hard(resource: Resource) -> rlim_t {
    getrlimit(resource).map_or(rlim_t::MAX, |(_, hard)| hard)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_name_is_found_in_the_path_and_a_directory_is_not() {
        assert!(resolve("sh", PATH).is_some_and(|file| file.is_absolute()));
        assert_eq!(resolve("usr", "/"), None);
        assert_eq!(resolve("sh", "relative::"), None);
        assert_eq!(resolve("/etc/passwd", PATH), None);
    }

    #[test]
    fn the_configuration_adds_names_but_does_not_replace_ours() {
        let configured = BTreeMap::from([("LANG".into(), "fr".into()), ("PRESSROOM_ATTEMPT".into(), "x".into())]);
        let env = environment(Path::new("/w"), &configured, &[("PRESSROOM_ATTEMPT", "A")]).expect("clean");
        let has = |entry: &str| env.iter().any(|have| have.to_bytes() == entry.as_bytes());
        assert!(has("LANG=fr") && has("PRESSROOM_ATTEMPT=A") && has("HOME=/w") && has("TZ=UTC"));
        assert!(!has("PRESSROOM_ATTEMPT=x"));
    }
}
