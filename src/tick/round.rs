//! One round of a tick: what it may touch, what its steps have found, and what it has to say at its end.

use std::{collections::BTreeMap, fmt, fs::File, path::PathBuf, process::Child, time::Duration};

use super::{
    plan::{HoldReason, PlanStep},
    seats::Seats,
};
use crate::{
    context::Context,
    logging,
    model::clock::{Doubt, Stamp, since_boot},
    store::Store,
};

/// The file of the lock is gone, or it is another one: a second tick can be at work.
#[derive(Debug)]
pub struct LostLock(PathBuf);

impl std::error::Error for LostLock {}

impl fmt::Display for LostLock {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.0.display();
        write!(
            to,
            "{path} was removed while this tick held it, so this tick ends; keep what removed it away from there"
        )
    }
}

/// Looked at before each round, and once more where jobs are claimed. A dry run has no lock.
pub fn expect_lock(context: &Context, lock: Option<&File>) -> anyhow::Result<()> {
    match lock.filter(|lock| !context.site.is_tick_lock(lock)) {
        None => Ok(()),
        Some(_) => Err(LostLock(context.site.tick_lock()).into()),
    }
}

/// The worst that a round has met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Trouble {
    None,
    /// Something was told, which an immediate next round would only meet again.
    Told,
    /// The machine lets nothing be started.
    NothingStarts,
}

/// What a round does and what it leaves out.
pub enum RoundKind {
    /// Every step, as the first round of a tick that stays for so long.
    First { stays: Duration },
    /// Every step.
    Full,
    /// A ring has caused it: only what starts jobs is done, the rest is left to the next full round.
    Light,
    /// What a full round decides, on a copy of the database; the rest is only noted.
    DryRun(Box<Plan>),
}

/// What a dry run has noted.
#[derive(Default)]
pub struct Plan {
    pub steps: Vec<PlanStep>,
    /// After the claims.
    pub seats: Option<Seats>,
    /// Jobs that had their turn and are not started, and why.
    pub aside: BTreeMap<i64, HoldReason>,
    /// Bytes of the cached files that would be removed.
    pub freed: u64,
}

/// What a round has found about the wall clock. Unless it is trusted nothing is expired (invariant 11).
#[derive(Clone, Debug, Default, PartialEq)]
pub enum WallClock {
    #[default]
    Trusted,
    /// It was set, or nobody has ticked for long.
    Jumped,
    /// It is right again. What it stamped between these two moments happened later than that.
    Righted(Stamp, Stamp),
    /// It is believed from now on. From the moment that it should have said to the present one no time has passed.
    Accepted { leapt_from: Option<Stamp> },
    /// It cannot be believed: nothing is rewritten, nor removed for its age or its number.
    Doubted(Doubt),
}

impl WallClock {
    pub fn is_trusted(&self) -> bool {
        *self == Self::Trusted
    }

    pub const fn doubt(&self) -> Option<&Doubt> {
        if let Self::Doubted(doubt) = self { Some(doubt) } else { None }
    }
}

/// One round: its moment, what it may touch, and what it has to say at its end.
pub struct Round<'a> {
    pub context: &'a Context,
    pub store: &'a mut Store,
    /// The tick's own lock; a dry run has none.
    pub lock: Option<&'a File>,
    pub kind: RoundKind,
    pub now: Stamp,
    pub clock: WallClock,
    /// Something holds jobs back that ends without a ring: look again then.
    pub look_again: Option<Duration>,
    pub trouble: Trouble,
    /// Another tick may be at work: nothing more is done.
    pub lost_lock: bool,
    /// Why nothing could be started, as it was told last: a lingering tick hands it on, since once is enough.
    pub refusal: Option<String>,
    pub children: Vec<Child>,
    problems: Vec<String>,
}

impl<'a> Round<'a> {
    pub fn new(context: &'a Context, store: &'a mut Store, lock: Option<&'a File>, kind: RoundKind) -> Self {
        Self {
            context,
            store,
            lock,
            kind,
            now: Stamp::now(),
            clock: WallClock::Trusted,
            look_again: None,
            trouble: Trouble::None,
            lost_lock: false,
            refusal: None,
            children: Vec::new(),
            problems: Vec::new(),
        }
    }

    pub const fn is_light(&self) -> bool {
        matches!(self.kind, RoundKind::Light)
    }

    pub const fn is_plan(&self) -> bool {
        self.plan().is_some()
    }

    /// What a dry run has noted so far. A round that acts has none.
    pub const fn plan(&self) -> Option<&Plan> {
        if let RoundKind::DryRun(plan) = &self.kind { Some(plan) } else { None }
    }

    pub const fn plan_mut(&mut self) -> Option<&mut Plan> {
        if let RoundKind::DryRun(plan) = &mut self.kind { Some(plan) } else { None }
    }

    /// The moment for what was to happen at a time: that of the clock, or what it should be.
    pub fn right_now(&self) -> Stamp {
        self.clock.doubt().map_or(self.now, |doubt| doubt.right)
    }

    /// One step; what it fails with is told.
    pub fn step(&mut self, name: &str, step: impl FnOnce(&mut Self) -> anyhow::Result<()>) {
        if let Err(error) = step(self) {
            self.lost_lock |= error.is::<LostLock>();
            let sentence = format!("{name}: {error:#}");
            match self.trouble {
                Trouble::NothingStarts if name == "claim" => self.nothing_starts(&sentence, &sentence),
                _ => self.problem(sentence),
            }
        }
    }

    /// Told at the end of the round, or by a plan.
    pub fn problem(&mut self, sentence: String) {
        self.trouble = self.trouble.max(Trouble::Told);
        self.also(vec![sentence]);
    }

    /// Told as well, which is no reason to put the next round off.
    pub fn also(&mut self, mut sentences: Vec<String>) {
        let site = &self.context.site;
        let step = |sentence: String| PlanStep::Problem { text: site.with_whole_command(&sentence) };
        match &mut self.kind {
            RoundKind::DryRun(plan) => plan.steps.extend(sentences.into_iter().map(step)),
            _ => self.problems.append(&mut sentences),
        }
    }

    /// Notes a step, if this is a plan.
    pub fn note(&mut self, step: impl FnOnce() -> PlanStep) {
        if let Some(plan) = self.plan_mut() {
            plan.steps.push(step());
        }
    }

    /// The machine refuses, for this reason, which is told unless it was told last.
    pub fn nothing_starts(&mut self, why: &str, sentence: &str) {
        self.trouble = Trouble::NothingStarts;
        if self.refusal.as_deref() != Some(why) {
            self.refusal = Some(why.to_owned());
            self.also(vec![sentence.to_owned()]);
        }
    }

    /// For `status`. What was told by an earlier round of this tick stays as it is.
    fn note_refused(&self) {
        let stops = self.trouble == Trouble::NothingStarts;
        if stops && self.problems.is_empty() || self.lock.is_none() {
            return;
        }
        let why = self.problems.join("; ");
        if let Err(error) = self.context.site.note_refused(stops.then_some(&*why)) {
            tracing::debug!(%error, "cannot note for status that nothing can be started");
        }
    }

    /// On stderr, so that cron mails it. What has stopped the steps comes first.
    pub fn tell(&mut self) {
        if self.trouble != Trouble::None
            && let Some(sentence) = self.context.site.queue_refusal(&self.context.config)
        {
            self.trouble = Trouble::NothingStarts;
            self.problems.insert(0, sentence);
        }
        self.note_refused();
        for problem in self.problems.drain(..) {
            logging::diagnostic_line(self.context.site.with_whole_command(&problem));
        }
    }
}

/// What one step of a round may take in all; the next full round goes on.
const STEP: Duration = Duration::from_secs(5);

/// The moment, in time since boot, by which a step that begins now leaves the rest to the next round.
pub fn step_end() -> Duration {
    since_boot() + STEP
}
