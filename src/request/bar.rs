//! The bar that a person sees while a request waits on a terminal.

use std::{
    fmt::Write,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use indicatif::{ProgressBar, ProgressState, ProgressStyle};

use crate::model::answer::Answer;

/// Gone when it is dropped.
pub struct Bar {
    bar: ProgressBar,
    /// What stands beside the per cent. The library draws after each change of its own; of this one it learns when it
    /// draws the per cent, so that no moment shows a new number beside old words.
    words: Arc<Mutex<String>>,
}

impl Bar {
    pub fn new() -> Self {
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
    pub fn show(&self, answer: &Answer) {
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
