//! One site, event by event. The estimating code sees of it what it would see of a database.

use std::{cmp::Reverse, collections::BinaryHeap, time::Duration};

use super::{
    super::{Group, Lane, Pace, Rhythm, Running, Scene, Subject, Ticks, Waiting, expected},
    lengths::Random,
    sites::Spec,
};
use crate::model::clock::Stamp;

/// As the page's script has them, in seconds.
const PAUSES: [u64; 8] = [2, 3, 4, 6, 9, 14, 20, 30];
const WATCHED_FOR: u64 = 30 * 60;
/// How many past runs are looked at, as `request` does.
const SAMPLE: usize = 32;
const RETRY: u64 = 30_000;

/// One look of one page.
pub struct PageLook {
    /// Seconds.
    pub said: Option<u64>,
    /// Milliseconds until the file was there.
    pub came: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    End(usize),
    Round,
    Arrival,
    Look(usize, usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Queued { ready: u64 },
    Started { at: u64, until: u64, fails: bool },
    Done { at: u64 },
}

struct Job {
    exporter: usize,
    arrived: u64,
    state: State,
    /// How its progress runs ahead of the time, or behind it.
    bend: f64,
}

struct World<'a> {
    spec: &'a Spec,
    random: Random,
    now: u64,
    events: BinaryHeap<Reverse<(u64, Event)>>,
    jobs: Vec<Job>,
    past: Vec<Vec<u64>>,
    served: Vec<i64>,
    looks: Vec<(usize, u64, Option<u64>)>,
}

/// Every look at every job, with what came.
pub fn run(spec: &Spec) -> Vec<PageLook> {
    let mut random = Random(spec.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let past = spec.exporters.iter().map(|exporter| (0..40).map(|_| exporter.lengths.draw(&mut random)).collect());
    let past = past.collect();
    let events = BinaryHeap::from([Reverse((0, Event::Round)), Reverse((7_000, Event::Arrival))]);
    let served = vec![0; spec.queues.len()];
    let mut world = World { spec, random, now: 0, events, jobs: Vec::new(), past, served, looks: Vec::new() };
    while let Some(Reverse((at, event))) = world.events.pop() {
        world.now = at;
        world.happen(event);
        if world.jobs.len() == spec.jobs && world.jobs.iter().all(|job| matches!(job.state, State::Done { .. })) {
            break;
        }
    }
    let end =
        |job: usize| if let State::Done { at } = world.jobs[job].state { at } else { unreachable!("all are done") };
    world.looks.iter().map(|&(job, at, said)| PageLook { said, came: end(job) - at }).collect()
}

impl World<'_> {
    fn happen(&mut self, event: Event) {
        match event {
            Event::Arrival => self.arrive(),
            Event::Round => {
                self.claim();
                self.at(self.spec.cron.0 * 1000, Event::Round);
            }
            Event::End(job) => self.end(job),
            Event::Look(job, turn) => self.look(job, turn),
        }
    }

    fn at(&mut self, after: u64, event: Event) {
        self.events.push(Reverse((self.now + after, event)));
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "some seconds")]
    fn arrive(&mut self) {
        let total: f64 = self.spec.exporters.iter().map(|exporter| exporter.weight).sum();
        let mut choice = self.random.part() * total;
        let exporter = self.spec.exporters.iter().position(|exporter| {
            choice -= exporter.weight;
            choice < 0.0
        });
        let bend = 0.9 + 0.2 * self.random.part();
        let state = State::Queued { ready: self.now };
        self.jobs.push(Job { exporter: exporter.unwrap_or(0), arrived: self.now, state, bend });
        self.ring();
        self.at(0, Event::Look(self.jobs.len() - 1, 0));
        if self.jobs.len() < self.spec.jobs {
            let gap = self.random.gap(self.spec.gap * 1000.0) as u64;
            self.at(gap, Event::Arrival);
        }
    }

    /// A tick that stays hears that there is something to do.
    fn ring(&mut self) {
        let (every, stays) = self.spec.cron;
        if self.now % (every * 1000) < stays * 1000 {
            self.claim();
        }
    }

    fn end(&mut self, job: usize) {
        let State::Started { at, fails, .. } = self.jobs[job].state else { return self.ring() };
        if fails {
            self.jobs[job].state = State::Queued { ready: self.now + RETRY };
            self.at(RETRY, Event::End(job)); // which only rings then
        } else {
            self.jobs[job].state = State::Done { at: self.now };
            self.past[self.jobs[job].exporter].push(self.now - at);
        }
        self.ring();
    }

    fn queue(&self, job: usize) -> usize {
        self.spec.exporters[self.jobs[job].exporter].queue
    }

    fn started(&self, queue: Option<usize>) -> impl Iterator<Item = (usize, u64, u64)> + '_ {
        (0..self.jobs.len()).filter_map(move |job| match self.jobs[job].state {
            State::Started { at, until, .. } if queue.is_none_or(|queue| queue == self.queue(job)) => {
                Some((job, at, until))
            }
            _ => None,
        })
    }

    /// Those of a queue that could start, the first to start first.
    fn ready(&self, queue: usize) -> Vec<usize> {
        let ready = |job: &usize| match self.jobs[*job].state {
            State::Queued { ready } if ready <= self.now && self.queue(*job) == queue => Some((ready, *job)),
            _ => None,
        };
        let mut found: Vec<_> = (0..self.jobs.len()).filter_map(|job| ready(&job)).collect();
        found.sort_unstable();
        found.into_iter().map(|(_, job)| job).collect()
    }

    fn claim(&mut self) {
        loop {
            let is_full = |queue: usize| self.started(Some(queue)).count() >= self.spec.queues[queue] as usize;
            if self.started(None).count() >= self.spec.host as usize {
                return;
            }
            let open = (0..self.spec.queues.len()).filter(|&queue| !is_full(queue) && !self.ready(queue).is_empty());
            let Some(queue) = open.min_by_key(|&queue| (self.served[queue], queue)) else { return };
            self.served[queue] = self.served.iter().max().unwrap_or(&0) + 1;
            self.start(self.ready(queue)[0]);
        }
    }

    fn start(&mut self, job: usize) {
        let exporter = &self.spec.exporters[self.jobs[job].exporter];
        let length = exporter.lengths.draw(&mut self.random);
        let fails = self.random.part() * 100.0 < f64::from(exporter.fails);
        self.jobs[job].state = State::Started { at: self.now, until: self.now + length, fails };
        self.at(length, Event::End(job));
    }

    fn look(&mut self, job: usize, turn: usize) {
        if matches!(self.jobs[job].state, State::Done { .. }) || self.now - self.jobs[job].arrived > WATCHED_FOR * 1000
        {
            return;
        }
        let said = expected(&self.scene(), &self.subject(job));
        self.looks.push((job, self.now, said.map(|said| said.as_secs())));
        self.at(PAUSES[turn.min(PAUSES.len() - 1)] * 1000, Event::Look(job, turn + 1));
    }

    fn scene(&self) -> Scene {
        let (every, stays) = self.spec.cron;
        let begun = self.now / (every * 1000) * every;
        let stamp = |seconds: u64| Stamp(i64::try_from(seconds * 1000).unwrap());
        let ticks = Ticks { begun: stamp(begun), until: stamp(begun + stays), every: Duration::from_secs(every) };
        let rhythm = Rhythm::of(&ticks, Stamp(i64::try_from(self.now).unwrap()));
        let pace =
            |past: &Vec<u64>| Pace::new(past.iter().rev().take(SAMPLE).map(|ms| Duration::from_millis(*ms)).collect());
        let lane = |queue: usize| Lane {
            seats: self.spec.queues[queue],
            running: self.started(Some(queue)).map(|(job, at, until)| self.running(job, at, until)).collect(),
            waiting: self.groups(&self.ready(queue)),
            served: self.served[queue],
        };
        let lanes = (0..self.spec.queues.len()).map(lane).collect();
        Scene { host: self.spec.host, rhythm, lanes, paces: self.past.iter().map(pace).collect() }
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss,
        reason = "a percentage"
    )]
    fn running(&self, job: usize, at: u64, until: u64) -> Running {
        let part = (self.now - at) as f64 / (until - at).max(1) as f64;
        let exporter = self.jobs[job].exporter;
        let percent = (part.powf(self.jobs[job].bend) * 100.0) as u8;
        let percent = self.spec.exporters[exporter].tells_percent.then_some(percent.min(99));
        Running { pace: exporter, elapsed: Duration::from_millis(self.now - at), percent }
    }

    fn groups(&self, jobs: &[usize]) -> Vec<Group> {
        let count = |pace| jobs.iter().filter(|job| self.jobs[**job].exporter == pace).count();
        let group = |pace| Group { pace, count: u32::try_from(count(pace)).unwrap() };
        (0..self.spec.exporters.len()).map(group).filter(|group| group.count > 0).collect()
    }

    fn subject(&self, job: usize) -> Subject {
        match self.jobs[job].state {
            State::Started { at, until, .. } => Subject::Running(self.running(job, at, until)),
            State::Queued { ready } => {
                let (lane, pace) = (self.queue(job), self.jobs[job].exporter);
                let mut before = self.ready(lane);
                before.truncate(before.iter().position(|other| *other == job).unwrap_or(before.len()));
                let ready = Duration::from_millis(ready.saturating_sub(self.now));
                Subject::Waiting(Waiting { lane, pace, before: self.groups(&before), ready, source: None })
            }
            State::Done { .. } => unreachable!("nobody looks at it"),
        }
    }
}
