//! The kernel's limits of an exporter, decided before the fork.

use nix::sys::resource::{Resource, getrlimit, rlim_t};

use crate::model::limits::Limits;

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
