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

use crate::{
    commands::world::World,
    config::Identity,
    logging,
    model::{clock::Stamp, event::ActivityEvent},
};

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
    pub world: World,
    /// `None`: there was no file.
    seen: Option<Identity>,
}

impl InForce {
    pub fn of(world: World) -> Self {
        let seen = Some(world.read);
        Self { world, seen }
    }

    /// Whether the next look would find something new.
    pub fn is_outdated(&self) -> bool {
        Identity::of(&self.world.config.file).ok() != self.seen
    }

    /// Takes what is on the disk now, if it has changed and can be taken.
    pub fn look(&mut self) -> Change {
        if !self.is_outdated() {
            return Change::None;
        }
        let file = self.world.config.file.clone();
        if !comes_to_rest(&file) {
            return Change::None;
        }
        self.seen = Identity::of(&file).ok();
        match self.seen.map(|_| World::read(&file)) {
            None => self.keep(format!("{}: the file has vanished", file.display())),
            Some(Err(error)) => self.keep(error),
            Some(Ok(world)) if world.text.trim().is_empty() => {
                self.keep(format!("{}: the file is empty", file.display()))
            }
            Some(Ok(world)) => self.take(world),
        }
    }

    fn keep(&mut self, error: impl std::fmt::Display) -> Change {
        self.world.is_outdated = true;
        let refused = ActivityEvent::new("configuration_refused", Stamp::now());
        self.world.tell(&[refused.with("reason", error.to_string())]);
        logging::diagnostic_line(format!("{error}; the configuration read before stays in force"));
        Change::None
    }

    fn take(&mut self, world: World) -> Change {
        self.seen = Some(world.read);
        let place = |world: &World| (world.config.state_dir.clone(), world.config.database.clone());
        if place(&world) != place(&self.world) {
            logging::diagnostic_line(format!(
                "{}: state_dir or database has changed; this tick ends, and the next one works there",
                world.config.file.display()
            ));
            return Change::Elsewhere;
        }
        tracing::info!(file = %world.config.file.display(), "another configuration is in force");
        self.world = world;
        self.world.tell(&[ActivityEvent::new("configuration_taken", Stamp::now())]);
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
