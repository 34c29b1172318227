//! Everything at once and at random: requests, cancels, retries, invalidations, pauses, ticks, handovers, kills and a
//! clock that is moved, on a site with every kind of exporter; an oracle judges after each burst and when all is quiet.
//!
//! For so many seconds as `PRESSROOM_RANDOM` says, else a short while; `PRESSROOM_SEED` repeats the choices of an earlier
//! time, though not its moments.

mod acts;
mod model;
mod oracle;
mod records;
mod world;

use std::{
    collections::VecDeque,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use super::{
    random::{
        model::Model,
        records::Records,
        world::{Wanted, World},
    },
    support::dice::{Dice, number},
};

/// Operations that are told of when something is wrong.
const TOLD: usize = 150;

/// Between two judgements.
const BURST: Duration = Duration::from_secs(3);

/// After so many bursts everything is left to come to its end.
const BURSTS: u64 = 4;

struct Random {
    world: World,
    seed: u64,
    model: Mutex<Model>,
    records: Mutex<Records>,
    over: AtomicBool,
    operations: AtomicUsize,
    ticks: AtomicUsize,
    kills: AtomicUsize,
    last: Mutex<VecDeque<String>>,
    /// What was answered as queued or started of late, the newest of the started ones first.
    asked: Mutex<Vec<Wanted>>,
    history_read: Mutex<Instant>,
    began: Instant,
}

/// Says what came before a violation.
impl Drop for Random {
    fn drop(&mut self) {
        if thread::panicking() {
            let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
            eprintln!("PRESSROOM_SEED={}; the last operations:", self.seed);
            last.iter().for_each(|line| eprintln!("  {line}"));
        }
    }
}

impl Random {
    fn new(seed: u64) -> Self {
        let counter = AtomicUsize::default;
        let now = Instant::now();
        Self {
            world: World::new(),
            seed,
            model: Mutex::default(),
            records: Mutex::default(),
            over: AtomicBool::new(false),
            operations: counter(),
            ticks: counter(),
            kills: counter(),
            last: Mutex::default(),
            asked: Mutex::default(),
            history_read: Mutex::new(now),
            began: now,
        }
    }

    fn goes_on(&self) -> bool {
        !self.over.load(Ordering::Relaxed)
    }

    fn model(&self) -> MutexGuard<'_, Model> {
        self.model.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the exporters have noted until now.
    fn records(&self) -> MutexGuard<'_, Records> {
        let mut records = self.records.lock().unwrap_or_else(PoisonError::into_inner);
        records.read_on(&self.world);
        records
    }

    fn since_history(&self) -> Duration {
        let mut read = self.history_read.lock().expect("a time");
        std::mem::replace(&mut *read, Instant::now()).elapsed()
    }

    fn log(&self, line: &str) {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        last.push_back(format!("{:8.3} {line}", self.began.elapsed().as_secs_f64()));
        if last.len() > TOLD {
            last.pop_front();
        }
    }

    /// All do what they like for a while.
    fn burst(&self, seed: u64) {
        self.over.store(false, Ordering::Relaxed);
        thread::scope(|scope| {
            for number in 0..3 {
                scope.spawn(move || self.visit(Dice(seed + number)));
            }
            scope.spawn(|| self.administrate(Dice(seed + 3)));
            scope.spawn(|| self.kill(Dice(seed + 4)));
            scope.spawn(|| self.tick(Dice(seed + 5), true));
            scope.spawn(|| self.tick(Dice(seed + 6), true));
            scope.spawn(|| self.tick(Dice(seed + 7), false));
            scope.spawn(|| self.watch());
            thread::sleep(BURST);
            self.over.store(true, Ordering::Relaxed);
        });
    }
}

#[test]
fn whatever_comes_at_once_no_promise_is_broken_and_all_comes_to_its_end() {
    let time = Duration::from_secs(number("PRESSROOM_RANDOM").unwrap_or(15));
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |time| time.as_secs());
    let seed = number("PRESSROOM_SEED").unwrap_or_else(now);
    eprintln!("PRESSROOM_RANDOM={} PRESSROOM_SEED={seed}", time.as_secs());
    let random = Random::new(seed);
    let mut dice = Dice(seed);
    let end = Instant::now() + time;
    while Instant::now() < end {
        for _ in 0..BURSTS {
            random.burst(dice.roll(1 << 30));
            random.judge();
        }
        let asked: Vec<_> = (0..12).map(|_| Wanted::choose(&mut dice)).collect();
        random.settle(&asked);
        eprintln!("seed {seed}, {} s: {}", random.began.elapsed().as_secs(), random.figures());
    }
}
