//! `pressroom queues`: their modes and how full they are.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;

use super::{actor, jobs::list::TextTable};
use crate::{
    cli::{Format, Global, QueuesArgs, QueuesCommand},
    context::Context,
    exit::{Exit, Failure},
    output::Output,
    site::Site,
    store::{Mode, QueueState, Store, View},
};

/// Runs one of the commands about queues.
pub fn run(global: &Global, args: &QueuesArgs) -> Result<(), Failure> {
    let context = Context::load(global)?;
    Site::open(&context.config).map_err(anyhow::Error::from)?;
    match &args.command {
        QueuesCommand::List { format } => list(&context, *format),
        QueuesCommand::Pause(names) => set(&context, &names.queues, Mode::Paused),
        QueuesCommand::Resume(names) => set(&context, &names.queues, Mode::Open),
        QueuesCommand::Drain(names) => set(&context, &names.queues, Mode::Draining),
    }
}

/// A queue as it is and as it is configured; one that is no longer configured starts nothing.
pub struct Queue {
    pub name: String,
    pub state: QueueState,
    pub running: u32,
    pub max_running: u32,
    pub max_queued: u64,
    pub is_configured: bool,
}

/// Every queue that is configured or that holds jobs, by name.
pub fn all(context: &Context, view: &View) -> anyhow::Result<Vec<Queue>> {
    let failed: BTreeSet<_> = view.failed_by_queue()?.into_iter().map(|(queue, _, _)| queue).collect();
    let mut queues = known(context, view)?;
    queues.retain(|queue| {
        let pending = queue.state.queued > 0 || queue.running > 0;
        queue.is_configured || pending || failed.contains(&queue.name)
    });
    Ok(queues)
}

/// The same, and those that a job was ever in or that were ever set to a mode.
fn known(context: &Context, view: &View) -> anyhow::Result<Vec<Queue>> {
    let rules = &context.config.queues;
    // Looked up by name: the web user can make any number of queues.
    let known: BTreeMap<_, _> = view.queues()?.into_iter().collect();
    let running: BTreeMap<_, _> = view.running_by_queue()?.into_iter().collect();
    let names: BTreeSet<_> = rules.keys().chain(known.keys()).cloned().collect();
    let queue = |name: String| {
        let rules = rules.get(&name);
        Queue {
            state: known.get(&name).cloned().unwrap_or_default(),
            running: running.get(&name).copied().unwrap_or_default(),
            max_running: rules.map_or(0, |rules| rules.max_running),
            max_queued: rules.map_or(0, |rules| rules.max_queued),
            is_configured: rules.is_some(),
            name,
        }
    };
    Ok(names.into_iter().map(queue).collect())
}

fn list(context: &Context, format: Format) -> Result<(), Failure> {
    let store = context.view_store()?;
    let mut paper = Output::new();
    let queues = all(context, &store.view())?;
    match format {
        Format::Json => queues.iter().for_each(|queue| paper.json(&as_json(queue))),
        Format::Text => as_table(&queues, &mut paper),
    }
    paper.close()
}

/// A queue as an object.
pub fn as_json(queue: &Queue) -> serde_json::Value {
    json!({
        "name": queue.name,
        "mode": queue.state.mode.name(),
        "queued": queue.state.queued,
        "delayed": queue.state.delayed,
        "max_queued": queue.max_queued,
        "running": queue.running,
        "max_running": queue.max_running,
        "configured": queue.is_configured,
    })
}

fn as_table(queues: &[Queue], paper: &mut Output) {
    let mut table = TextTable::new(["QUEUE", "MODE", "QUEUED", "DELAYED", "RUNNING"]);
    for queue in queues {
        let note = if queue.is_configured { "" } else { " (not configured)" };
        let cells = [
            queue.name.clone(),
            queue.state.mode.name().to_owned(),
            format!("{} of {}", queue.state.due(), queue.max_queued),
            queue.state.delayed.to_string(),
            format!("{} of {}{note}", queue.running, queue.max_running),
        ];
        table.row(paper, cells);
    }
    table.finish(paper);
}

fn set(context: &Context, names: &[String], mode: Mode) -> Result<(), Failure> {
    set_mode(context, names, mode)?;
    let mut paper = Output::new();
    for name in names {
        paper.line(is_now(name, mode));
    }
    paper.close()
}

/// What is told when it is done.
pub fn is_now(queue: &str, mode: Mode) -> String {
    format!("queue {queue} is {}", mode.name())
}

/// Sets queues, all of which have to be known, to a mode.
pub fn set_mode(context: &Context, names: &[String], mode: Mode) -> Result<(), Failure> {
    let mut store = context.open_store()?;
    let known = known(context, &store.view())?;
    for name in names {
        if known.iter().all(|queue| queue.name != *name) {
            let names: Vec<_> = known.iter().map(|queue| queue.name.as_str()).collect();
            let sentence = format!("there is no queue {name:?}; there are {}", names.join(", "));
            return Err(Failure::because(Exit::Absent, sentence));
        }
    }
    write(&mut store, names, mode)?;
    context.site.ring();
    for name in names {
        tracing::info!(queue = name, mode = mode.name(), "set");
    }
    Ok(())
}

fn write(store: &mut Store, names: &[String], mode: Mode) -> anyhow::Result<()> {
    store.immediate(|tx| {
        names.iter().try_for_each(|name| {
            tx.set_mode(name, mode)?;
            actor::note(tx, &is_now(name, mode))
        })
    })
}
