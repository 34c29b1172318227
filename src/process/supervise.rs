//! The loop around one exporter: it waits on descriptors, and everything else decides.

use std::{io, time::Duration};

use nix::errno::Errno;

use super::{
    ending::{Ending, Reason},
    events::{Events, Ready},
    log::Capture,
    members::Tree,
    order::Order,
    overseer::{Overseer, Progress, Wish},
    phase::{Phase, Step, Trouble},
    progress::{read_message, read_progress},
    spawn::Leader,
    sweep,
    sys::{self, Reaped},
    tree::{Process, Stuck, Swept, TreeIds},
    watch::Watch,
    work,
};
use crate::model::clock::since_boot;

/// Between two looks of the overseer.
const OVERSIGHT: Duration = Duration::from_secs(1);
/// Bytes that are still read when the leader has ended; a descendant may write for ever.
const LAST_WORDS: usize = 1 << 20;
/// Bytes of one reading, what a pipe holds.
const CHUNK: usize = 1 << 16;

/// Watches the exporter until its leader has ended, ends what is left of its tree, and reaps.
///
/// Returns only when the tree is gone: a process that cannot be killed keeps the caller here, and with it the slot.
/// An error is one of starting to supervise; the tree has been ended then.
pub fn supervise(leader: Leader, order: &Order, overseer: &mut dyn Overseer) -> io::Result<Ending> {
    let mut supervisor = Supervisor::new(leader, order, overseer);
    let watched = supervisor.watch();
    let ending = supervisor.finish();
    watched.map(|()| ending)
}

struct Supervisor<'a> {
    leader: Leader,
    order: &'a Order,
    overseer: &'a mut dyn Overseer,
    tree: Tree,
    watch: Watch,
    log: Capture,
    phase: Phase,
    wish: Option<Reason>,
    next_oversight: Duration,
    buffer: Vec<u8>,
}

impl<'a> Supervisor<'a> {
    fn new(leader: Leader, order: &'a Order, overseer: &'a mut dyn Overseer) -> Self {
        let ids = TreeIds { attempt: order.attempt.clone(), run: Some(Process::this()), leader: Some(leader.process) };
        Self {
            phase: Phase::Running { until: leader.started + order.limits.timeout },
            tree: Tree::new(ids),
            watch: Watch::new(order.limits.clone(), order.work.clone()),
            log: Capture::create(&order.log, order.log_max),
            wish: None,
            next_oversight: since_boot() + OVERSIGHT,
            buffer: vec![0; CHUNK],
            leader,
            order,
            overseer,
        }
    }

    /// Until the leader has ended. Its pidfd tells without reaping it, so its number stays taken.
    fn watch(&mut self) -> io::Result<()> {
        let mut events = Events::new()?;
        loop {
            let ready = events.wait(&self.leader, self.wake_at())?;
            if ready.contains(Ready::LEADER) {
                return Ok(());
            }
            if ready.contains(Ready::OUTPUT) && self.read_output() == 0 {
                events.forget_output();
            }
            if ready.contains(Ready::STOP) {
                self.wish = self.wish.or(Some(Reason::Shutdown));
            }
            if self.wake_at() <= since_boot() || ready.contains(Ready::STOP) {
                self.look();
            }
        }
    }

    fn wake_at(&self) -> Duration {
        let looks = self.watch.next().min(self.next_oversight);
        self.phase.until().map_or(looks, |until| looks.min(until))
    }

    fn look(&mut self) {
        self.watch.look(&mut self.tree);
        self.log.flush();
        if self.next_oversight <= since_boot() {
            self.oversee(Vec::new());
        }
        self.step();
    }

    fn step(&mut self) {
        let wished = self.wish.map(|reason| Trouble { reason, urgent: false });
        let trouble = self.watch.trouble().or(wished);
        let (phase, step) = self.phase.next(since_boot(), trouble, self.order.limits.kill_after);
        self.phase = phase;
        match step {
            Step::Nothing => {}
            Step::Ask => {
                let alive = sweep::living(&mut self.tree);
                sweep::ask(&mut self.tree, &alive);
            }
            Step::Kill => {
                sweep::kill(&sweep::living(&mut self.tree));
            }
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
            Wish::GoOn => self.wish,
            Wish::Cancel => self.wish.or(Some(Reason::Cancel)),
            Wish::Taken => Some(Reason::Taken),
        };
    }

    /// One reading; zero at the end, which is no end of the attempt.
    fn read_output(&mut self) -> usize {
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

    /// After the leader's end, or if it cannot be waited for.
    fn finish(mut self) -> Ending {
        let duration = since_boot().saturating_sub(self.leader.started);
        self.last_words();
        self.watch.look(&mut self.tree);
        self.end_the_rest();
        let leader = self.reap_leader();
        let found = work::count(&self.order.work, self.order.limits.file_size);
        let output = self.order.output.as_deref().and_then(work::length);
        Ending {
            asked: self.phase.reason(),
            duration,
            peak_memory: self.watch.memory.peak(),
            cpu_used: self.watch.cpu.total(),
            peak_processes: self.watch.peak_processes,
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
