//! Where an attempt stands between its start and the end of its whole tree. Pure.

use std::time::Duration;

use super::classify::EndedBy;

/// Moments are times since boot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Running {
        until: Duration,
    },
    /// The leader has ended by itself, and the rest of its tree is asked to.
    Leaving {
        until: Duration,
    },
    Asked {
        reason: EndedBy,
        until: Duration,
    },
    /// Without a reason what the leader has left was killed, and the leader's own ending counts.
    Killed {
        reason: Option<EndedBy>,
        since: Duration,
    },
}

/// A limit that is passed, or somebody's wish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PhaseError {
    pub reason: EndedBy,
    /// It grows on and endangers the machine: what is left of `kill_after` is not granted.
    pub urgent: bool,
}

/// What to do to the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PhaseStep {
    Nothing,
    Ask,
    Kill,
}

impl Phase {
    /// The next phase and the step that leads to it.
    pub(super) fn next(self, now: Duration, trouble: Option<PhaseError>, kill_after: Duration) -> (Self, PhaseStep) {
        let urgent = trouble.is_some_and(|trouble| trouble.urgent);
        let reason_now = trouble.map(|trouble| trouble.reason);
        match self {
            // What was forked since is killed too.
            Self::Killed { reason, since } => {
                let reason = if reason_now == Some(EndedBy::Taken) { reason_now } else { reason };
                (Self::Killed { reason, since }, PhaseStep::Kill)
            }
            // The next attempt may have been started already: not a moment beside it.
            _ if reason_now == Some(EndedBy::Taken) => {
                (Self::Killed { reason: reason_now, since: now }, PhaseStep::Kill)
            }
            Self::Running { until } => match reason(now, until, trouble) {
                Some(reason) => (Self::Asked { reason, until: now.saturating_add(kill_after) }, PhaseStep::Ask),
                None => (self, PhaseStep::Nothing),
            },
            Self::Asked { reason, until } if until <= now || urgent => {
                (Self::Killed { reason: Some(reason), since: now }, PhaseStep::Kill)
            }
            // They were asked to end already. A shutdown takes nothing back from a leader that has done its work.
            Self::Leaving { until } if until <= now || trouble.is_some() => {
                let reason = reason_now.filter(|reason| *reason != EndedBy::Shutdown);
                (Self::Killed { reason, since: now }, PhaseStep::Kill)
            }
            // What arrived since is asked too.
            Self::Asked { .. } | Self::Leaving { .. } => (self, PhaseStep::Ask),
        }
    }

    /// The leader has ended: its time is no longer measured.
    pub(super) fn leader_ended(self, now: Duration, kill_after: Duration) -> Self {
        match self {
            Self::Running { .. } => Self::Leaving { until: now + kill_after },
            other => other,
        }
    }

    /// When it ends by itself.
    pub(super) const fn until(self) -> Option<Duration> {
        match self {
            Self::Running { until } | Self::Leaving { until } | Self::Asked { until, .. } => Some(until),
            Self::Killed { .. } => None,
        }
    }

    /// Why the exporter was asked to end.
    pub(super) const fn reason(self) -> Option<EndedBy> {
        match self {
            Self::Running { .. } | Self::Leaving { .. } => None,
            Self::Asked { reason, .. } => Some(reason),
            Self::Killed { reason, .. } => reason,
        }
    }
}

fn reason(now: Duration, until: Duration, trouble: Option<PhaseError>) -> Option<EndedBy> {
    trouble.map(|trouble| trouble.reason).or((until <= now).then_some(EndedBy::Timeout))
}

#[cfg(test)]
mod tests {
    use super::*;

    const KILL_AFTER: Duration = Duration::from_secs(5);

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn time_runs_out_in_two_steps() {
        let running = Phase::Running { until: at(10) };
        assert_eq!(running.next(at(9), None, KILL_AFTER), (running, PhaseStep::Nothing));
        let (asked, step) = running.next(at(10), None, KILL_AFTER);
        assert_eq!((asked, step), (Phase::Asked { reason: EndedBy::Timeout, until: at(15) }, PhaseStep::Ask));
        let (killed, step) = asked.next(at(15), None, KILL_AFTER);
        assert_eq!((killed, step), (Phase::Killed { reason: Some(EndedBy::Timeout), since: at(15) }, PhaseStep::Kill));
        assert_eq!(killed.next(at(99), None, KILL_AFTER), (killed, PhaseStep::Kill));
    }

    #[test]
    fn the_first_reason_stays() {
        let cancel = PhaseError { reason: EndedBy::Cancel, urgent: false };
        let memory = PhaseError { reason: EndedBy::Memory, urgent: false };
        let (asked, _) = Phase::Running { until: at(10) }.next(at(1), Some(cancel), KILL_AFTER);
        let (asked, _) = asked.next(at(2), Some(memory), KILL_AFTER);
        assert_eq!(asked.reason(), Some(EndedBy::Cancel));
    }

    #[test]
    fn what_the_leader_leaves_is_asked_once_more_and_held_to_the_limits() {
        let leaving = Phase::Running { until: at(10) }.leader_ended(at(9), KILL_AFTER);
        assert_eq!(leaving.next(at(13), None, KILL_AFTER), (leaving, PhaseStep::Ask), "its own time does not matter");
        assert_eq!(leaving.next(at(14), None, KILL_AFTER).0, Phase::Killed { reason: None, since: at(14) });
        for (reason, counts) in [(EndedBy::Memory, true), (EndedBy::Cancel, true), (EndedBy::Shutdown, false)] {
            let (killed, step) = leaving.next(at(10), Some(PhaseError { reason, urgent: false }), KILL_AFTER);
            assert_eq!((killed.reason(), step), (counts.then_some(reason), PhaseStep::Kill));
        }
    }

    #[test]
    fn what_was_taken_from_us_is_killed_at_once() {
        let taken = Some(PhaseError { reason: EndedBy::Taken, urgent: false });
        let running = Phase::Running { until: at(10) };
        let asked = Phase::Asked { reason: EndedBy::Memory, until: at(10) };
        let killed = Phase::Killed { reason: Some(EndedBy::Memory), since: at(1) };
        for phase in [running, asked, killed, running.leader_ended(at(1), KILL_AFTER)] {
            let (next, step) = phase.next(at(2), taken, KILL_AFTER);
            assert_eq!((next.reason(), step), (Some(EndedBy::Taken), PhaseStep::Kill));
        }
    }

    #[test]
    fn a_tree_that_grows_on_is_killed_before_its_time() {
        let memory = PhaseError { reason: EndedBy::Memory, urgent: true };
        let (asked, step) = Phase::Running { until: at(10) }.next(at(1), Some(memory), KILL_AFTER);
        assert_eq!(step, PhaseStep::Ask);
        assert_eq!(asked.next(at(2), Some(memory), KILL_AFTER).1, PhaseStep::Kill);
    }
}
