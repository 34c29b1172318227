//! `--wait`: until the file is there, the job has failed, or the time is over; and the bar that a person sees meanwhile on
//! a terminal.

use std::{
    fmt::Write,
    io::IsTerminal,
    sync::{Arc, Mutex, PoisonError},
    thread::sleep,
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressState, ProgressStyle};

use super::{Ask, look_up};
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
    let only_look = Ask { no_enqueue: true, client: None, ..ask.clone() };
    let bar = (pending(&first) && std::io::stderr().is_terminal()).then(Bar::new);
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
            answer = look_up(context, &only_look)?;
            row_due = Instant::now() + ROW;
        }
    }
    drop(bar);
    if answer.state == State::Absent && ask.exporter.is_task() && has_succeeded(context, ask)? {
        return Ok(ask.answer(State::Ready));
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

/// Gone when it is dropped.
struct Bar {
    bar: ProgressBar,
    /// What stands beside the per cent. The library draws after each change of its own; of this one it learns when it
    /// draws the per cent, so that no moment shows a new number beside old words.
    words: Arc<Mutex<String>>,
}

impl Bar {
    fn new() -> Self {
        let words = Arc::new(Mutex::new(String::new()));
        let read = Arc::clone(&words);
        let put = move |_: &ProgressState, out: &mut dyn Write| {
            let _ = out.write_str(&read.lock().unwrap_or_else(PoisonError::into_inner));
        };
        let style = ProgressStyle::with_template("{bar:32} {pos:>3} % {words} ({elapsed})");
        let style = style.unwrap_or_else(|_| ProgressStyle::default_bar()).with_key("words", put);
        Self { bar: ProgressBar::new(100).with_style(style), words }
    }

    /// How it stands now.
    fn show(&self, answer: &Answer) {
        *self.words.lock().unwrap_or_else(PoisonError::into_inner) = words(answer);
        self.bar.update(|state| state.set_pos(answer.percent.unwrap_or(0).into()));
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

fn words(answer: &Answer) -> String {
    let stands = match (answer.position, &answer.message) {
        (Some(position), _) => format!("queued, place {position}"),
        (None, Some(message)) => message.clone(),
        (None, None) => "started".to_owned(),
    };
    match (answer.eta_seconds, &answer.reason) {
        (Some(seconds), _) => {
            format!("{stands}, about {} left", humantime::format_duration(Duration::from_secs(seconds)))
        }
        (None, Some(reason)) => format!("{stands}: {reason}"),
        (None, None) => stands,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::answer::State;

    #[test]
    fn beside_the_bar_stands_how_long_it_takes_or_what_delays_it() {
        let queued = Answer { position: Some(3), ..Answer::new(State::Queued) };
        assert_eq!(words(&queued), "queued, place 3");
        assert_eq!(words(&Answer { eta_seconds: Some(80), ..queued.clone() }), "queued, place 3, about 1m 20s left");
        let reason = Some("the queue is paused".to_owned());
        assert_eq!(words(&Answer { reason, ..queued }), "queued, place 3: the queue is paused");
    }
}
