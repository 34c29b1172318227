//! `pressroom check`: every mistake at once, each with what to do; `--create` makes what is missing.
//!
//! Problems keep the site from working and make the exit code 78; warnings are about what may surprise, or passes.

mod database;
mod machine;
mod user;

use crate::{
    cli::{CheckArgs, Global},
    config,
    context::{Context, denied},
    exit::{Exit, Failure},
    logging,
    model::format,
    site::{Site, machine_id},
    store::Store,
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
    user::become_owner(&context, &mut found);
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
    machine::limits(&context.config, found);
    machine::processes(found);
    if let Err(error) = Site::open(&context.config) {
        let advice = denied::advice(context.site.state_dir(), denied::By::Admin).map(|advice| format!("; {advice}"));
        found.problems.push(format!("{error}{}", advice.unwrap_or_default()));
        return;
    }
    found.problems.extend(context.site.problems(&context.config));
    machine::disk(context, found);
    database::check(context, found);
}
