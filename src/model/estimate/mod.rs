//! How long it will take until a file is there: pure, from a snapshot of what runs, what waits before it, how long
//! such jobs took, how many seats there are, and when ticks come.
//!
//! The queue is played through many times, each time with other lengths of past runs. If the endings lie together, a
//! time is said that most of them are within a factor of two of; if they do not, nothing is said. So a time is true or
//! absent. The choices are the same at each call, so that a page that asks again does not see its time jump about.
//!
//! Times are milliseconds from now on.

mod past;
mod play;
#[cfg(test)]
mod tests;

pub use self::past::{NO_TICK, Pace, Rhythm, Ticks};

use std::time::Duration;

use super::estimate::play::Play;

/// How often the queue is played through, and how often behind a crowd, in which single jobs matter less.
const PLAYS: u32 = 48;
const FEWER: u32 = 24;
const CROWD: u32 = 8;
/// A job that never ends, as far as anybody knows.
const NEVER: u64 = u64::MAX;

/// What is known of the host at one moment.
#[derive(Clone, Debug)]
pub struct Scene {
    /// How many jobs may run at a time, over all queues.
    pub host: u32,
    /// `None`: nobody knows when jobs are started next.
    pub rhythm: Option<Rhythm>,
    pub lanes: Vec<Lane>,
    /// Past runs, one list for each exporter that is met. Others point into this list.
    pub paces: Vec<Pace>,
}

/// A queue.
#[derive(Clone, Debug, Default)]
pub struct Lane {
    pub seats: u32,
    pub running: Vec<Running>,
    /// What waits in it, for the queues that take turns with the one that the estimate is about.
    pub waiting: Vec<Group>,
    /// When a job of it was claimed last: the smallest has the next turn.
    pub served: i64,
}

/// Jobs of one exporter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group {
    pub pace: usize,
    pub count: u32,
}

/// A job that is being made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Running {
    pub pace: usize,
    pub elapsed: Duration,
    /// As its exporter says.
    pub percent: Option<u8>,
}

/// The job that the estimate is for.
#[derive(Clone, Debug)]
pub enum Subject {
    Running(Running),
    Waiting(Waiting),
}

/// A queued job and what has to happen before it starts.
#[derive(Clone, Debug)]
pub struct Waiting {
    pub lane: usize,
    pub pace: usize,
    /// Those before it in its queue, in any order.
    pub before: Vec<Group>,
    /// It is not started earlier.
    pub ready: Duration,
    /// The job whose file it is made from, if that has to be made first.
    pub source: Option<Box<Subject>>,
}

/// The time until the file is there. `None`: what is known does not tell.
pub fn expected(scene: &Scene, subject: &Subject) -> Option<Duration> {
    let plays = if subject.before() > CROWD { FEWER } else { PLAYS };
    let ends: Vec<u64> = (0..plays).map(|play| end(scene, subject, play * (PLAYS / plays), 0)).collect();
    play::choose(&ends).map(Duration::from_secs)
}

/// When it ends in one play. A source is played before what is made from it, with lengths of its own.
fn end(scene: &Scene, subject: &Subject, play: u32, depth: u32) -> u64 {
    let part = quantile(play, depth);
    match subject {
        Subject::Running(running) => scene.left(running, part, true),
        Subject::Waiting(waiting) => {
            let made = waiting.source.as_deref().map_or(0, |source| end(scene, source, play, depth + 1));
            let ready = ms(waiting.ready).max(made);
            let start =
                if ready == NEVER { NEVER } else { Play::new(scene, play + depth * PLAYS).start(waiting, ready) };
            start.saturating_add(scene.length(waiting.pace, part))
        }
    }
}

/// Each play takes another part of the past runs, so that together they take all of them evenly; each source in
/// another order.
fn quantile(play: u32, depth: u32) -> f64 {
    let place = (play * [1, 29, 37, 41][depth as usize % 4]) % PLAYS;
    (f64::from(place) + 0.5) / f64::from(PLAYS)
}

impl Subject {
    /// How many jobs are before it, or before what it is made from.
    fn before(&self) -> u32 {
        let Self::Waiting(waiting) = self else { return 0 };
        let own = waiting.before.iter().fold(0_u32, |sum, group| sum.saturating_add(group.count));
        own.max(waiting.source.as_deref().map_or(0, Self::before))
    }
}

impl Scene {
    fn length(&self, pace: usize, part: f64) -> u64 {
        self.paces.get(pace).and_then(|pace| pace.length(part)).unwrap_or(NEVER)
    }

    /// What is left of a run. Of one that has outlasted all others of its kind nothing is known; while it is only in
    /// the way, it is given anything between a tenth of its time and ten times as much.
    fn left(&self, running: &Running, part: f64, is_subject: bool) -> u64 {
        let Some(pace) = self.paces.get(running.pace).filter(|pace| !pace.is_empty()) else { return NEVER };
        match pace.left(running.elapsed, running.percent, part) {
            Some(left) => left,
            None if is_subject => NEVER,
            None => scaled(ms(running.elapsed), 10_f64.powf(2.0 * part - 1.0)),
        }
    }
}

fn ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(NEVER)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "a time that is guessed; the cast ends at the largest number"
)]
fn scaled(ms: u64, factor: f64) -> u64 {
    (ms as f64 * factor) as u64
}
