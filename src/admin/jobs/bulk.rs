//! Commands that act on several jobs: those named, or all that filters match, which has to be confirmed.

use std::io::{self, BufRead, IsTerminal, Write};

use super::{filter, find};
use crate::{
    admin::actor,
    cli::{BulkArgs, Which},
    context::Context,
    exit::{Exit, Failure},
    logging,
    model::{format, status::Status},
    output::Output,
    store::{JobOrder, JobQuery, Store, Tx, View},
};

/// So many jobs are changed under one lock.
const BATCH: usize = 100;

/// A line about what was done, or a sentence about why it cannot be.
pub type Done = Result<String, String>;

/// What a command does to jobs.
pub struct BulkAction<'a> {
    /// As in "cancel 3 jobs?".
    pub verb: &'a str,
    /// Jobs of other statuses are left alone.
    pub on: &'a [Status],
    /// Acts on one job under the write lock.
    pub act: &'a dyn Fn(&Tx, i64) -> anyhow::Result<Done>,
}

/// Chooses the jobs, asks if filters chose them, and acts on each.
pub fn run(context: &Context, args: &BulkArgs, deed: &BulkAction) -> Result<(), Failure> {
    let mut store = context.open_store()?;
    let (exporter, queue) = (args.filters.which.exporter.as_ref(), args.filters.queue.as_ref());
    filter::expect_known(context, &store.view(), exporter, queue)?;
    let ids = chosen(&store.view(), args, deed)?;
    let mut paper = Output::new();
    let mut refused = false;
    for batch in ids.chunks(BATCH) {
        let done = store.immediate(|tx| act(tx, batch, deed))?;
        for outcome in done {
            match outcome {
                Ok(line) => paper.line(line),
                Err(sentence) => {
                    refused = true;
                    logging::diagnostic_line(sentence);
                }
            }
        }
    }
    paper.close()?;
    // Of many that a filter matched, some may have gone on meanwhile; of those named, each was meant.
    if refused && !args.jobs.is_empty() { Err(Failure::code(Exit::BadValue)) } else { Ok(()) }
}

/// Acts on the one job of this id, which nobody has to confirm.
pub fn one(store: &mut Store, id: i64, deed: &BulkAction) -> anyhow::Result<Done> {
    store.immediate(|tx| Ok(act(tx, &[id], deed)?.remove(0)))
}

/// Acts on each, and keeps what was done.
fn act(tx: &Tx, ids: &[i64], deed: &BulkAction) -> anyhow::Result<Vec<Done>> {
    let done = ids.iter().map(|id| (deed.act)(tx, *id)).collect::<anyhow::Result<Vec<_>>>()?;
    for line in done.iter().flatten() {
        actor::note(tx, line)?;
    }
    Ok(done)
}

fn chosen(view: &View, args: &BulkArgs, deed: &BulkAction) -> Result<Vec<i64>, Failure> {
    match (args.jobs.is_empty(), is_filtered(args)) {
        (false, false) => args.jobs.iter().map(|word| find::job(view, word).map(|job| job.id)).collect(),
        (true, true) => filtered(view, args, deed),
        (false, true) => Err(usage("name jobs or give filters, not both")),
        (true, false) => Err(usage("name a job, or give a filter such as --exporter or --status")),
    }
}

fn usage(sentence: &str) -> Failure {
    Failure::because(Exit::Usage, sentence)
}

fn is_filtered(args: &BulkArgs) -> bool {
    let filters = &args.filters;
    is_narrowed(&filters.which) || filters.queue.is_some() || filters.client.is_some() || !args.status.is_empty()
}

/// Whether any of these filters was given.
pub fn is_narrowed(which: &Which) -> bool {
    let words = [&which.exporter, &which.since, &which.until];
    words.iter().any(|word| word.is_some()) || !which.params.is_empty()
}

fn filtered(view: &View, args: &BulkArgs, deed: &BulkAction) -> Result<Vec<i64>, Failure> {
    let asked = filter::statuses(&args.status);
    let mut statuses = deed.on.to_vec();
    statuses.retain(|status| asked.is_empty() || asked.contains(status));
    if statuses.is_empty() {
        return Err(usage(&format!("`{}` does not apply to jobs with this status", deed.verb)));
    }
    let about = filter::about(view, &args.filters)?;
    let query = JobQuery { about, statuses, order: JobOrder::Id, reverse: false, limit: None, below: None };
    let ids = view.job_ids(&query).map_err(anyhow::Error::from)?;
    if ids.is_empty() {
        return Err(Failure::because(Exit::Absent, "no job matches"));
    }
    confirm(deed.verb, ids.len(), "job", args.yes)?;
    derived_first(view, ids)
}

/// What is made from another job's file goes before that: without its source it would have failed already.
fn derived_first(view: &View, ids: Vec<i64>) -> Result<Vec<i64>, Failure> {
    let (mut first, mut then) = (Vec::new(), Vec::new());
    for id in ids {
        // What has gone or cannot be read is no matter for a deed.
        match view.look_at(id).map_err(anyhow::Error::from)? {
            Some(Ok(job)) if job.source.is_some() => first.push(id),
            Some(Ok(_)) => then.push(id),
            Some(Err(_)) | None => {}
        }
    }
    first.append(&mut then);
    Ok(first)
}

/// Asks on a terminal; elsewhere `--yes` must have been given.
pub fn confirm(verb: &str, number: usize, thing: &str, yes: bool) -> Result<(), Failure> {
    let what = format!("{verb} {}", format::count(number as u64, thing));
    if yes {
        return Ok(());
    }
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return Err(usage(&format!("this would {what}; give --yes if that is meant")));
    }
    write!(io::stderr(), "{what}? [y/N] ")?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    match answer.trim().to_ascii_lowercase().as_str() {
        "y" | "yes" => Ok(()),
        _ => Err(usage("nothing was done")),
    }
}
