//! Past attempts.

use std::time::Duration;

use super::{Result, View};
use crate::model::{attempt::Attempt, clock::Stamp, status::Outcome};

/// What the breaker needs of the first attempt at one file.
#[derive(Clone, Debug, PartialEq)]
pub struct FirstAttempt {
    pub filename: String,
    pub outcome: Outcome,
    pub exit_code: Option<i32>,
    pub ended: Stamp,
}

impl View<'_> {
    pub fn attempt(&self, id: &str) -> Result<Option<Attempt>> {
        todo!()
    }

    /// The newest attempt that published this file.
    pub fn latest_ok(&self, filename: &str) -> Result<Option<Attempt>> {
        todo!()
    }

    /// The newest attempts at this file, the newest first.
    pub fn attempts_of(&self, filename: &str, limit: u32) -> Result<Vec<Attempt>> {
        todo!()
    }

    /// The last ended first attempts of an exporter at `n` different files, the newest first.
    pub fn first_attempts(&self, exporter: &str, n: u32) -> Result<Vec<FirstAttempt>> {
        todo!()
    }

    /// How long the newest successful attempts of an exporter ran.
    pub fn ok_durations(&self, exporter: &str, n: u32) -> Result<Vec<Duration>> {
        todo!()
    }

    /// How many attempts ended in which way since then.
    pub fn outcomes_since(&self, since: Stamp) -> Result<Vec<(Outcome, u64)>> {
        todo!()
    }
}
