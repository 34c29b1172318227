//! `jobs history`: past attempts, whether their job is still there or not.

use std::time::Duration;

use super::{filter, find, json, table::Table};
use crate::{
    cli::{Format, HistoryArgs},
    commands::{paper::Paper, words, world::World},
    exit::Failure,
    model::attempt::Attempt,
    store::{AttemptOrder, AttemptQuery, LOOK_BACK, View},
};

const KEYS: [(&str, AttemptOrder); 4] = [
    ("ended", AttemptOrder::Ended),
    ("duration", AttemptOrder::Duration),
    ("memory", AttemptOrder::Memory),
    ("cpu", AttemptOrder::Cpu),
];

/// Prints the attempts that match.
pub fn run(world: &World, args: &HistoryArgs) -> Result<(), Failure> {
    let store = world.view_store()?;
    let view = store.view();
    let mut paper = Paper::new();
    let mut show = Show::new(args.format);
    match &args.job {
        Some(name) => of_file(&view, name, args, &mut show, &mut paper)?,
        None => of_all(&view, args, &mut show, &mut paper)?,
    }
    show.finish(&mut paper);
    paper.close()
}

fn of_all(view: &View, args: &HistoryArgs, show: &mut Show, paper: &mut Paper) -> Result<(), Failure> {
    let rows = view.attempt_rows(&query(view, args)?).map_err(anyhow::Error::from)?;
    for row in rows {
        if paper.is_closed() {
            break;
        }
        if let Some(attempt) = view.attempt_at(row).map_err(anyhow::Error::from)? {
            show.attempt(&attempt, paper);
        }
    }
    Ok(())
}

fn query(view: &View, args: &HistoryArgs) -> Result<AttemptQuery, Failure> {
    let (order, reverse) = filter::order(&args.sort, &KEYS)?;
    Ok(AttemptQuery {
        about: filter::about(view, &args.filters)?,
        outcomes: filter::outcomes(&args.result, &args.status),
        order,
        reverse,
        limit: filter::limit(args.limit),
    })
}

/// The ended attempts at one file, or of a job that has ended, the newest first.
fn of_file(view: &View, name: &str, args: &HistoryArgs, show: &mut Show, paper: &mut Paper) -> Result<(), Failure> {
    let subject = find::subject(view, name)?;
    let query = query(view, args)?;
    let attempts = subject.attempts(view, LOOK_BACK)?;
    let limit = query.limit.map_or(usize::MAX, |limit| limit as usize);
    for attempt in attempts.iter().filter(|attempt| fits(attempt, &query)).take(limit) {
        show.attempt(attempt, paper);
    }
    Ok(())
}

/// Whether it has ended, as one of the results and in the time that are asked for. The rest its file decides.
fn fits(attempt: &Attempt, query: &AttemptQuery) -> bool {
    let about = &query.about;
    attempt.record.as_ref().is_some_and(|record| {
        (query.outcomes.is_empty() || query.outcomes.contains(&record.outcome))
            && about.since.is_none_or(|since| record.ended >= since)
            && about.until.is_none_or(|until| record.ended < until)
    })
}

/// The form that was asked for.
enum Show {
    Json,
    Table(Table<8>),
}

impl Show {
    fn new(format: Format) -> Self {
        match format {
            Format::Json => Self::Json,
            Format::Text => {
                let heads = ["ENDED", "RESULT", "TOOK", "MEMORY", "CPU", "TRY", "ATTEMPT", "FILENAME"];
                Self::Table(Table::new(heads))
            }
        }
    }

    fn attempt(&mut self, attempt: &Attempt, paper: &mut Paper) {
        match self {
            Self::Json => paper.json(&json::attempt(attempt).into()),
            Self::Table(table) => table.row(paper, cells(attempt)),
        }
    }

    fn finish(self, paper: &mut Paper) {
        if let Self::Table(table) = self {
            table.finish(paper);
        }
    }
}

fn cells(attempt: &Attempt) -> [String; 8] {
    let record = attempt.record.as_ref();
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    let took = |duration: Option<Duration>| or_dash(duration.map(words::duration));
    [
        or_dash(record.map(|record| words::time(record.ended))),
        or_dash(record.map(|record| record.outcome.name().to_owned())),
        took(record.map(|record| record.duration)),
        or_dash(record.and_then(|record| record.peak_memory).map(words::bytes)),
        took(record.and_then(|record| record.cpu_used)),
        attempt.number.to_string(),
        attempt.id.clone(),
        attempt.filename.clone(),
    ]
}
