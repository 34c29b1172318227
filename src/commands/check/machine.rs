//! What the machine gives: room on the disk, locks that work, limits that can be set.

use super::Found;
use crate::{
    commands::{request::disk_is_low, words, world::World},
    config::Config,
    process, site,
};

/// With fewer files left than this, publishing will soon fail.
const FEW_INODES: u64 = 1000;

/// Space, files and locks where the site lies.
pub fn disk(world: &World, found: &mut Found) {
    let cache = world.site.cache();
    if disk_is_low(world)
        && let Ok(free) = site::free_bytes(&cache)
    {
        let (free, least) = (words::bytes(free), words::size(world.config.cache.min_free));
        found.warnings.push(format!("only {free} are free below {}, and nothing is started with less than min_free ({least}); free some space or lower min_free", cache.display()));
    }
    if let Some(free) = site::free_inodes(&cache).ok().flatten().filter(|free| *free < FEW_INODES) {
        let files = words::count(free, "file");
        found.warnings.push(format!(
            "only {files} more can be made below {}; remove some, or make the file system anew with more inodes",
            cache.display()
        ));
    }
    if world.site.is_owner() {
        found.problems.extend(world.site.lock_problem());
    }
}

/// What supervising needs of the kernel.
pub fn processes(found: &mut Found) {
    found.problems.extend(process::cannot_supervise());
    if let Some(error) = process::without_pidfd() {
        found.warnings.push(format!("the kernel gives out no descriptors of processes (pidfd_open: {error}), so processes are signalled by their numbers; use Linux 5.3 or later, or allow the call in the sandbox"));
    }
}

/// Limits of exporters above what this user may set: the lower one would count.
pub fn limits(config: &Config, found: &mut Found) {
    for exporter in config.exporters.values() {
        for sentence in process::unsettable(&exporter.limits) {
            let advice = "raise it in /etc/security/limits.conf or for the cron service, or lower the exporter's";
            found.warnings.push(format!("exporter {}: {sentence}; {advice}", exporter.name));
        }
    }
}
