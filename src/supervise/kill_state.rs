//! The end of an attempt: the rest of the tree, the leader's reaping, last words.
//!
//! The leader's number is its group's and session's, and the kernel gives it to nobody else while either has a member.

use std::{io, os::fd::AsFd};

use nix::errno::Errno;

use super::{
    events::ReadySources,
    handle::Handle,
    proc::Stat,
    progress::read_message,
    result::ProcessResult,
    supervisor::Supervisor,
    sweep::{self, PATIENCE, PAUSE},
    sys::{self, Reaped},
    watch::SOONEST,
    work,
};
use crate::model::{clock::since_boot, passing};

/// Bytes that are still read when the tree is gone; somebody outside of it may have been given the pipe.
const LAST_WORDS: usize = 1 << 20;

impl Supervisor<'_> {
    /// After the leader's end, or if it cannot be waited for: until nobody is left. Whoever cannot be killed, or
    /// cannot be looked for, keeps us here; but what our own memory is too small for will not get better.
    pub(super) fn leave(&mut self) -> io::Result<()> {
        let now = since_boot();
        let kill_after = self.order.limits.kill_after;
        self.duration = now.saturating_sub(self.leader.started);
        self.phase = self.phase.leader_ended(now, kill_after);
        let gives_up = now + kill_after + PATIENCE;
        self.reap_leader();
        if self.ended.is_some() && self.is_gone() {
            return Ok(());
        }
        let mut unseen = 0;
        while unseen < 2 {
            let alive = sweep::living(&mut self.tree);
            self.watch.reaped(&self.tree.take_reaped());
            self.reap_leader();
            // A leader that somebody traces can be waited for when that lets it go.
            let known = self.ended.is_some() || since_boot() >= gives_up;
            let unread = self.tree.unread();
            if alive.is_empty() && known && unread.is_none() {
                unseen += 1;
                continue;
            }
            if let Some(error) = unread.filter(|error| is_out_of_memory(error) && since_boot() >= gives_up) {
                return Err(error);
            }
            unseen = 0;
            self.look();
            let step = self.decide();
            let handles = self.act(step, &alive);
            self.pause(&handles);
        }
        self.watch.reaped(&self.tree.take_reaped());
        Ok(())
    }

    /// Until one of them has ended, or it is time for the next look. The output is read all the while.
    fn pause(&mut self, handles: &[Handle]) {
        let until = since_boot() + PAUSE;
        let pidfds: Vec<_> = handles.iter().filter_map(Handle::pidfd).collect();
        while since_boot() < until {
            let waited = self.leader.events.wait(&pidfds, self.leader.output.as_fd(), until);
            let Ok(ready) = waited else { return std::thread::sleep(until.saturating_sub(since_boot())) };
            self.hear(ready);
            if ready.contains(ReadySources::ENDED) || ready.contains(ReadySources::STOP) {
                return;
            }
        }
    }

    /// The tree is gone.
    pub(super) fn finish(mut self) -> ProcessResult {
        self.last_words();
        let found = work::count(&self.order.work, self.order.limits.file_size);
        let output = self.order.output.as_deref().and_then(work::length);
        ProcessResult {
            asked: self.phase.reason(),
            duration: self.duration,
            peak_memory: self.watch.memory.peak(),
            cpu_used: self.watch.cpu.total(),
            peak_processes: self.watch.peak_processes.max(1), // a short one may have ended unseen
            peak_work: self.watch.peak_work(found.total),
            largest_file: found.largest,
            log_tail: self.log.tail_text(),
            message: read_message(&self.order.message),
            file_at_limit: found.exact,
            output_at_limit: output.is_some() && output == self.order.limits.file_size,
            ..status(self.ended)
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
        self.log.close();
    }

    /// Whether nobody is left, told without looking at every process twice: no child of ours, and no cookie among those
    /// who came after the leader. Before the first look only these are not known as strangers.
    fn is_gone(&mut self) -> bool {
        if sys::has_children() {
            return false;
        }
        let early = self.duration < SOONEST;
        let seen = if early { self.tree.look_for_cookies() } else { self.tree.look_everywhere() };
        seen.iter().all(Stat::is_dead) && self.tree.unread().is_none()
    }

    fn reap_leader(&mut self) {
        if self.ended.is_none() {
            self.ended = sys::reap(self.leader.process.pid);
            self.watch.reaped(self.ended.as_slice());
        }
    }
}

fn is_out_of_memory(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::OutOfMemory || passing::advice(error) == passing::advice(&Errno::ENOMEM.into())
}

fn status(leader: Option<Reaped>) -> ProcessResult {
    let Some(Reaped { status, .. }) = leader else { return ProcessResult::default() };
    if libc::WIFEXITED(status) {
        ProcessResult { exit_code: Some(libc::WEXITSTATUS(status)), ..ProcessResult::default() }
    } else {
        ProcessResult { signal: Some(libc::WTERMSIG(status)), ..ProcessResult::default() }
    }
}
