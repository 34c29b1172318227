//! `pressroom check`: every mistake at once, each with what to do; `--create` makes what is missing.
//!
//! Problems keep the site from working and make the exit code 78; warnings are about what may surprise, or passes. Looked
//! at are the configuration, the database (ours, whole, of this machine, used by a tick lately), the machine (room on the
//! disk, locks that work, limits that can be set), and who checks: what root may do says nothing about the crontab's user.

use nix::unistd::{AccessFlags, Uid, access};

use super::status::Report;
use crate::{
    cli::{CheckArgs, Global},
    config::{self, Config},
    context::{self, Context},
    exit::{Exit, Failure},
    logging,
    model::{clock::Stamp, estimate::NO_TICK, format},
    request::disk_is_low,
    site::{self, Site, machine_id},
    store::Store,
    supervise,
};

/// What was found, one sentence each.
#[derive(Debug, Default)]
struct Findings {
    problems: Vec<String>,
    warnings: Vec<String>,
    /// With `--create`: what is still to be done for a new site, which is nothing to be warned of.
    next: Option<String>,
}

/// Checks everything that can be checked without running an exporter; exit 0 or 78.
pub fn run(global: &Global, args: &CheckArgs) -> Result<(), Failure> {
    crate::supervise::hear_children()?;
    let context = Context::load(global)?;
    if args.create {
        create(&context, args)?;
    }
    let mut found = Findings::default();
    if args.create && args.group.is_none() {
        found.warnings.extend(context.site.group_warning());
    }
    become_owner(&context, &mut found);
    everything(&context, &mut found);
    for problem in &found.problems {
        logging::diagnostic(context.site.with_whole_command(problem));
    }
    if !args.create {
        found.warnings.extend(found.next.take().map(|next| format!("no tick has run yet; {next}")));
    }
    for warning in &found.warnings {
        println!("warning: {}", context.site.with_whole_command(warning));
    }
    if let Some(next) = found.next.filter(|_| args.create) {
        println!("next: {next}");
    }
    if !found.problems.is_empty() {
        return Err(Failure::code(Exit::Config));
    }
    let exporters = format::count(context.config.exporters.len() as u64, "exporter");
    println!("ok: {} with {exporters}, SQLite {}", context.config.file.display(), Store::sqlite_version());
    Ok(())
}

fn create(context: &Context, args: &CheckArgs) -> Result<(), Failure> {
    if nix::unistd::Uid::effective().is_root() && args.user.is_none() && !args.allow_root {
        let advice = "name the user of the crontab with --user, or give --allow-root in a container";
        return Err(Failure::because(Exit::Config, format!("root should not own the state directory; {advice}")));
    }
    let done = Site::create(&context.config, args.user.as_deref(), args.group.as_deref());
    for line in done.map_err(|error| Failure::new(Exit::Config, error))? {
        println!("{line}");
    }
    Store::create(context.database(), &machine_id()).map_err(|error| Failure::new(Exit::Config, error))
}

fn everything(context: &Context, found: &mut Findings) {
    found.problems.extend(config::deep_problems(&context.config));
    found.warnings.extend(config::warnings(&context.config));
    limits(&context.config, found);
    processes(found);
    if let Err(error) = Site::open(&context.config) {
        let advice = context::advice(context.site.state_dir(), context::By::Admin).map(|advice| format!("; {advice}"));
        found.problems.push(format!("{error}{}", advice.unwrap_or_default()));
        return;
    }
    found.problems.extend(context.site.problems(&context.config));
    disk(context, found);
    database(context, found);
}

const RECOUNT: &str = "run `pressroom check --create`, which counts anew";

/// Opens the database and looks at it as a whole.
fn database(context: &Context, found: &mut Findings) {
    match Store::open(context.database()) {
        Ok(store) => look(context, &store, found),
        Err(error) => found.problems.push(format!("{:#}", error.at(&context.config.database))),
    }
}

fn look(context: &Context, store: &Store, found: &mut Findings) {
    match store.integrity() {
        Ok(damage) => found.problems.extend(damage.iter().map(|line| {
            let file = context.config.database.display();
            format!("{file} is damaged ({line}); stop cron, move the file away and run `pressroom check --create`")
        })),
        Err(error) => found.problems.push(format!("{:#}", error.at(&context.config.database))),
    }
    match store.view().miscounts() {
        Ok(wrong) => found.problems.extend(wrong.into_iter().map(|sentence| format!("{sentence}; {RECOUNT}"))),
        Err(error) => found.problems.push(error.to_string()),
    }
    found.problems.extend(store.expect_machine(&machine_id()).err().map(|error| error.to_string()));
    silence(context, store, found);
    match Report::gather(context, &store.view()) {
        Ok(report) => found.warnings.extend(others(report)),
        Err(error) => found.problems.push(format!("{}: {error:#}", context.config.database.display())),
    }
}

/// What `status` would say, except what is looked at here more closely.
fn others(report: Report) -> impl Iterator<Item = String> {
    const CLOSER: [&str; 7] =
        ["never_ticked", "no_tick", "disk_low", "inodes_low", "exporter_broken", "not_writable", "other_machine"];
    report.findings.into_iter().filter(|finding| !CLOSER.contains(&finding.code)).map(|finding| finding.text)
}

fn silence(context: &Context, store: &Store, found: &mut Findings) {
    let owner = context.site.owner().unwrap_or_default();
    match store.view().last_tick() {
        Ok(None) => found.next = Some(format!("put `pressroom tick` into the crontab of {owner}, see crontab.example")),
        Ok(Some(last)) => {
            let quiet = Stamp::now().since(last.at);
            let ago = format::duration(quiet);
            let advice = format!("is `pressroom tick` in the crontab of {owner}, and does cron run?");
            found.warnings.extend((quiet >= NO_TICK).then(|| format!("the last tick ran {ago} ago; {advice}")));
        }
        Err(_) => {}
    }
}

/// With fewer files left than this, publishing will soon fail.
const FEW_INODES: u64 = 1000;

/// Space, files and locks where the site lies.
fn disk(context: &Context, found: &mut Findings) {
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
fn processes(found: &mut Findings) {
    found.problems.extend(supervise::cannot_supervise());
    if let Some(error) = supervise::without_pidfd() {
        found.warnings.push(format!("the kernel gives out no descriptors of processes (pidfd_open: {error}), so processes are signalled by their numbers; use Linux 5.3 or later, or allow the call in the sandbox"));
    }
}

/// Limits of exporters above what this user may set: the lower one would count.
fn limits(config: &Config, found: &mut Findings) {
    for exporter in config.exporters.values() {
        for sentence in supervise::unsettable(&exporter.limits) {
            let advice = "raise it in /etc/security/limits.conf or for the cron service, or lower the exporter's";
            found.warnings.push(format!("exporter {}: {sentence}; {advice}", exporter.name));
        }
    }
}

/// Root becomes the owner of the site for the rest of the check. Anybody else is told whose check it should be.
fn become_owner(context: &Context, found: &mut Findings) {
    let Ok(owner) = context.site.owner() else { return };
    match context.site.become_owner() {
        Ok(false) if !Uid::effective().is_root() => told(context, &owner, found),
        Ok(_) => {}
        Err(error) => found.warnings.push(format!("cannot become {owner} for the check ({error}); run it as {owner}")),
    }
    let file = &context.config.file;
    if access(file, AccessFlags::R_OK).is_err() {
        let file = file.display();
        found.problems.push(format!("{file} cannot be read by {owner}; give it to a group that {owner} is in"));
    }
}

fn told(context: &Context, owner: &str, found: &mut Findings) {
    if !context.site.is_owner() {
        let sentence = "whether exporters' commands can be executed was seen for this user only";
        found.warnings.push(format!("{sentence}; run this as {owner}, whose crontab ticks"));
    }
}
