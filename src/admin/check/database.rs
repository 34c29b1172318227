//! The database: ours, whole, of this machine, used by a tick lately, and well by what it says.

use std::time::Duration;

use super::Findings;
use crate::{
    admin::status::Report,
    context::Context,
    model::{clock::Stamp, format},
    site::machine_id,
    store::Store,
};

const RECOUNT: &str = "run `pressroom check --create`, which counts anew";

/// Without a tick for so long, cron is asked about.
const SILENCE: Duration = Duration::from_mins(3);

/// Opens the database and looks at it as a whole.
pub fn check(context: &Context, found: &mut Findings) {
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
            found.warnings.extend((quiet >= SILENCE).then(|| format!("the last tick ran {ago} ago; {advice}")));
        }
        Err(_) => {}
    }
}
