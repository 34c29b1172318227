//! `--wait`: until the file is there, the job has failed, or the time is over.

use std::{
    io::IsTerminal,
    thread::sleep,
    time::{Duration, Instant},
};

use super::{Ask, bar::Bar, pipeline};
use crate::{
    context::Context,
    exit::Failure,
    model::{
        answer::{Answer, State},
        clock::Stamp,
    },
};

/// The file is looked at after 5 ms, then less and less often.
const FIRST: Duration = Duration::from_millis(5);
const LONGEST: Duration = Duration::from_millis(250);
/// The row is looked at so often.
const ROW: Duration = Duration::from_secs(1);

/// Looks until the answer is final; the last answer is the result.
pub fn until_settled(context: &Context, ask: &Ask, first: Answer, limit: Duration) -> Result<Answer, Failure> {
    let end = Instant::now() + limit;
    let only_look = Ask { no_enqueue: true, name: None, client: None, ..ask.clone() };
    let bar = std::io::stderr().is_terminal().then(Bar::new);
    let mut answer = first;
    let mut pause = FIRST;
    let mut row_due = Instant::now() + ROW;
    while pending(&answer) && Instant::now() < end {
        if let Some(bar) = &bar {
            bar.show(&answer);
        }
        sleep(pause.min(end.saturating_duration_since(Instant::now())));
        pause = (pause * 2).min(LONGEST);
        if Instant::now() >= row_due || file_appeared(context, ask) {
            answer = pipeline::answer(context, &only_look)?;
            row_due = Instant::now() + ROW;
        }
    }
    drop(bar);
    if answer.state == State::Absent && ask.exporter.is_task() && has_succeeded(context, ask)? {
        return Ok(pipeline::named(ask, State::Ready));
    }
    Ok(answer)
}

/// A task leaves no file: that the run which this request waited for has succeeded is told by its attempt.
fn has_succeeded(context: &Context, ask: &Ask) -> Result<bool, Failure> {
    let last = context.open_store_for_request()?.view().latest_ok(&ask.filename).map_err(anyhow::Error::from)?;
    let Some(last) = last else { return Ok(false) };
    let ended = last.record.as_ref().is_some_and(|record| record.ended >= ask.asked);
    // Whoever only looks has waited for a run that began before.
    Ok(if ask.no_enqueue { ended } else { last.counts_from >= ask.after.unwrap_or(ask.asked) })
}

const fn pending(answer: &Answer) -> bool {
    matches!(answer.state, State::Queued | State::Started)
}

/// One stat: whether there is a file that may be the answer.
fn file_appeared(context: &Context, ask: &Ask) -> bool {
    let Ok(Some(cached)) = context.cache.look(&ask.filename) else { return false };
    let fresh = ask.exporter.ttl.is_none_or(|ttl| Stamp::now().since(cached.made) < ttl);
    fresh && ask.after.is_none_or(|after| cached.made >= after)
}
