//! `pressroom check`: every mistake at once, each with what to do; `--create` makes what is missing.
//!
//! Problems keep the site from working and make the exit code 78; warnings are about what may surprise, or passes.

mod database;
mod machine;
mod user;

use crate::{
    cli::{CheckArgs, Global},
    commands::{denied, words, world::World},
    config,
    exit::{Exit, Failure},
    logging,
    site::{Site, machine_id},
    store::Store,
};

/// What was found, one sentence each.
#[derive(Debug, Default)]
struct Found {
    problems: Vec<String>,
    warnings: Vec<String>,
    /// With `--create`: what is still to be done for a new site, which is nothing to be warned of.
    next: Option<String>,
}

/// Checks everything that can be checked without running an exporter; exit 0 or 78.
pub fn run(global: &Global, args: &CheckArgs) -> Result<(), Failure> {
    crate::process::hear_children()?;
    let world = World::load(global)?;
    if args.create {
        create(&world, args)?;
    }
    let mut found = Found::default();
    if args.create && args.group.is_none() {
        found.warnings.extend(world.site.group_warning());
    }
    user::become_owner(&world, &mut found);
    everything(&world, &mut found);
    for problem in &found.problems {
        logging::diagnostic(world.site.with_whole_command(problem));
    }
    if !args.create {
        found.warnings.extend(found.next.take().map(|next| format!("no tick has run yet; {next}")));
    }
    for warning in &found.warnings {
        println!("warning: {}", world.site.with_whole_command(warning));
    }
    if let Some(next) = found.next.filter(|_| args.create) {
        println!("next: {next}");
    }
    if !found.problems.is_empty() {
        return Err(Failure::code(Exit::Config));
    }
    let exporters = words::count(world.config.exporters.len() as u64, "exporter");
    println!("ok: {} with {exporters}, SQLite {}", world.config.file.display(), Store::sqlite_version());
    Ok(())
}

fn create(world: &World, args: &CheckArgs) -> Result<(), Failure> {
    if nix::unistd::Uid::effective().is_root() && args.user.is_none() && !args.allow_root {
        let advice = "name the user of the crontab with --user, or give --allow-root in a container";
        return Err(Failure::because(Exit::Config, format!("root should not own the state directory; {advice}")));
    }
    let done = Site::create(&world.config, args.user.as_deref(), args.group.as_deref());
    for line in done.map_err(|error| Failure::new(Exit::Config, error))? {
        println!("{line}");
    }
    Store::create(world.database(), &machine_id()).map_err(|error| Failure::new(Exit::Config, error))
}

fn everything(world: &World, found: &mut Found) {
    found.problems.extend(config::deep_problems(&world.config));
    found.warnings.extend(config::warnings(&world.config));
    machine::limits(&world.config, found);
    machine::processes(found);
    if let Err(error) = Site::open(&world.config) {
        let advice = denied::advice(world.site.state_dir(), denied::By::Admin).map(|advice| format!("; {advice}"));
        found.problems.push(format!("{error}{}", advice.unwrap_or_default()));
        return;
    }
    found.problems.extend(world.site.problems(&world.config));
    machine::disk(world, found);
    database::check(world, found);
}
