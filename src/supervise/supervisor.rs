//! The loop around one exporter: it waits on descriptors, and everything else decides.

use std::{io, os::fd::AsFd, time::Duration};

use nix::errno::Errno;

use super::{
    events::ReadySources,
    exec_spec::ExecSpec,
    handle::Handle,
    log::Capture,
    members::Tree,
    overseer::{Overseer, Progress, StopOrder},
    phase::{Phase, PhaseError, PhaseStep},
    proc::Stat,
    progress::read_progress,
    release_memory::give_back,
    result::{EndedBy, ProcessResult},
    spawn::Leader,
    sweep::{self, PATIENCE},
    sys::{self, Reaped},
    tree::{Stuck, TreeIds},
    watch::{LimitsMonitor, SOONEST},
};
use crate::model::clock::since_boot;

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
            let alive = sweep::living(&mut self.tree);
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
            PhaseStep::Ask => sweep::ask(&mut self.tree, alive),
            PhaseStep::Kill => sweep::kill(alive),
        }
    }

    /// Those that were killed long ago and are still there, the leader among them.
    fn stuck(&mut self) -> Vec<Stuck> {
        match self.phase {
            Phase::Killed { since, .. } if since_boot() >= since + PATIENCE => sweep::stuck(&mut self.tree),
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
