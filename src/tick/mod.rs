//! `pressroom tick`: reap ▸ prune ▸ schedule ▸ claim ▸ launch ▸ report, under `tick.lock`.
//!
//! A dry run carries out the same round on a private copy of the database, and what it would do besides is only noted as
//! steps of a plan: what it prints is decided by the code that acts.
//!
//! The lock covers these steps and never an exporter's run. A step that fails for one job is reported and never stops
//! the others (invariant 10).

mod actions;
pub mod adopt;
mod claim;
pub mod clock;
mod dry;
mod emergency;
mod endings;
pub mod expire;
mod force;
mod history;
mod launch;
mod linger;
mod mend;
mod messenger;
mod move_queue;
mod notify;
mod plan;
pub mod prune;
mod reap;
mod report;
pub mod restored;
mod returned;
mod root;
mod sample;
mod schedule;
pub mod seats;
mod signals;
mod slices;
pub mod standstill;
mod sweep;

pub use self::root::refuse as refuse_root;

use std::{collections::BTreeMap, fmt, fs::File, path::PathBuf, process::Child, time::Duration};

use anyhow::Context as _;

use super::{
    cli::{Global, TickArgs},
    context::Context,
    exit::{Exit, Failure},
    logging,
    model::{
        clock::{Doubt, Stamp},
        failpoint,
    },
    site::{Site, machine_id},
    store::Store,
    supervise::hear_children,
    tick::{
        plan::{HoldReason, PlanStep},
        seats::Seats,
    },
};

/// One round, if no other tick is at work.
pub fn run(global: &Global, args: &TickArgs) -> Result<(), Failure> {
    hear_children()?;
    let context = Context::load(global)?;
    Site::open(&context.config).map_err(anyhow::Error::from)?;
    if args.dry_run {
        dry::run(&context, args.format)?;
        return unless_broken(&context);
    }
    root::refuse(&context, args.allow_root)?;
    if args.accept_clock {
        accept_clock(&context)?;
    }
    let signals = signals::StopSignals::hold()?;
    let mut force = force::InForce::of(context);
    let left = match args.linger {
        Some(time) => linger::stay(&mut force, time, signals)?,
        None => once(&force.context, signals)?,
    };
    if args.wait && launch::wait_for(left.children) {
        returned::tell(&force.context)?;
    }
    if left.cannot_start { Err(Failure::code(Exit::Io)) } else { unless_broken(&force.context) }
}

/// What is left of the rounds of a tick.
#[derive(Default)]
struct Left {
    /// Runs that have not ended yet.
    children: Vec<Child>,
    /// The machine has let nothing be started at last.
    cannot_start: bool,
}

/// For the next full round, of whichever tick.
fn accept_clock(context: &Context) -> Result<(), Failure> {
    let accepted = context.site.accept_clock(clock::here(Stamp::now()));
    Ok(accepted.with_context(|| format!("cannot write {}", context.site.accepted_clock().display()))?)
}

/// With no exporter that can be run the rounds have only cleaned up.
fn unless_broken(context: &Context) -> Result<(), Failure> {
    if context.config.is_wholly_broken() { Err(Failure::code(Exit::Config)) } else { Ok(()) }
}

/// A plain tick: if another one is at work, there is nothing to do.
fn once(context: &Context, signals: signals::StopSignals) -> Result<Left, Failure> {
    let lock = context.site.take_tick().with_context(|| format!("cannot lock {}", context.site.tick_lock().display()));
    let lock = lock.map_err(|error| context.instead(error.into(), None))?;
    let Some(lock) = lock else { return Ok(Left::default()) };
    let mut store = open_store(context, &lock)?;
    let mut round = Round::new(context, &mut store, Some(&lock));
    round.begins = Some(round.now);
    round.go();
    let left = Left { children: round.children, cannot_start: round.trouble == Trouble::NothingStarts };
    signals.let_go()?;
    Ok(left)
}

/// For who holds the tick's lock. On a disk without any space files that have expired make some first. What the
/// configuration holds back is told once, before the first round.
fn open_store(context: &Context, lock: &File) -> Result<Store, Failure> {
    let store = match context.open_store_for_tick() {
        Err(_) if emergency::is_full(context) && emergency::free(context, lock) => context.open_store_for_tick()?,
        opened => opened?,
    };
    let mut store = store;
    context.keep_activity(&mut store);
    store.expect_machine(&machine_id()).map_err(|error| Failure::new(Exit::Config, error))?;
    tell_broken(context);
    Ok(store)
}

fn tell_broken(context: &Context) {
    for (name, why) in context.config.broken() {
        logging::diagnostic_line(format!("exporter {name}: {why}; its jobs wait, run `pressroom check`"));
    }
}

/// The file of the lock is gone, or it is another one: a second tick can be at work.
#[derive(Debug)]
struct LostLock(PathBuf);

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
fn expect_lock(context: &Context, lock: Option<&File>) -> anyhow::Result<()> {
    match lock.filter(|lock| !context.site.is_tick_lock(lock)) {
        None => Ok(()),
        Some(_) => Err(LostLock(context.site.tick_lock()).into()),
    }
}

/// The worst that a round has met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Trouble {
    None,
    /// Something was told, which an immediate next round would only meet again.
    Told,
    /// The machine lets nothing be started.
    NothingStarts,
}

/// What a dry run has noted.
#[derive(Default)]
struct Plan {
    steps: Vec<PlanStep>,
    /// After the claims.
    seats: Option<Seats>,
    /// Jobs that had their turn and are not started, and why.
    aside: BTreeMap<i64, HoldReason>,
    /// Bytes of the cached files that would be removed.
    freed: u64,
}

/// One round: its moment, what it may touch, and what it has to say at its end.
pub struct Round<'a> {
    context: &'a Context,
    store: &'a mut Store,
    /// The tick's own lock; a dry run has none.
    lock: Option<&'a File>,
    now: Stamp,
    /// After a jump of the clock or a long silence nothing is expired in the first round (invariant 11).
    calm: bool,
    /// The clock cannot be believed: nothing is rewritten, nor removed for its age or its number.
    clock_doubt: Option<Doubt>,
    /// A clock that was behind until now has stamped between these moments of its own.
    misdated: Option<(Stamp, Stamp)>,
    /// A clock that was not believed is believed now: from this moment to the present one no time has passed.
    leapt_from: Option<Stamp>,
    /// A ring has caused it: only what starts jobs is done, the rest is left to the next full round.
    light: bool,
    /// It is the first one of its tick: until when that tick stays.
    begins: Option<Stamp>,
    /// Something holds jobs back that ends without a ring: look again then.
    look_again: Option<Duration>,
    problems: Vec<String>,
    trouble: Trouble,
    /// Another tick may be at work: nothing more is done.
    lost_lock: bool,
    /// Why nothing could be started, as it was told last: a lingering tick hands it on, since once is enough.
    refusal: Option<String>,
    children: Vec<Child>,
    /// What a dry run would do. A round that acts has none.
    plan: Option<Plan>,
}

impl<'a> Round<'a> {
    pub fn new(context: &'a Context, store: &'a mut Store, lock: Option<&'a File>) -> Self {
        Self {
            context,
            store,
            lock,
            now: Stamp::now(),
            calm: false,
            clock_doubt: None,
            misdated: None,
            leapt_from: None,
            light: false,
            begins: None,
            look_again: None,
            problems: Vec::new(),
            trouble: Trouble::None,
            lost_lock: false,
            refusal: None,
            children: Vec::new(),
            plan: None,
        }
    }

    /// Every step, whatever becomes of the ones before it.
    pub fn go(&mut self) {
        if let Err(error) = expect_lock(self.context, self.lock) {
            self.lost_lock = true;
            logging::diagnostic_line(error);
            return;
        }
        if !self.light {
            self.step("database", restored::look); // before the clock's look, which marks the round and may heal its stamps
        }
        self.decide();
        self.step("endings", endings::show);
        self.step("report", report::failures);
        self.step("report", report::successes);
        if !self.light {
            failpoint::at("tick-before-mark");
            self.step("actions", actions::log);
            self.step("sample", sample::take);
            self.step("mark", clock::mark);
            self.step("shrink", history::shrink);
            failpoint::at("tick-before-checkpoint");
            self.step("checkpoint", |round| Ok(round.store.checkpoint()?));
        }
        self.tell();
    }

    /// The moment for what was to happen at a time: that of the clock, or what it should be.
    fn right_now(&self) -> Stamp {
        self.clock_doubt.as_ref().map_or(self.now, |doubt| doubt.right)
    }

    /// Which jobs end, go and start. A dry run leaves out what decides about none.
    fn decide(&mut self) {
        self.step("clock", clock::look);
        failpoint::at("tick-before-reap");
        if !self.light && self.plan.is_none() {
            self.step("returned", returned::jobs);
        }
        self.step("reap", reap::all);
        self.step("mend", mend::all);
        if !self.light {
            self.step("prune", prune::files);
            self.step("expire", expire::rows);
            if self.plan.is_none() {
                self.step("sweep", sweep::all);
                self.step("history", history::trim); // last: what others have left takes more room than what it tells
            }
            self.step("rehome", move_queue::jobs);
        }
        schedule::due(self);
        self.step("wake", claim::wake);
        failpoint::at("tick-before-claim");
        self.step("claim", claim::fill_seats);
        self.step("mend", mend::met);
    }

    fn step(&mut self, name: &str, step: impl FnOnce(&mut Self) -> anyhow::Result<()>) {
        if let Err(error) = step(self) {
            self.lost_lock |= error.is::<LostLock>();
            let sentence = format!("{name}: {error:#}");
            match self.trouble {
                Trouble::NothingStarts if name == "claim" => self.nothing_starts(&sentence, &sentence),
                _ => self.problem(sentence),
            }
        }
    }

    fn problem(&mut self, sentence: String) {
        self.trouble = self.trouble.max(Trouble::Told);
        match &mut self.plan {
            Some(plan) => plan.steps.push(PlanStep::Problem { text: sentence }),
            None => self.problems.push(sentence),
        }
    }

    /// Told as well, which is no reason to put the next round off.
    fn also(&mut self, mut sentences: Vec<String>) {
        match &mut self.plan {
            Some(plan) => plan.steps.extend(sentences.into_iter().map(|text| PlanStep::Problem { text })),
            None => self.problems.append(&mut sentences),
        }
    }

    /// Notes a step, if this is a plan.
    fn note(&mut self, step: impl FnOnce() -> PlanStep) {
        if let Some(plan) = &mut self.plan {
            plan.steps.push(step());
        }
    }

    /// The machine refuses, for this reason, which is told unless it was told last.
    fn nothing_starts(&mut self, why: &str, sentence: &str) {
        self.trouble = Trouble::NothingStarts;
        if self.refusal.as_deref() != Some(why) {
            self.refusal = Some(why.to_owned());
            self.problems.push(sentence.to_owned());
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
    fn tell(&mut self) {
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
