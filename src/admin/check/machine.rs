//! What the machine gives: room on the disk, locks that work, limits that can be set.

use super::Findings;
use crate::{config::Config, context::Context, model::format, request::disk_is_low, site, supervise};

/// With fewer files left than this, publishing will soon fail.
const FEW_INODES: u64 = 1000;

/// Space, files and locks where the site lies.
pub fn disk(context: &Context, found: &mut Findings) {
    let cache = context.site.cache();
    if disk_is_low(context)
        && let Ok(free) = site::free_bytes(&cache)
    {
        let (free, least) = (format::bytes(free), format::size(context.config.cache.min_free));
        found.warnings.push(format!("only {free} are free below {}, and nothing is started with less than min_free ({least}); free some space or lower min_free", cache.display()));
    }
    if let Some(free) = site::free_inodes(&cache).ok().flatten().filter(|free| *free < FEW_INODES) {
        let files = format::count(free, "file");
        found.warnings.push(format!(
            "only {files} more can be made below {}; remove some, or make the file system anew with more inodes",
            cache.display()
        ));
    }
    if context.site.is_owner() {
        found.problems.extend(context.site.lock_problem());
    }
}

/// What supervising needs of the kernel.
pub fn processes(found: &mut Findings) {
    found.problems.extend(supervise::cannot_supervise());
    if let Some(error) = supervise::without_pidfd() {
        found.warnings.push(format!("the kernel gives out no descriptors of processes (pidfd_open: {error}), so processes are signalled by their numbers; use Linux 5.3 or later, or allow the call in the sandbox"));
    }
}

/// Limits of exporters above what this user may set: the lower one would count.
pub fn limits(config: &Config, found: &mut Findings) {
    for exporter in config.exporters.values() {
        for sentence in supervise::unsettable(&exporter.limits) {
            let advice = "raise it in /etc/security/limits.conf or for the cron service, or lower the exporter's";
            found.warnings.push(format!("exporter {}: {sentence}; {advice}", exporter.name));
        }
    }
}
