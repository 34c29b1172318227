//! `--wait`: until the file is there, the job has failed, or the time is over.

use std::{
    io::IsTerminal,
    thread::sleep,
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressStyle};

use super::{Ask, pipeline};
use crate::{
    commands::world::World,
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
pub fn until_settled(world: &World, ask: &Ask, first: Answer, limit: Duration) -> Result<Answer, Failure> {
    let end = Instant::now() + limit;
    let only_look =
        Ask { no_enqueue: true, values: ask.values.clone(), filename: ask.filename.clone(), client: None, ..*ask };
    let bar = std::io::stderr().is_terminal().then(bar);
    let mut answer = first;
    let mut pause = FIRST;
    let mut row_due = Instant::now() + ROW;
    while pending(&answer) && Instant::now() < end {
        show(bar.as_ref(), &answer);
        sleep(pause.min(end.saturating_duration_since(Instant::now())));
        pause = (pause * 2).min(LONGEST);
        if Instant::now() >= row_due || file_appeared(world, ask) {
            answer = pipeline::answer(world, &only_look)?;
            row_due = Instant::now() + ROW;
        }
    }
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    Ok(answer)
}

const fn pending(answer: &Answer) -> bool {
    matches!(answer.state, State::Queued | State::Started)
}

/// One stat: whether there is a file that may be the answer.
fn file_appeared(world: &World, ask: &Ask) -> bool {
    let Ok(Some(cached)) = world.cache.look(&ask.filename) else { return false };
    let fresh = ask.exporter.ttl.is_none_or(|ttl| Stamp::now().since(cached.made) < ttl);
    fresh && ask.after.is_none_or(|after| cached.made >= after)
}

fn bar() -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:32} {pos:>3} % {msg} ({elapsed})");
    ProgressBar::new(100).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

fn show(bar: Option<&ProgressBar>, answer: &Answer) {
    let Some(bar) = bar else { return };
    bar.set_position(answer.percent.unwrap_or(0).into());
    bar.set_message(match (answer.position, &answer.message) {
        (Some(position), _) => format!("queued, place {position}"),
        (None, Some(message)) => message.clone(),
        (None, None) => "started".to_owned(),
    });
    bar.tick();
}
