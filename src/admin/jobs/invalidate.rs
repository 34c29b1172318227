//! `jobs invalidate`: cached files are expired so that the next request regenerates them.
//!
//! A file is set back in time past ttl and stale, and prune removes it after grace, as it does with every other: who was
//! told "ready" a moment ago still finds it. A file that never expires is unlinked, under the lock that publishing
//! needs, too, and never while a job is for it or is made from it (invariant 8).

use super::{
    bulk::{self, Done},
    filter, find,
};
use crate::{
    admin::actor,
    cache::CacheEntry,
    cli::InvalidateArgs,
    context::Context,
    exit::{Exit, Failure},
    logging,
    model::{clock::Stamp, format},
    output::Output,
    store::{Store, Tx, View},
};

/// So many files are handled under one lock.
const BATCH: usize = 100;

/// Invalidates the files that are meant.
pub fn run(context: &Context, args: &InvalidateArgs) -> Result<(), Failure> {
    let mut store = context.open_store()?;
    let entries = chosen(context, &store.view(), args)?;
    let mut paper = Output::new();
    let failed = all(context, &mut store, &entries, &mut paper)?;
    paper.close()?;
    if failed { Err(Failure::code(Exit::Io)) } else { Ok(()) }
}

fn chosen(context: &Context, view: &View, args: &InvalidateArgs) -> Result<Vec<CacheEntry>, Failure> {
    let usage = |sentence| Err(Failure::because(Exit::Usage, sentence));
    match (args.files.is_empty(), bulk::is_narrowed(&args.which)) {
        (false, false) => {
            let entries = scan(context);
            args.files.iter().map(|word| named(context, &entries, word)).collect()
        }
        (true, true) => filtered(context, view, args),
        (false, true) => usage("name files or give filters, not both"),
        (true, false) => usage("name a file, or give a filter such as --exporter or --until"),
    }
}

/// What cannot be read is told and does not stop the rest.
fn scan(context: &Context) -> Vec<CacheEntry> {
    let mut problems = Vec::new();
    let entries = context.cache.scan(&mut problems);
    for problem in problems {
        logging::diagnostic_line(problem);
    }
    entries
}

fn named(context: &Context, entries: &[CacheEntry], name: &str) -> Result<CacheEntry, Failure> {
    let is_name = name.split('/').count() == 2 && !name.split('/').any(|part| part.is_empty() || part.starts_with('.'));
    if let Some(entry) = context.cache.entry(name).unwrap_or(None).filter(|_| is_name) {
        return Ok(entry);
    }
    let fits: Vec<_> = entries.iter().filter(|entry| !name.is_empty() && entry.filename.starts_with(name)).collect();
    match &fits[..] {
        [] => Err(Failure::because(Exit::Absent, format!("there is no file {name:?} in the cache"))),
        [one] => Ok((*one).clone()),
        several => {
            let names: Vec<_> = several.iter().take(5).map(|entry| entry.filename.clone()).collect();
            Err(find::ambiguous(name, &names))
        }
    }
}

fn filtered(context: &Context, view: &View, args: &InvalidateArgs) -> Result<Vec<CacheEntry>, Failure> {
    let now = Stamp::now();
    let since = args.which.since.as_deref().map(|text| filter::time(text, now)).transpose()?;
    let until = args.which.until.as_deref().map(|text| filter::time(text, now)).transpose()?;
    let params = filter::params(&args.which.params)?;
    let mut entries = scan(context);
    let exporter = args.which.exporter.as_ref();
    if !entries.iter().any(|entry| exporter.is_some_and(|name| name == entry.exporter())) {
        filter::expect_known(context, view, exporter, None)?;
    }
    entries.retain(|entry| args.which.exporter.as_ref().is_none_or(|name| name == entry.exporter()));
    entries
        .retain(|entry| since.is_none_or(|since| entry.made >= since) && until.is_none_or(|until| entry.made < until));
    if !params.is_empty() {
        entries = with_params(view, entries, &params)?;
    }
    if entries.is_empty() {
        return Err(Failure::because(Exit::Absent, "no file matches"));
    }
    bulk::confirm("invalidate", entries.len(), "file", args.yes)?;
    Ok(entries)
}

/// The parameters are those of the attempt that made the file.
fn with_params(view: &View, entries: Vec<CacheEntry>, params: &[(String, String)]) -> anyhow::Result<Vec<CacheEntry>> {
    let (mut matching, mut unknown) = (Vec::new(), 0);
    for entry in entries {
        match view.latest_ok(&entry.filename)? {
            Some(attempt) if has(&attempt.params, params) => matching.push(entry),
            Some(_) => {}
            None => unknown += 1,
        }
    }
    if unknown > 0 {
        let files = format::count(unknown, "file");
        logging::diagnostic_line(format!(
            "the history of {files} is forgotten; their parameters are not known, so they are left alone"
        ));
    }
    Ok(matching)
}

fn has(json: &str, params: &[(String, String)]) -> bool {
    let values: serde_json::Value = serde_json::from_str(json).unwrap_or_default();
    params.iter().all(|(name, value)| match &values[name] {
        serde_json::Value::String(text) => text == value,
        serde_json::Value::Number(number) => number.to_string() == *value,
        _ => false,
    })
}

/// Tells whether one could not be handled.
fn all(context: &Context, store: &mut Store, entries: &[CacheEntry], paper: &mut Output) -> Result<bool, Failure> {
    let mut failed = false;
    for batch in entries.chunks(BATCH) {
        let done = store.immediate(|tx| several(context, tx, batch))?;
        for outcome in done {
            match outcome {
                Ok(line) => paper.line(line),
                Err(sentence) => {
                    failed = true;
                    logging::diagnostic_line(sentence);
                }
            }
        }
    }
    Ok(failed)
}

fn several(context: &Context, tx: &Tx, entries: &[CacheEntry]) -> anyhow::Result<Vec<Done>> {
    let done = entries.iter().map(|entry| one(context, tx, entry)).collect::<anyhow::Result<Vec<_>>>()?;
    for line in done.iter().flatten() {
        actor::note(tx, line)?;
    }
    Ok(done)
}

fn one(context: &Context, tx: &Tx, entry: &CacheEntry) -> anyhow::Result<Done> {
    let name = &entry.filename;
    let exporter = context.config.exporters.get(entry.exporter());
    let (ttl, stale) = exporter
        .map_or((context.config.cache.ttl, context.config.cache.stale), |exporter| (exporter.ttl, exporter.stale));
    let cannot = |error: std::io::Error| format!("cannot invalidate {name}: {error}");
    let Some(ttl) = ttl else {
        if tx.pinned(name)? {
            return Ok(Ok(format!("left {name} alone: a job for it, or made from it, is queued or started")));
        }
        return Ok(context.cache.remove(entry).map(|gone| done("removed", name, gone)).map_err(cannot));
    };
    // Publishing needs the lock that we hold, so what lies there now is what we set back.
    if !matches!(context.cache.entry(name), Ok(Some(now)) if now == *entry) {
        return Ok(Ok(done("invalidated", name, false)));
    }
    let past = Stamp::now().minus(ttl.saturating_add(stale)).min(entry.made);
    Ok(context.cache.age(name, past).map(|aged| done("invalidated", name, aged)).map_err(cannot))
}

fn done(what: &str, name: &str, done: bool) -> String {
    if done {
        tracing::info!(filename = name, what);
        format!("{what} {name}")
    } else {
        format!("left {name} alone: it was replaced or has gone meanwhile")
    }
}
