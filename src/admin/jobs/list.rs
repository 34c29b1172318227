//! `jobs list`: queued, started and failed jobs, in columns for people. Rows are laid out some at a time, so that a long
//! list needs no memory.

use serde_json::json;

use super::{filter, json};
use crate::{
    cli::{Format, ListArgs},
    config::Config,
    context::Context,
    exit::Failure,
    logging,
    model::{clock::Stamp, format, job::Job, safe, status::Status},
    output::Output,
    store::{JobOrder, JobQuery, Unreadable, View},
};

const KEYS: [(&str, JobOrder); 9] = [
    ("id", JobOrder::Id),
    ("filename", JobOrder::Filename),
    ("status", JobOrder::Status),
    ("submitted", JobOrder::Submitted),
    ("started", JobOrder::Started),
    ("failed", JobOrder::Failed),
    ("attempts", JobOrder::Attempts),
    ("priority", JobOrder::Priority),
    ("turn", JobOrder::Turn),
];

/// Characters of a client in the table.
const SHORT: usize = 8;

/// Prints the jobs that match.
pub fn run(context: &Context, args: &ListArgs) -> Result<(), Failure> {
    let store = context.view_store()?;
    let view = store.view();
    filter::expect_known(context, &view, args.filters.which.exporter.as_ref(), args.filters.queue.as_ref())?;
    let query = query(&view, args)?;
    let mut ids = view.job_ids(&query).map_err(anyhow::Error::from)?;
    let more = args.limit > 0 && ids.len() > args.limit as usize;
    ids.truncate(if more { args.limit as usize } else { usize::MAX });
    let mut paper = Output::new();
    match args.format {
        Format::Text => as_table(context, &view, &ids, &mut paper)?,
        Format::Json => as_json(context, &view, &ids, &mut paper)?,
    }
    paper.close()?;
    if more && args.format == Format::Text {
        logging::diagnostic_line("there are more; give --limit 0 for all");
    }
    Ok(())
}

/// One more than is shown, to know whether there are more.
fn query(view: &View, args: &ListArgs) -> Result<JobQuery, Failure> {
    let (order, reverse) = filter::order(&args.sort, &KEYS)?;
    Ok(JobQuery {
        about: filter::about(view, &args.filters)?,
        statuses: filter::statuses(&args.status),
        order,
        reverse,
        limit: filter::limit(args.limit).map(|limit| limit.saturating_add(1)),
        below: None,
    })
}

/// A job, or why its row cannot be read.
type Listed<'a> = Result<&'a Job, &'a Unreadable>;

/// A job that has gone since it was found is left out.
fn each(view: &View, ids: &[i64], paper: &mut Output, mut show: impl FnMut(Listed, &mut Output)) -> anyhow::Result<()> {
    for id in ids {
        if paper.is_closed() {
            break;
        }
        if let Some(found) = view.look_at(*id)? {
            show(found.as_ref(), paper);
        }
    }
    Ok(())
}

fn as_json(context: &Context, view: &View, ids: &[i64], paper: &mut Output) -> anyhow::Result<()> {
    each(view, ids, paper, |found, paper| match found {
        Ok(job) => paper.json(&json::held(job, held(&context.config, job).as_deref()).into()),
        Err(odd) => paper.json(&json!({ "id": odd.row, "status": "unreadable", "message": odd.to_string() })),
    })
}

fn as_table(context: &Context, view: &View, ids: &[i64], paper: &mut Output) -> anyhow::Result<()> {
    let now = Stamp::now();
    let mut table = TextTable::new(["ID", "STATUS", "QUEUE", "PRI", "CLIENT", "AGE", "TRIES", "FILENAME", "NOTE"]);
    each(view, ids, paper, |found, paper| match found {
        Ok(job) => table.row(
            paper,
            with(cells(&context.config, job, now), job.priority.to_string(), client(job.client.as_deref())),
        ),
        Err(odd) => table.row(paper, with(unreadable(odd), "-".to_owned(), "-".to_owned())),
    })?;
    table.finish(paper);
    Ok(())
}

/// A row of the table: priority and client behind the queue.
fn with([id, status, queue, age, tries, filename, note]: [String; 7], priority: String, client: String) -> [String; 9] {
    [id, status, queue, priority, client, age, tries, filename, note]
}

/// As much of it as tells two apart: a hash has 32 digits.
fn client(client: Option<&str>) -> String {
    let Some(client) = client else { return "-".to_owned() };
    let short: String = client.chars().take(SHORT).collect();
    if short == client { short } else { format!("{short}…") }
}

/// What a row tells: id, status, queue, age, attempts, filename, note.
pub fn cells(config: &Config, job: &Job, now: Stamp) -> [String; 7] {
    [
        job.id.to_string(),
        job.status.name().to_owned(),
        job.queue.clone(),
        format::duration(now.since(job.submitted)),
        job.attempts.to_string(),
        job.filename.clone(),
        note(job, held(config, job).as_deref(), now),
    ]
}

fn unreadable(odd: &Unreadable) -> [String; 7] {
    let dash = || "-".to_owned();
    let note = format!("{odd}; the next tick removes it");
    [odd.row.to_string(), "unreadable".to_owned(), dash(), dash(), dash(), dash(), note]
}

/// Why a queued job is held, if the configuration holds it.
pub fn held(config: &Config, job: &Job) -> Option<String> {
    if job.status == Status::Queued { config.holds(&job.exporter) } else { None }
}

/// What there is to say about where it stands.
pub fn note(job: &Job, held: Option<&str>, now: Stamp) -> String {
    let message = job.message.as_deref().unwrap_or_default();
    if let Some(why) = held {
        return format!("held: {why}");
    }
    match job.status {
        Status::Queued if job.waits_for_source => {
            format!("waits for {}", job.source.as_deref().unwrap_or("its source"))
        }
        Status::Queued if job.run_after > now => format!("not before {}", format::time(job.run_after)),
        Status::Queued => String::new(),
        Status::Started if job.cancel => "is being cancelled".to_owned(),
        Status::Started => {
            let percent = job.percent.map(|percent| format!("{percent} %"));
            [percent.as_deref().unwrap_or_default(), message].join(" ").trim().to_owned()
        }
        Status::FailedTimeout | Status::FailedUnknown => {
            let parts = [job.result.as_deref().unwrap_or_default(), message];
            parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(": ")
        }
    }
}

/// So many rows are looked at before a column gets its width.
const PAGE: usize = 200;

/// A table of `N` columns being written. The last column is not padded.
pub struct TextTable<const N: usize> {
    rows: Vec<[String; N]>,
    widths: [usize; N],
}

impl<const N: usize> TextTable<N> {
    pub fn new(heads: [&str; N]) -> Self {
        let mut table = Self { rows: Vec::new(), widths: [0; N] };
        table.rows.push(heads.map(str::to_owned));
        table
    }

    /// One more row; texts that came from outside need not be safe yet.
    pub fn row(&mut self, paper: &mut Output, cells: [String; N]) {
        self.rows.push(cells.map(|cell| safe::line(&cell)));
        if self.rows.len() >= PAGE {
            self.print(paper);
        }
    }

    /// Writes what is left.
    pub fn finish(mut self, paper: &mut Output) {
        self.print(paper);
    }

    fn print(&mut self, paper: &mut Output) {
        for row in &self.rows {
            for (width, cell) in self.widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count());
            }
        }
        for row in self.rows.drain(..) {
            let cells: Vec<_> = row.iter().zip(self.widths).map(|(cell, width)| format!("{cell:width$}")).collect();
            paper.line(cells.join("  ").trim_end());
        }
    }
}
