//! Eight processes at a time that queue jobs, as fast as they can.

use std::{
    path::Path,
    process::Command,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::{Duration, Instant},
};

use anyhow::Result;

use crate::{
    group::{Goal, Group, Line, Unit},
    peers::{Nq, Peer, Tsp},
    process::{bare, time},
    setup::Setup,
    site::{Site, word},
    stats::Sample,
};

const INVOKERS: usize = 8;

/// One way to queue a job that has the given name.
struct Crowd<'a> {
    name: String,
    command: Box<dyn Fn(&str) -> Command + Sync + 'a>,
    code: i32,
    rates: Vec<f64>,
    times: Vec<f64>,
    errors: usize,
}

impl<'a> Crowd<'a> {
    fn new(name: &str, code: i32, command: impl Fn(&str) -> Command + Sync + 'a) -> Self {
        let command = Box::new(command);
        Self { name: name.to_owned(), command, code, rates: Vec::new(), times: Vec::new(), errors: 0 }
    }

    fn press(&mut self, length: Duration, count: &AtomicUsize) {
        let begin = Instant::now();
        let invoke = || self.invoke(begin, length, count);
        let found: Vec<(Vec<f64>, usize)> = thread::scope(|scope| {
            let threads: Vec<_> = (0..INVOKERS).map(|_| scope.spawn(invoke)).collect();
            threads.into_iter().map(|thread| thread.join().expect("an invoker")).collect()
        });
        let took = begin.elapsed().as_secs_f64();
        let before = self.times.len();
        for (times, errors) in found {
            self.times.extend(times);
            self.errors += errors;
        }
        let done = u32::try_from(self.times.len() - before).unwrap_or(u32::MAX);
        self.rates.push(f64::from(done) / took);
    }

    fn invoke(&self, begin: Instant, length: Duration, count: &AtomicUsize) -> (Vec<f64>, usize) {
        let (mut times, mut errors) = (Vec::new(), 0);
        while begin.elapsed() < length {
            let name = format!("c{}", count.fetch_add(1, Ordering::Relaxed));
            match time(&mut (self.command)(&name), &[self.code]) {
                Ok(time) => times.push(time),
                Err(_) => errors += 1,
            }
        }
        (times, errors)
    }
}

pub fn measure(setup: &Setup) -> Result<Vec<Group>> {
    let room = setup.room("crowd")?;
    let site = Site::new(setup, "c", 1, &[word(&setup.floor("one-byte")), "{output}"])?;
    let (tsp, nq, floor) = (Tsp::new(&room, 1).ok(), Nq::new(&room, "nq").ok(), room.join("floor.db"));
    let mut crowds = vec![
        Crowd::new("pressroom", 75, |name| site.request(name)),
        Crowd::new("rusqlite, one durable row", 0, |name| insert(setup, &floor, name)),
    ];
    crowds.extend(tsp.as_ref().map(|peer| Crowd::new("tsp", 0, |_| peer.add(&["true"]))));
    crowds.extend(nq.as_ref().map(|peer| Crowd::new("nq", 0, |_| peer.add(&["true"]))));
    let (slices, length) = (setup.pick(4, 2), Duration::from_millis(setup.pick(2500, 1000)));
    let count = AtomicUsize::new(0);
    for _ in 0..slices {
        for crowd in &mut crowds {
            crowd.press(length, &count);
        }
        nq.as_ref().map_or(Ok(()), Peer::settle)?; // its jobs are processes that would disturb the next
    }
    Ok(groups(&crowds))
}

fn insert(setup: &Setup, floor: &Path, name: &str) -> Command {
    let mut command = bare(&setup.insert);
    command.arg(floor).arg(name);
    command
}

fn groups(crowds: &[Crowd<'_>]) -> Vec<Group> {
    let samples = |of: fn(&Crowd<'_>) -> Option<Sample>| {
        crowds.iter().filter_map(|crowd| Some((crowd.name.clone(), of(crowd)?))).collect::<Vec<_>>()
    };
    let rates = samples(|crowd| Sample::new(crowd.rates.clone()));
    let slow = samples(|crowd| Some(Sample::one(Sample::new(crowd.times.clone())?.quantile(0.99))));
    let slowest = samples(|crowd| Some(Sample::one(Sample::new(crowd.times.clone())?.max())));
    let rate = ("rusqlite", Goal::AtLeast(1.3));
    let p99 = ("rusqlite", Goal::AtMost(0.25));
    [
        Group::among("crowd", "8 invokers: queued", Unit::PerSecond, rates, &[rate]),
        Group::among("crowd-p99", "8 invokers: p99", Unit::Milliseconds, slow, &[p99]),
        Group::among("crowd-max", "8 invokers: slowest", Unit::Milliseconds, slowest, &[]),
        errors(crowds),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn errors(crowds: &[Crowd<'_>]) -> Option<Group> {
    let count = |crowd: &Crowd<'_>| Sample::one(f64::from(u32::try_from(crowd.errors).unwrap_or(u32::MAX)));
    let (ours, others) = crowds.split_first()?;
    let mut group = Group::alone("", "8 invokers: errors", Unit::Count, count(ours), Some(Goal::Below(0.0)));
    group.lines.extend(others.iter().map(|other| Line { other: Some((other.name.clone(), count(other))), goal: None }));
    Some(group)
}
