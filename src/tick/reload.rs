//! The configuration in force is the one on the disk: a lingering tick looks at the file before each round.
//!
//! A valid one is in force from that round on. While the file is broken, missing or being written the one before stays
//! in force; the admin is told once of each state of the file. Nothing else is kept in memory that the configuration
//! names by its path: programs and templates are looked up when they are used.

use std::{
    path::Path,
    thread::sleep,
    time::{Duration, SystemTime},
};

use crate::{config::Identity, context::Context, logging, model::clock::Stamp, site::ActivityEvent};

/// A file that was written within this time may still be written.
const AT_REST: Duration = Duration::from_millis(100);
/// A file that is written for longer than this many looks is left to the next round.
const LOOKS: u32 = 10;

/// What a look has shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    None,
    /// Another configuration is in force now.
    Taken,
    /// It names another state directory or database, which a tick of its own has to work in.
    Elsewhere,
}

/// The configuration in force, and the state of the file that was looked at last.
pub struct InForce {
    pub context: Context,
    /// `None`: there was no file.
    seen: Option<Identity>,
}

impl InForce {
    pub fn of(context: Context) -> Self {
        let seen = Some(context.read);
        Self { context, seen }
    }

    /// Whether the next look would find something new.
    pub fn is_outdated(&self) -> bool {
        Identity::of(&self.context.config.file).ok() != self.seen
    }

    /// Takes what is on the disk now, if it has changed and can be taken.
    pub fn look(&mut self) -> Change {
        if !self.is_outdated() {
            return Change::None;
        }
        let file = self.context.config.file.clone();
        if !comes_to_rest(&file) {
            return Change::None;
        }
        self.seen = Identity::of(&file).ok();
        match self.seen.map(|_| Context::read(&file)) {
            None => self.keep(format!("{}: the file has vanished", file.display())),
            Some(Err(error)) => self.keep(error),
            Some(Ok(context)) if context.text.trim().is_empty() => {
                self.keep(format!("{}: the file is empty", file.display()))
            }
            Some(Ok(context)) => self.take(context),
        }
    }

    fn keep(&mut self, error: impl std::fmt::Display) -> Change {
        self.context.is_outdated = true;
        let refused = ActivityEvent::new("configuration_refused", Stamp::now());
        self.context.tell(&[refused.with("reason", error.to_string())]);
        logging::diagnostic_line(format!("{error}; the configuration read before stays in force"));
        Change::None
    }

    fn take(&mut self, context: Context) -> Change {
        self.seen = Some(context.read);
        let place = |context: &Context| (context.config.state_dir.clone(), context.config.database.clone());
        if place(&context) != place(&self.context) {
            logging::diagnostic_line(format!(
                "{}: state_dir or database has changed; this tick ends, and the next one works there",
                context.config.file.display()
            ));
            return Change::Elsewhere;
        }
        tracing::info!(file = %context.config.file.display(), "another configuration is in force");
        self.context = context;
        self.context.tell(&[ActivityEvent::new("configuration_taken", Stamp::now())]);
        Change::Taken
    }
}

/// Waits until nobody writes the file any more, or puts another in its place. `false`: that goes on.
fn comes_to_rest(file: &Path) -> bool {
    (0..LOOKS).any(|_| {
        let state = Identity::of(file).ok();
        is_old(file) || {
            sleep(AT_REST);
            Identity::of(file).ok() == state
        }
    })
}

fn is_old(file: &Path) -> bool {
    let modified = std::fs::metadata(file).and_then(|about| about.modified());
    modified.is_ok_and(|at| SystemTime::now().duration_since(at).is_ok_and(|age| age >= AT_REST))
}
