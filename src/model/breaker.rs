//! The breaker: for a broken machine, not for a bad book or a stranger's invented titles. Computed from the attempts.

use std::{collections::HashSet, time::Duration};

use super::{clock::Stamp, status::Outcome};

/// How the first attempt of a job ended.
#[derive(Clone, Debug, PartialEq)]
pub struct FirstAttempt {
    pub filename: String,
    pub outcome: Outcome,
    pub exit_code: Option<i32>,
    pub ended: Stamp,
    /// It was lost as the machine was restarted.
    pub restarted: bool,
}

impl FirstAttempt {
    /// Whether its end says nothing about the exporter or the machine: somebody wanted it, or the power failed.
    pub const fn is_neutral(&self) -> bool {
        self.restarted || matches!(self.outcome, Outcome::Cancelled | Outcome::Shutdown | Outcome::Dropped)
    }
}

/// Whether an exporter's jobs are started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Breaker {
    Closed,
    /// None is started before `until`.
    Open {
        until: Stamp,
    },
    /// One at a time, until one ends otherwise.
    Trial,
}

/// Exit status for "a temporary failure" (`EX_TEMPFAIL` of sysexits).
pub const TEMPORARY: i32 = 75;

/// The breaker's state after the first attempts of an exporter since its last success, newest first, neutral ones left
/// out.
pub fn state(newest_first: &[FirstAttempt], failures: u32, pause: Duration, now: Stamp) -> Breaker {
    let broken = newest_first.iter().take_while(|first| is_broken(first));
    let files: HashSet<&str> = broken.map(|first| first.filename.as_str()).collect();
    let Some(newest) = newest_first.first().filter(|_| failures > 0 && files.len() >= failures as usize) else {
        return Breaker::Closed;
    };
    let until = newest.ended.plus(pause);
    if now < until { Breaker::Open { until } } else { Breaker::Trial }
}

fn is_broken(first: &FirstAttempt) -> bool {
    match first.outcome {
        Outcome::Spawn | Outcome::Lost => true,
        Outcome::Exit => first.exit_code == Some(TEMPORARY),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(filename: &str, outcome: Outcome, ended: i64) -> FirstAttempt {
        FirstAttempt { filename: filename.into(), outcome, exit_code: None, ended: Stamp(ended), restarted: false }
    }

    fn state_at(now: i64, firsts: &[FirstAttempt]) -> Breaker {
        state(firsts, 3, Duration::from_millis(100), Stamp(now))
    }

    #[test]
    fn it_opens_after_enough_different_files_and_then_tries_one_at_a_time() {
        let firsts = [first("c", Outcome::Spawn, 30), first("b", Outcome::Lost, 20), first("a", Outcome::Spawn, 10)];
        assert_eq!(state_at(40, &firsts[..2]), Breaker::Closed);
        assert_eq!(state_at(40, &firsts), Breaker::Open { until: Stamp(130) });
        assert_eq!(state_at(130, &firsts), Breaker::Trial);
    }

    #[test]
    fn one_file_again_and_again_does_not_open_it() {
        let firsts = [first("a", Outcome::Spawn, 30), first("a", Outcome::Spawn, 20), first("a", Outcome::Spawn, 10)];
        assert_eq!(state_at(40, &firsts), Breaker::Closed);
    }

    #[test]
    fn bad_books_and_time_outs_do_not_open_it_and_anything_else_closes_it() {
        let mut firsts = vec![first("d", Outcome::Exit, 40), first("c", Outcome::Spawn, 30)];
        firsts.extend([first("b", Outcome::Spawn, 20), first("a", Outcome::Spawn, 10)]);
        assert_eq!(state_at(50, &firsts), Breaker::Closed);
        firsts[0].exit_code = Some(TEMPORARY);
        assert_eq!(state_at(50, &firsts), Breaker::Open { until: Stamp(140) });
    }
}
