//! The database: ours, whole, of this machine, used by a tick lately, and well by what it says.

use std::time::Duration;

use super::Found;
use crate::{
    commands::{status::Report, words, world::World},
    model::clock::Stamp,
    site::machine_id,
    store::Store,
};

const RECOUNT: &str = "run `pressroom check --create`, which counts anew";

/// Without a tick for so long, cron is asked about.
const SILENCE: Duration = Duration::from_mins(3);

/// Opens the database and looks at it as a whole.
pub fn check(world: &World, found: &mut Found) {
    match Store::open(world.database()) {
        Ok(store) => look(world, &store, found),
        Err(error) => found.problems.push(format!("{:#}", error.at(&world.config.database))),
    }
}

fn look(world: &World, store: &Store, found: &mut Found) {
    match store.integrity() {
        Ok(damage) => found.problems.extend(damage.iter().map(|line| {
            let file = world.config.database.display();
            format!("{file} is damaged ({line}); stop cron, move the file away and run `pressroom check --create`")
        })),
        Err(error) => found.problems.push(format!("{:#}", error.at(&world.config.database))),
    }
    match store.view().miscounts() {
        Ok(wrong) => found.problems.extend(wrong.into_iter().map(|sentence| format!("{sentence}; {RECOUNT}"))),
        Err(error) => found.problems.push(error.to_string()),
    }
    found.problems.extend(store.expect_machine(&machine_id()).err().map(|error| error.to_string()));
    silence(world, store, found);
    match Report::gather(world, &store.view()) {
        Ok(report) => found.warnings.extend(others(report)),
        Err(error) => found.problems.push(format!("{}: {error:#}", world.config.database.display())),
    }
}

/// What `status` would say, except what is looked at here more closely.
fn others(report: Report) -> impl Iterator<Item = String> {
    const CLOSER: [&str; 7] =
        ["never_ticked", "no_tick", "disk_low", "inodes_low", "exporter_broken", "not_writable", "other_machine"];
    report.findings.into_iter().filter(|finding| !CLOSER.contains(&finding.code)).map(|finding| finding.text)
}

fn silence(world: &World, store: &Store, found: &mut Found) {
    let owner = world.site.owner().unwrap_or_default();
    match store.view().last_tick() {
        Ok(None) => found.next = Some(format!("put `pressroom tick` into the crontab of {owner}, see crontab.example")),
        Ok(Some(last)) => {
            let quiet = Stamp::now().since(last.at);
            let ago = words::duration(quiet);
            let advice = format!("is `pressroom tick` in the crontab of {owner}, and does cron run?");
            found.warnings.extend((quiet >= SILENCE).then(|| format!("the last tick ran {ago} ago; {advice}")));
        }
        Err(_) => {}
    }
}
