//! `pressroom check`: every mistake at once, each with what to do; `--create` makes what is missing.

use crate::{
    cli::{CheckArgs, Global},
    commands::world::World,
    config,
    exit::{Exit, Failure},
    model::clock::Stamp,
    site::{Site, machine_id},
    store::Store,
};

/// Checks everything that can be checked without running an exporter; exit 0 or 78.
pub fn run(global: &Global, args: &CheckArgs) -> Result<(), Failure> {
    let world = World::load(global)?;
    if args.create {
        create(&world, args)?;
    }
    let problems = problems(&world);
    for problem in &problems {
        eprintln!("pressroom: {problem}");
    }
    for warning in config::warnings(&world.config) {
        println!("warning: {warning}");
    }
    if !problems.is_empty() {
        return Err(Failure::code(Exit::Config));
    }
    let (file, exporters) = (world.config.file.display(), world.config.exporters.len());
    println!("ok: {file} with {exporters} exporters, SQLite {}", Store::sqlite_version());
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
    Store::create(&world.config.database, &machine_id()).map_err(|error| Failure::new(Exit::Config, error))
}

/// One sentence each.
fn problems(world: &World) -> Vec<String> {
    let mut found = config::deep_problems(&world.config);
    if let Err(error) = Site::open(&world.config) {
        found.push(error.to_string());
        return found;
    }
    found.extend(world.site.problems(&world.config));
    match Store::open(&world.config.database) {
        Ok(store) => found.extend(of_database(&store)),
        Err(error) => found.push(error.to_string()),
    }
    found
}

fn of_database(store: &Store) -> Vec<String> {
    let mut found = store.integrity().unwrap_or_else(|error| vec![error.to_string()]);
    found.extend(store.expect_machine(&machine_id()).err().map(|error| error.to_string()));
    if let Ok(Some(last)) = store.view().last_tick() {
        let quiet = Stamp::now().since(last.at).as_secs();
        if quiet >= 180 {
            println!(
                "warning: the last tick ran {} minutes ago; is the crontab installed and cron running?",
                quiet / 60
            );
        }
    }
    found
}
