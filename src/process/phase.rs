//! Where an attempt stands between its start and the end of its whole tree. Pure.

use std::time::Duration;

use super::ending::Reason;

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
        reason: Reason,
        until: Duration,
    },
    /// Without a reason what the leader has left was killed, and the leader's own ending counts.
    Killed {
        reason: Option<Reason>,
        since: Duration,
    },
}

/// A limit that is passed, or somebody's wish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Trouble {
    pub reason: Reason,
    /// It grows on and endangers the machine: what is left of `kill_after` is not granted.
    pub urgent: bool,
}

/// What to do to the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Nothing,
    Ask,
    Kill,
}

impl Phase {
    /// The next phase and the step that leads to it.
    pub(super) fn next(self, now: Duration, trouble: Option<Trouble>, kill_after: Duration) -> (Self, Step) {
        let urgent = trouble.is_some_and(|trouble| trouble.urgent);
        let reason_now = trouble.map(|trouble| trouble.reason);
        match self {
            // What was forked since is killed too.
            Self::Killed { reason, since } => {
                let reason = if reason_now == Some(Reason::Taken) { reason_now } else { reason };
                (Self::Killed { reason, since }, Step::Kill)
            }
            // The next attempt may have been started already: not a moment beside it.
            _ if reason_now == Some(Reason::Taken) => (Self::Killed { reason: reason_now, since: now }, Step::Kill),
            Self::Running { until } => match reason(now, until, trouble) {
                Some(reason) => (Self::Asked { reason, until: now.saturating_add(kill_after) }, Step::Ask),
                None => (self, Step::Nothing),
            },
            Self::Asked { reason, until } if until <= now || urgent => {
                (Self::Killed { reason: Some(reason), since: now }, Step::Kill)
            }
            // They were asked to end already. A shutdown takes nothing back from a leader that has done its work.
            Self::Leaving { until } if until <= now || trouble.is_some() => {
                let reason = reason_now.filter(|reason| *reason != Reason::Shutdown);
                (Self::Killed { reason, since: now }, Step::Kill)
            }
            // What arrived since is asked too.
            Self::Asked { .. } | Self::Leaving { .. } => (self, Step::Ask),
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
    pub(super) const fn reason(self) -> Option<Reason> {
        match self {
            Self::Running { .. } | Self::Leaving { .. } => None,
            Self::Asked { reason, .. } => Some(reason),
            Self::Killed { reason, .. } => reason,
        }
    }
}

fn reason(now: Duration, until: Duration, trouble: Option<Trouble>) -> Option<Reason> {
    trouble.map(|trouble| trouble.reason).or((until <= now).then_some(Reason::Timeout))
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
        assert_eq!(running.next(at(9), None, KILL_AFTER), (running, Step::Nothing));
        let (asked, step) = running.next(at(10), None, KILL_AFTER);
        assert_eq!((asked, step), (Phase::Asked { reason: Reason::Timeout, until: at(15) }, Step::Ask));
        let (killed, step) = asked.next(at(15), None, KILL_AFTER);
        assert_eq!((killed, step), (Phase::Killed { reason: Some(Reason::Timeout), since: at(15) }, Step::Kill));
        assert_eq!(killed.next(at(99), None, KILL_AFTER), (killed, Step::Kill));
    }

    #[test]
    fn the_first_reason_stays() {
        let cancel = Trouble { reason: Reason::Cancel, urgent: false };
        let memory = Trouble { reason: Reason::Memory, urgent: false };
        let (asked, _) = Phase::Running { until: at(10) }.next(at(1), Some(cancel), KILL_AFTER);
        let (asked, _) = asked.next(at(2), Some(memory), KILL_AFTER);
        assert_eq!(asked.reason(), Some(Reason::Cancel));
    }

    #[test]
    fn what_the_leader_leaves_is_asked_once_more_and_held_to_the_limits() {
        let leaving = Phase::Running { until: at(10) }.leader_ended(at(9), KILL_AFTER);
        assert_eq!(leaving.next(at(13), None, KILL_AFTER), (leaving, Step::Ask), "its own time does not matter");
        assert_eq!(leaving.next(at(14), None, KILL_AFTER).0, Phase::Killed { reason: None, since: at(14) });
        for (reason, counts) in [(Reason::Memory, true), (Reason::Cancel, true), (Reason::Shutdown, false)] {
            let (killed, step) = leaving.next(at(10), Some(Trouble { reason, urgent: false }), KILL_AFTER);
            assert_eq!((killed.reason(), step), (counts.then_some(reason), Step::Kill));
        }
    }

    #[test]
    fn what_was_taken_from_us_is_killed_at_once() {
        let taken = Some(Trouble { reason: Reason::Taken, urgent: false });
        let running = Phase::Running { until: at(10) };
        let asked = Phase::Asked { reason: Reason::Memory, until: at(10) };
        let killed = Phase::Killed { reason: Some(Reason::Memory), since: at(1) };
        for phase in [running, asked, killed, running.leader_ended(at(1), KILL_AFTER)] {
            let (next, step) = phase.next(at(2), taken, KILL_AFTER);
            assert_eq!((next.reason(), step), (Some(Reason::Taken), Step::Kill));
        }
    }

    #[test]
    fn a_tree_that_grows_on_is_killed_before_its_time() {
        let memory = Trouble { reason: Reason::Memory, urgent: true };
        let (asked, step) = Phase::Running { until: at(10) }.next(at(1), Some(memory), KILL_AFTER);
        assert_eq!(step, Step::Ask);
        assert_eq!(asked.next(at(2), Some(memory), KILL_AFTER).1, Step::Kill);
    }
}
