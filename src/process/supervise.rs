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
    progress::read_progress,
    rest::give_back,
    spawn::Leader,
    sweep::{self, PATIENCE},
    tree::{Process, Stuck, TreeIds},
    watch::Watch,
};
use crate::model::clock::since_boot;

/// Between two looks of the overseer.
const OVERSIGHT: Duration = Duration::from_secs(1);
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

/// Kills the exporter and all of its tree; nothing of it counts.
pub fn abandon(leader: Leader, order: &Order) {
    let mut nobody = Nobody;
    let mut supervisor = Supervisor::new(leader, order, &mut nobody);
    supervisor.phase = Phase::Killed { reason: Reason::Taken, since: since_boot() };
    supervisor.finish();
}

/// Oversees what is abandoned.
struct Nobody;

impl Overseer for Nobody {
    fn look(&mut self, _progress: &Progress) -> Wish {
        Wish::Taken
    }
}

pub(super) struct Supervisor<'a> {
    pub(super) leader: Leader,
    pub(super) order: &'a Order,
    overseer: &'a mut dyn Overseer,
    pub(super) tree: Tree,
    pub(super) watch: Watch,
    pub(super) log: Capture,
    pub(super) phase: Phase,
    wish: Option<Reason>,
    next_oversight: Duration,
    buffer: Vec<u8>,
}

impl<'a> Supervisor<'a> {
    fn new(mut leader: Leader, order: &'a Order, overseer: &'a mut dyn Overseer) -> Self {
        let strangers = std::mem::take(&mut leader.strangers);
        let ids = TreeIds { attempt: order.attempt.clone(), run: Some(Process::this()), leader: Some(leader.process) };
        Self {
            tree: Tree::among(strangers, ids),
            phase: Phase::Running { until: leader.started.saturating_add(order.limits.timeout) },
            watch: Watch::new(order.limits.clone(), order.work.clone(), &leader),
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
            let stuck = self.stuck();
            self.oversee(stuck);
        }
        self.step();
        give_back(); // an export may take minutes, and the next look comes in a second
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

    /// Those that were killed long ago and are still there, the leader among them.
    fn stuck(&mut self) -> Vec<Stuck> {
        match self.phase {
            Phase::Killed { since, .. } if since_boot() >= since + PATIENCE => sweep::stuck(&mut self.tree),
            _ => Vec::new(),
        }
    }

    pub(super) fn oversee(&mut self, stuck: Vec<Stuck>) {
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
