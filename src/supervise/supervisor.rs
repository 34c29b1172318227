//! The loop around one exporter: it waits on descriptors, and everything else decides. Then the end of the attempt: the
//! rest of the tree, the leader's reaping, last words.
//!
//! The leader's number is its group's and session's, and the kernel gives it to nobody else while either has a member.

use std::{io, os::fd::AsFd, time::Duration};

use nix::errno::Errno;

use super::{
    classify::{EndedBy, ProcessResult},
    events::ReadySources,
    exec_spec::ExecSpec,
    kill_state::{Phase, PhaseError, PhaseStep},
    limits_monitor::{LimitsMonitor, SOONEST},
    output::Capture,
    proc::{Handle, Stat},
    process_tree::{self, KILL_TIMEOUT, LOOK_INTERVAL, Stuck, Tree, TreeIds},
    progress::{Overseer, Progress, StopOrder, read_message, read_progress},
    spawn::Leader,
    sys::{self, Reaped, give_back},
    work,
};
use crate::model::{clock::since_boot, passing};

/// Between two looks of the overseer.
const OVERSIGHT: Duration = Duration::from_secs(1);
/// Bytes of one reading, what a pipe holds.
const CHUNK: usize = 1 << 16;

/// Watches the exporter until its leader has ended, ends what is left of its tree, and reaps.
///
/// Limits, wishes and the output are heeded until the last of the tree is gone. Returns only then: a process that cannot
/// be killed keeps the caller here, and with it the slot. An error is one of waiting, and the tree has been ended then; or
/// there is no memory to look for it: then its processes are the next tick's to end.
pub fn supervise(leader: Leader, order: &ExecSpec, overseer: &mut dyn Overseer) -> io::Result<ProcessResult> {
    let mut supervisor = Supervisor::new(leader, order, overseer);
    let watched = supervisor.watch();
    supervisor.leave()?;
    let ending = supervisor.finish();
    watched.map(|()| ending)
}

pub(super) struct Supervisor<'a> {
    pub(super) leader: Leader,
    pub(super) order: &'a ExecSpec,
    overseer: &'a mut dyn Overseer,
    pub(super) tree: Tree,
    pub(super) watch: LimitsMonitor,
    pub(super) log: Capture,
    pub(super) phase: Phase,
    /// From the start to the leader's end.
    pub(super) duration: Duration,
    /// How the leader has ended, once it could be waited for.
    pub(super) ended: Option<Reaped>,
    wish: Option<EndedBy>,
    next_oversight: Duration,
    buffer: Vec<u8>,
}

impl<'a> Supervisor<'a> {
    fn new(mut leader: Leader, order: &'a ExecSpec, overseer: &'a mut dyn Overseer) -> Self {
        let strangers = std::mem::take(&mut leader.strangers);
        let ids = TreeIds { attempt: order.attempt.clone(), run: Some(leader.run), leader: Some(leader.process) };
        Self {
            tree: Tree::among(strangers, ids, leader.run),
            phase: Phase::Running { until: leader.started.saturating_add(order.limits.timeout) },
            watch: LimitsMonitor::new(order.limits.clone(), order.work.clone(), &leader),
            log: Capture::create(&order.log, order.log_max),
            duration: Duration::ZERO,
            ended: None,
            wish: None,
            next_oversight: since_boot(), // whether the attempt is still ours is to be known soon
            buffer: vec![0; CHUNK],
            leader,
            order,
            overseer,
        }
    }

    /// Until the leader has ended. Its pidfd tells without reaping it, so its number stays taken.
    fn watch(&mut self) -> io::Result<()> {
        loop {
            let (ready, ended) = self.wait_for_leader()?;
            if ended {
                return Ok(());
            }
            self.hear(ready);
            if self.wake_at() <= since_boot() || ready.contains(ReadySources::STOP) {
                self.look();
                self.step();
            }
        }
    }

    /// Without a pidfd the kernel has to be asked now and then.
    fn wait_for_leader(&mut self) -> io::Result<(ReadySources, bool)> {
        let wake_at = self.wake_at();
        let Leader { events, output, handle, process, .. } = &mut self.leader;
        let Some(pidfd) = handle.pidfd() else {
            let ready = events.wait(&[], output.as_fd(), wake_at.min(since_boot() + SOONEST))?;
            return Ok((ready, sys::has_ended(process.pid)));
        };
        let ready = events.wait(&[pidfd], output.as_fd(), wake_at)?;
        Ok((ready, ready.contains(ReadySources::ENDED)))
    }

    /// Takes what has come.
    pub(super) fn hear(&mut self, ready: ReadySources) {
        if ready.contains(ReadySources::OUTPUT) && self.read_output() == 0 {
            self.leader.events.forget_output();
        }
        if ready.contains(ReadySources::STOP) {
            self.wish = self.wish.or(Some(EndedBy::Shutdown));
        }
    }

    fn wake_at(&self) -> Duration {
        let looks = self.watch.next().min(self.next_oversight);
        self.phase.until().map_or(looks, |until| looks.min(until))
    }

    /// Looks at whatever is due.
    pub(super) fn look(&mut self) {
        self.watch.look(&mut self.tree);
        if self.next_oversight <= since_boot() {
            let stuck = self.stuck();
            self.oversee(stuck);
            if self.leader.started + OVERSIGHT <= since_boot() {
                give_back(); // an export may take minutes, and the next look comes in a second
            }
        }
    }

    fn step(&mut self) {
        let step = self.decide();
        if step != PhaseStep::Nothing {
            let alive = process_tree::living(&mut self.tree);
            self.act(step, &alive);
        }
    }

    pub(super) fn decide(&mut self) -> PhaseStep {
        let wished = self.wish.map(|reason| PhaseError { reason, urgent: false });
        let taken = wished.filter(|wished| wished.reason == EndedBy::Taken);
        let trouble = taken.or_else(|| self.watch.trouble()).or(wished);
        let (phase, step) = self.phase.next(since_boot(), trouble, self.order.limits.kill_after);
        self.phase = phase;
        step
    }

    pub(super) fn act(&mut self, step: PhaseStep, alive: &[Stat]) -> Vec<Handle> {
        match step {
            PhaseStep::Nothing => Vec::new(),
            PhaseStep::Ask => process_tree::ask(&mut self.tree, alive),
            PhaseStep::Kill => process_tree::kill(alive),
        }
    }

    /// Those that were killed long ago and are still there, the leader among them.
    fn stuck(&mut self) -> Vec<Stuck> {
        match self.phase {
            Phase::Killed { since, .. } if since_boot() >= since + KILL_TIMEOUT => process_tree::stuck(&mut self.tree),
            _ => Vec::new(),
        }
    }

    fn oversee(&mut self, stuck: Vec<Stuck>) {
        self.next_oversight = since_boot() + OVERSIGHT;
        let (percent, text) = read_progress(&self.order.progress).unzip();
        let progress = Progress {
            percent,
            text: text.flatten(),
            elapsed: since_boot().saturating_sub(self.leader.started),
            memory: self.watch.memory.now(),
            cpu: self.watch.cpu.total(),
            processes: self.watch.processes,
            stuck,
        };
        self.wish = match self.overseer.look(&progress) {
            StopOrder::GoOn => self.wish,
            StopOrder::Cancel => self.wish.or(Some(EndedBy::Cancel)),
            StopOrder::Taken => Some(EndedBy::Taken),
        };
    }

    /// One reading; zero at the end, which is no end of the attempt.
    pub(super) fn read_output(&mut self) -> usize {
        match nix::unistd::read(&self.leader.output, &mut self.buffer) {
            Ok(length) => {
                let bytes = &self.buffer[..length];
                self.log.take(bytes);
                self.overseer.said(bytes);
                length
            }
            Err(Errno::EAGAIN | Errno::EINTR) => usize::MAX,
            Err(_) => 0,
        }
    }
}

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
        let gives_up = now + kill_after + KILL_TIMEOUT;
        self.reap_leader();
        if self.ended.is_some() && self.is_gone() {
            return Ok(());
        }
        let mut unseen = 0;
        while unseen < 2 {
            let alive = process_tree::living(&mut self.tree);
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
        let until = since_boot() + LOOK_INTERVAL;
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
