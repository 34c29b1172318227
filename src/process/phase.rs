//! Where an attempt stands between its start and its leader's end. Pure.

use std::time::Duration;

use super::ending::Reason;

/// Moments are times since boot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Running { until: Duration },
    Asked { reason: Reason, until: Duration },
    Killed { reason: Reason, since: Duration },
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
        match self {
            Self::Running { until } => match reason(now, until, trouble) {
                Some(reason) => (Self::Asked { reason, until: now.saturating_add(kill_after) }, Step::Ask),
                None => (self, Step::Nothing),
            },
            Self::Asked { reason, until } if until <= now || urgent => {
                (Self::Killed { reason, since: now }, Step::Kill)
            }
            // What arrived since is asked too.
            Self::Asked { .. } => (self, Step::Ask),
            // What was forked since is killed too.
            Self::Killed { .. } => (self, Step::Kill),
        }
    }

    /// When it ends by itself.
    pub(super) const fn until(self) -> Option<Duration> {
        match self {
            Self::Running { until } | Self::Asked { until, .. } => Some(until),
            Self::Killed { .. } => None,
        }
    }

    /// Why the exporter was asked to end.
    pub(super) const fn reason(self) -> Option<Reason> {
        match self {
            Self::Running { .. } => None,
            Self::Asked { reason, .. } | Self::Killed { reason, .. } => Some(reason),
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
        assert_eq!((killed, step), (Phase::Killed { reason: Reason::Timeout, since: at(15) }, Step::Kill));
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
    fn a_tree_that_grows_on_is_killed_before_its_time() {
        let memory = Trouble { reason: Reason::Memory, urgent: true };
        let (asked, step) = Phase::Running { until: at(10) }.next(at(1), Some(memory), KILL_AFTER);
        assert_eq!(step, Step::Ask);
        assert_eq!(asked.next(at(2), Some(memory), KILL_AFTER).1, Step::Kill);
    }
}
