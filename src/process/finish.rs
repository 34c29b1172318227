//! The end of an attempt: last words, the leader's reaping, and the rest of the tree.
//!
//! The leader's number is its group's and session's, and the kernel gives it to nobody else while either has a member.

use std::time::Duration;

use super::{
    ending::Ending,
    phase::Phase,
    proc::Stat,
    progress::read_message,
    supervise::Supervisor,
    sweep,
    sys::{self, Reaped},
    tree::Swept,
    watch::SOONEST,
    work,
};
use crate::model::clock::since_boot;

/// Bytes that are still read when the leader has ended; a descendant may write for ever.
const LAST_WORDS: usize = 1 << 20;

impl Supervisor<'_> {
    /// After the leader's end, or if it cannot be waited for.
    pub(super) fn finish(mut self) -> Ending {
        let duration = since_boot().saturating_sub(self.leader.started);
        self.last_words();
        let mut leader = self.reap_leader();
        if leader.is_none() || !self.is_gone(duration) {
            self.watch.look(&mut self.tree);
            self.end_the_rest();
            leader = leader.or_else(|| self.reap_leader());
        }
        let found = work::count(&self.order.work, self.order.limits.file_size);
        let output = self.order.output.as_deref().and_then(work::length);
        Ending {
            asked: self.phase.reason(),
            duration,
            peak_memory: self.watch.memory.peak(),
            cpu_used: self.watch.cpu.total(),
            peak_processes: self.watch.peak_processes.max(1), // a short one may have ended unseen
            peak_work: self.watch.peak_work(found.total),
            largest_file: found.largest,
            log_tail: self.log.tail_text(),
            message: read_message(&self.order.message),
            file_at_limit: found.exact,
            output_at_limit: output.is_some() && output == self.order.limits.file_size,
            ..status(leader)
        }
    }

    fn last_words(&mut self) {
        let mut left = LAST_WORDS;
        while left > 0 {
            match self.read_output() {
                0 | usize::MAX => break,
                length => left = left.saturating_sub(length),
            }
        }
        self.log.flush();
    }

    /// Whether nobody is left, told without looking at every process twice: no child of ours, and no cookie among those
    /// who came after the leader. Before the first look only these are not known as strangers.
    fn is_gone(&mut self, duration: Duration) -> bool {
        if sys::has_children() {
            return false;
        }
        let seen = if duration < SOONEST { self.tree.look_for_cookies() } else { self.tree.look_everywhere() };
        seen.iter().all(Stat::is_dead)
    }

    /// Whoever cannot be killed keeps us here.
    fn end_the_rest(&mut self) {
        let mut grace = match self.phase {
            Phase::Running { .. } => self.order.limits.kill_after,
            Phase::Asked { until, .. } => until.saturating_sub(since_boot()),
            Phase::Killed { .. } => Duration::ZERO,
        };
        while let Swept::Stuck(stuck) = sweep::end(&mut self.tree, grace) {
            grace = Duration::ZERO;
            self.oversee(stuck);
        }
        self.watch.reaped(&self.tree.take_reaped());
    }

    fn reap_leader(&mut self) -> Option<Reaped> {
        let reaped = sys::reap(self.leader.process.pid);
        self.watch.reaped(reaped.as_slice());
        reaped
    }
}

fn status(leader: Option<Reaped>) -> Ending {
    let Some(Reaped { status, .. }) = leader else { return Ending::default() };
    if libc::WIFEXITED(status) {
        Ending { exit_code: Some(libc::WEXITSTATUS(status)), ..Ending::default() }
    } else {
        Ending { signal: Some(libc::WTERMSIG(status)), ..Ending::default() }
    }
}
