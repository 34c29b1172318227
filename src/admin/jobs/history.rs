//! `jobs history`: past attempts, whether their job is still there or not.

use std::time::Duration;

use super::{filter, find, json, list::TextTable};
use crate::{
    cli::{Format, HistoryArgs},
    context::Context,
    exit::Failure,
    logging,
    model::{
        format,
        job::{Attempt, Record},
        status::Outcome,
    },
    output::Output,
    store::{AttemptOrder, AttemptQuery, LOOK_BACK, View},
};

const KEYS: [(&str, AttemptOrder); 4] = [
    ("ended", AttemptOrder::Ended),
    ("duration", AttemptOrder::Duration),
    ("memory", AttemptOrder::Memory),
    ("cpu", AttemptOrder::Cpu),
];

/// Prints the attempts that match.
pub fn run(context: &Context, args: &HistoryArgs) -> Result<(), Failure> {
    let store = context.view_store()?;
    let view = store.view();
    filter::expect_known(context, &view, args.filters.which.exporter.as_ref(), args.filters.queue.as_ref())?;
    let mut paper = Output::new();
    let mut show = Show::new(args.format);
    let are_older = match &args.job {
        Some(name) => of_subject(&view, name, args, &mut show, &mut paper)?,
        None => of_all(&view, args, &mut show, &mut paper)?,
    };
    show.finish(&mut paper);
    paper.close()?;
    if are_older {
        logging::diagnostic_line(format!(
            "only the newest {LOOK_BACK} attempts were looked at; --exporter, --result, --since and --until choose others"
        ));
    }
    Ok(())
}

fn of_all(view: &View, args: &HistoryArgs, show: &mut Show, paper: &mut Output) -> Result<bool, Failure> {
    let each = |_, attempt: &Attempt| {
        show.attempt(attempt, paper);
        !paper.is_closed()
    };
    Ok(view.each_attempt(&query(view, args)?, each).map_err(anyhow::Error::from)?)
}

fn query(view: &View, args: &HistoryArgs) -> Result<AttemptQuery, Failure> {
    let (order, reverse) = filter::order(&args.sort, &KEYS)?;
    Ok(AttemptQuery {
        about: filter::about(view, &args.filters)?,
        outcomes: filter::outcomes(&args.result, &args.status)?,
        order,
        reverse,
        limit: filter::limit(args.limit),
        below: None,
    })
}

/// The ended attempts at one file, or of a job that has ended, the newest first.
fn of_subject(
    view: &View,
    name: &str,
    args: &HistoryArgs,
    show: &mut Show,
    paper: &mut Output,
) -> Result<bool, Failure> {
    let subject = find::subject(view, name)?;
    let query = query(view, args)?;
    let mut left = query.limit.unwrap_or(u32::MAX);
    let each = |_, attempt: &Attempt| {
        if fits(attempt, &query) {
            show.attempt(attempt, paper);
            left -= 1;
        }
        left > 0 && !paper.is_closed()
    };
    Ok(view.each_attempt_of(subject.whose(), each).map_err(anyhow::Error::from)?)
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
    Table(TextTable<8>),
}

impl Show {
    fn new(format: Format) -> Self {
        match format {
            Format::Json => Self::Json,
            Format::Text => {
                let heads = ["ENDED", "RESULT", "TOOK", "MEMORY", "CPU", "TRY", "ATTEMPT", "FILENAME"];
                Self::Table(TextTable::new(heads))
            }
        }
    }

    fn attempt(&mut self, attempt: &Attempt, paper: &mut Output) {
        match self {
            Self::Json => paper.json(&json::attempt(attempt).into()),
            Self::Table(table) => table.row(paper, cells(attempt)),
        }
    }

    fn finish(self, paper: &mut Output) {
        if let Self::Table(table) = self {
            table.finish(paper);
        }
    }
}

/// With the status or the signal that tells what happened.
fn result(record: &Record) -> String {
    let name = record.outcome.name();
    match (record.outcome, record.exit_code, record.signal) {
        (Outcome::Exit, Some(code), _) => format!("{name} {code}"),
        (Outcome::Signal, _, Some(signal)) => format!("{name} {signal}"),
        _ => name.to_owned(),
    }
}

/// What a row tells: end, result, duration, memory, CPU time, number, id, filename.
pub fn cells(attempt: &Attempt) -> [String; 8] {
    let record = attempt.record.as_ref();
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    let took = |duration: Option<Duration>| or_dash(duration.map(format::duration));
    [
        or_dash(record.map(|record| format::time(record.ended))),
        or_dash(record.map(result)),
        took(record.filter(|_| !attempt.is_drop()).map(|record| record.duration)),
        or_dash(record.and_then(|record| record.peak_memory).map(format::bytes)),
        took(record.and_then(|record| record.cpu_used)),
        or_dash((!attempt.is_drop()).then(|| attempt.number.to_string())),
        attempt.id.to_string(),
        attempt.filename.clone(),
    ]
}
