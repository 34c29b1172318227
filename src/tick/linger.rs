//! `tick --for`: stays and starts jobs as soon as they are asked for.
//!
//! The doorbell is opened before the lock is waited for and long before the first round, so that a ring between two
//! ticks is heard by the later one. One successor may wait: it holds `tick.next` until it has `tick.lock`.

use std::{
    fs::File,
    process::{Child, ExitStatus},
    thread::sleep,
    time::Duration,
};

use super::{
    Left, launch, open_store,
    reload::{Change, InForce},
    round::{Round, RoundKind, Trouble},
    schedule, tell_broken,
    wake::{StopSignals, WakeSources},
};
use crate::{
    context::Context,
    exit::Failure,
    model::{
        clock::{Stamp, since_boot},
        failpoint,
    },
    store::{Pulse, Store},
};

/// Rings within this time after a round are one round; a lone one is heard at once.
const GATHER: Duration = Duration::from_millis(4);
/// When nothing has come for so long, memory is given back.
const QUIET: Duration = Duration::from_millis(500);
/// Something else may read the doorbell, a backup program for instance, and swallow a ring: the queue is looked at so
/// often besides.
const LOOK: Duration = Duration::from_secs(2);
/// Pruning and sweeping are done at most so often.
const FULL: Duration = Duration::from_secs(15);
/// What could not be done is tried again after so long, unless somebody rings.
const PAUSE: Duration = Duration::from_secs(5);
/// Where the machine lets nothing be started, each further pause is twice as long, up to this.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// Rounds until the time is over or a signal says stop.
pub fn stay(force: &mut InForce, time: Duration, signals: StopSignals) -> Result<Left, Failure> {
    let context = &force.context;
    let until = since_boot().saturating_add(time);
    let sources = WakeSources::open(context, signals);
    let lock = succeed(context, &sources.signals).map_err(|error| context.instead(error.into(), None))?;
    let Some(lock) = lock else { return Ok(Left::default()) };
    failpoint::at("linger-took-lock");
    let store = open_store(context, &lock)?;
    let mut linger = Linger {
        force,
        lock,
        store,
        sources,
        until,
        full_due: Duration::ZERO,
        is_new: true,
        pause_until: Duration::ZERO,
        children: Vec::new(),
        refused: OpenFailures::default(),
        clock_error_ms: None,
        lost_lock: false,
        pulse: Pulse::default(),
        look_at: Duration::ZERO,
    };
    linger.rounds()?;
    linger.say_early_end();
    failpoint::at("linger-over");
    let Linger { sources, children, refused, lock: _lock, .. } = linger;
    sources.signals.let_go()?;
    Ok(Left { children, cannot_start: refused.last })
}

/// The lock at once, or as the one successor of the tick that holds it.
fn succeed(context: &Context, signals: &StopSignals) -> std::io::Result<Option<File>> {
    if let Some(lock) = context.site.take_tick()? {
        return Ok(Some(lock));
    }
    let Some(_next) = context.site.take_next()? else { return Ok(None) };
    failpoint::at("linger-waits");
    signals.let_through()?; // who only waits may be ended at once
    let lock = context.site.wait_for_tick()?;
    signals.hold_back()?;
    Ok(Some(lock))
}

struct Linger<'a> {
    force: &'a mut InForce,
    lock: File,
    store: Store,
    sources: WakeSources,
    /// Time since boot.
    until: Duration,
    full_due: Duration,
    /// There was no round yet.
    is_new: bool,
    /// Not before, whatever is due: the last round met a problem.
    pause_until: Duration,
    children: Vec<Child>,
    /// While the clock is not believed, how far it is ahead.
    clock_error_ms: Option<i64>,
    refused: OpenFailures,
    /// Another tick may be at work.
    lost_lock: bool,
    /// The queue as it was before the last round.
    pulse: Pulse,
    /// When it is looked at next.
    look_at: Duration,
}

/// What a linger knows of a machine that lets nothing be started.
#[derive(Default)]
struct OpenFailures {
    /// Nothing could be started last.
    last: bool,
    /// Until then no ring is heard, or each would start what the machine refuses.
    deaf_until: Duration,
    /// How long the last pause was.
    pause: Duration,
    /// The reason, as it was told.
    told: Option<String>,
}

impl OpenFailures {
    fn again(&mut self, now: Duration) {
        self.last = true;
        if self.deaf_until <= now {
            self.pause = (self.pause * 2).clamp(PAUSE, LONGEST_PAUSE);
            self.deaf_until = now + self.pause;
        }
    }

    /// How long no ring is heard yet.
    fn left(&self) -> Option<Duration> {
        self.deaf_until.checked_sub(since_boot()).filter(|left| !left.is_zero())
    }
}

impl Linger<'_> {
    fn rounds(&mut self) -> Result<(), Failure> {
        loop {
            // Before the round: what rings during it is heard after it.
            self.sources.drain()?;
            match self.force.look() {
                Change::None => {}
                Change::Elsewhere => return Ok(()),
                Change::Taken => {
                    tell_broken(&self.force.context);
                    self.force.context.keep_activity(&mut self.store); // another log, or none
                    self.full_due = Duration::ZERO;
                }
            }
            self.pulse = self.store.view().pulse().unwrap_or_default();
            let look_again = self.round();
            if self.lost_lock {
                return Ok(());
            }
            let gathered = since_boot() + GATHER;
            if !self.wait(look_again)? {
                return Ok(());
            }
            sleep(gathered.saturating_sub(since_boot()));
        }
    }

    /// One round; the time after which something may have changed without a ring.
    fn round(&mut self) -> Option<Duration> {
        let now = since_boot();
        let kind = match self.is_new {
            true => RoundKind::First { stays: self.until.saturating_sub(now) },
            false if now < self.full_due => RoundKind::Light,
            false => RoundKind::Full,
        };
        let mut round = Round::new(&self.force.context, &mut self.store, Some(&self.lock), kind);
        round.refusal = self.refused.told.take();
        round.go();
        self.refused.told = round.refusal.take();
        self.lost_lock = round.lost_lock;
        self.is_new = false;
        if !round.is_light() {
            self.full_due = now + FULL;
        }
        if round.trouble > Trouble::None {
            self.pause_until = now + PAUSE;
        }
        self.clock_error_ms = round.clock.doubt().map(|doubt| round.now.0.saturating_sub(doubt.right.0));
        match round.trouble {
            Trouble::NothingStarts => self.refused.again(now),
            _ if !round.children.is_empty() => self.refused.last = false,
            _ => {}
        }
        self.children.append(&mut round.children);
        round.look_again
    }

    /// Who ends before the time that was written down starts nothing at once any more. If the database is busy, nobody
    /// waits for that.
    fn say_early_end(&mut self) {
        if self.until <= since_boot() {
            return;
        }
        let told = self.store.note_early_end(Stamp::now());
        if let Err(error) = told {
            tracing::debug!(%error, "cannot note the early end");
        }
    }

    /// Until there is something to do. `false`: the time is over, or a signal came.
    fn wait(&mut self, look_again: Option<Duration>) -> Result<bool, Failure> {
        let look_again = look_again.map(|after| since_boot() + after);
        let job = self.due()?.map(|after| since_boot() + after);
        let quiet_at = since_boot() + QUIET;
        self.look_at = since_boot() + LOOK;
        loop {
            let due = self.next_round(job.into_iter().chain(look_again).min());
            let until = due.map_or(self.until, |due| due.min(self.until)).min(self.look_at);
            let rang = self.sources.rest(until, quiet_at, self.refused.deaf_until)?;
            let came = self.sources.signals.came()?;
            if came.stop || self.until <= since_boot() {
                return Ok(false);
            }
            let died = came.child_ended && self.a_run_died() && self.refused.left().is_none();
            if rang || died || due.is_some_and(|due| due <= since_boot()) || self.has_news() {
                return Ok(true);
            }
        }
    }

    /// Time since boot. What is due waits until a pause is over.
    fn next_round(&self, due: Option<Duration>) -> Option<Duration> {
        let deaf = self.refused.left().map(|_| self.refused.deaf_until);
        let due = due.into_iter().chain(deaf).min()?;
        Some(due.max(self.pause_until).max(deaf.unwrap_or_default()))
    }

    /// What no ring has told: jobs, another configuration, the loss of the lock. Looked at now and then.
    fn has_news(&mut self) -> bool {
        let now = since_boot();
        if now < self.look_at || self.refused.left().is_some() {
            self.look_at = self.look_at.max(self.refused.deaf_until);
            return false;
        }
        self.look_at = now + LOOK;
        self.force.is_outdated()
            || !self.force.context.site.is_tick_lock(&self.lock)
            || self.store.view().has_changed(&mut self.pulse).unwrap_or(false)
    }

    /// How long until a job's time or a schedule comes.
    fn due(&self) -> anyhow::Result<Option<Duration>> {
        let (view, now) = (self.store.view(), Stamp::now());
        let right = now.plus_ms(self.clock_error_ms.unwrap_or(0).saturating_neg());
        // What has come due by a clock that is not believed may go on waiting: it must not cause one round after another.
        let least = self.clock_error_ms.map_or(Duration::ZERO, |_| FULL);
        let mut due = view.next_wake()?.map(|wake| wake.since(now).max(least));
        for schedule in self.force.context.config.sound_schedules() {
            let next = schedule::next(&view, schedule, right)?.since(right);
            due = Some(due.map_or(next, |due| due.min(next)));
        }
        Ok(due)
    }

    /// Takes the ends of runs that have ended. One that ended badly could not ring. One that has started nothing rings
    /// on purpose not: it is told of, and its job started again, after a pause.
    fn a_run_died(&mut self) -> bool {
        let mut ends = Vec::new();
        self.children.retain_mut(|child| match child.try_wait() {
            Ok(None) => true,
            Ok(Some(status)) => {
                ends.push(status);
                false
            }
            Err(_) => false,
        });
        let (returned, ended): (Vec<_>, Vec<_>) = ends.into_iter().partition(|end| launch::started_nothing(*end));
        if ended.iter().any(ExitStatus::success) {
            self.refused.pause = Duration::ZERO;
            self.refused.last = false;
        }
        if !returned.is_empty() {
            self.refused.again(since_boot());
            self.full_due = Duration::ZERO;
        }
        ended.iter().any(|end| !end.success())
    }
}
