//! How many jobs may start now, in which queues and of which exporters, and what holds the rest back.

use std::{collections::BTreeMap, time::Duration};

use super::Round;
use crate::{
    commands::{
        request::{breaker_of, disk_is_low},
        world::World,
    },
    config::Config,
    model::{breaker::Breaker, clock::Stamp, job::Job},
    store::{Mode, View},
};

/// How often a lingering tick looks whether memory, disk or a breaker let jobs start again.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// The free seats of one round. Running is counted from rows, after reaping: no counter can leak.
#[derive(Debug, Default)]
pub struct Seats {
    by_queue: BTreeMap<String, u32>,
    /// Over all queues.
    host: u32,
    /// Exporters of which none is started.
    pub held_back: Vec<String>,
    /// Exporters of which one is started at a time.
    on_trial: Vec<String>,
    /// One sentence each, for the dry run and the log.
    pub reasons: Vec<String>,
    /// After this time something that rings no bell may have changed: memory, disk, a breaker.
    pub look_again: Option<Duration>,
}

impl Seats {
    pub fn count(round: &Round) -> anyhow::Result<Self> {
        Self::count_without(round, &[])
    }

    /// As if these started jobs had been reaped; for the dry run, which cannot reap them.
    pub fn count_without(round: &Round, dead: &[Job]) -> anyhow::Result<Self> {
        Self::of(round.world, &round.store.view(), round.now, dead)
    }

    /// The same outside a round, for who only looks.
    pub fn of(world: &World, view: &View, now: Stamp, dead: &[Job]) -> anyhow::Result<Self> {
        let config = &world.config;
        let running = less(view.running_by_queue()?, dead.iter().map(|job| &job.queue));
        let total = running.values().sum();
        let mut seats = Self { host: config.host.max_running.saturating_sub(total), ..Self::default() };
        seats.hold_for_machine(world, total);
        seats.fill_queues(config, view, &running)?;
        seats.hold_broken(config, view, now, dead)?;
        Ok(seats)
    }

    fn hold_for_machine(&mut self, world: &World, running: u32) {
        let config = &world.config;
        if self.host == 0 {
            self.reasons.push(format!("host: {running} of {} are running", config.host.max_running));
        }
        if free_memory().is_some_and(|free| free < config.host.min_free_memory) {
            self.host = self.host.min(u32::from(running == 0)); // one run is always allowed
            self.hold("host: less memory is free than min_free_memory".to_owned());
        }
        if disk_is_low(world) {
            self.host = 0;
            self.hold("cache: less disk space is free than min_free".to_owned());
        }
    }

    /// For a reason that passes without a ring.
    fn hold(&mut self, reason: String) {
        self.reasons.push(reason);
        self.look_again = Some(LOOK_AGAIN);
    }

    fn fill_queues(&mut self, config: &Config, view: &View, running: &BTreeMap<String, u32>) -> anyhow::Result<()> {
        for (name, rules) in &config.queues {
            let busy = running.get(name).copied().unwrap_or(0);
            let state = view.queue(name)?;
            if state.mode != Mode::Open {
                self.reasons.push(format!("queue {name}: {}", state.mode.name()));
            } else if busy >= rules.max_running {
                self.reasons.push(format!("queue {name}: {busy} of {} are running", rules.max_running));
            } else {
                self.by_queue.insert(name.clone(), rules.max_running - busy);
            }
        }
        Ok(())
    }

    fn hold_broken(&mut self, config: &Config, view: &View, now: Stamp, dead: &[Job]) -> anyhow::Result<()> {
        for name in unknown(config, view)? {
            self.reasons.push(format!("exporter {name} is not in the configuration; its jobs are held"));
            self.held_back.push(name);
        }
        for (name, why) in config.broken() {
            self.reasons.push(format!("exporter {name}: {why}; its jobs wait until the configuration is corrected"));
            self.held_back.push(name.clone());
        }
        let running = less(view.running_by_exporter()?, dead.iter().map(|job| &job.exporter));
        for (name, exporter) in &config.exporters {
            match breaker_of(view, exporter, now)? {
                Breaker::Closed => {}
                Breaker::Open { until } => {
                    self.hold(format!("exporter {name}: its breaker is open until {}", until.rfc3339()));
                    self.held_back.push(name.clone());
                }
                Breaker::Trial if running.contains_key(name) => {
                    self.reasons.push(format!("exporter {name}: its breaker lets one run at a time"));
                    self.held_back.push(name.clone());
                }
                Breaker::Trial => self.on_trial.push(name.clone()),
            }
        }
        Ok(())
    }

    /// The queues with a free seat; none if the host has none.
    pub fn queues(&self) -> Vec<String> {
        if self.host == 0 { Vec::new() } else { self.by_queue.keys().cloned().collect() }
    }

    /// Whether nothing of this queue can start any more.
    pub fn is_full(&self, queue: &str) -> bool {
        self.host == 0 || !self.by_queue.contains_key(queue)
    }

    /// The job takes a seat.
    pub fn take(&mut self, job: &Job) {
        self.host = self.host.saturating_sub(1);
        if let Some(free) = self.by_queue.get_mut(&job.queue) {
            *free -= 1;
            if *free == 0 {
                self.by_queue.remove(&job.queue);
            }
        }
        if self.on_trial.contains(&job.exporter) {
            self.held_back.push(job.exporter.clone());
        }
    }
}

/// So many exporters without a configuration are named. Jobs of further ones are put aside as they are met.
const MOST_UNKNOWN: u32 = 1000;

/// Exporters that have queued jobs and are not in the configuration: their jobs are held.
pub fn unknown(config: &Config, view: &View) -> anyhow::Result<Vec<String>> {
    let configured = u32::try_from(config.exporters.len()).unwrap_or(u32::MAX);
    let mut names = view.queued_exporters(MOST_UNKNOWN.saturating_add(configured))?;
    names.retain(|name| !config.exporters.contains_key(name));
    Ok(names)
}

/// Counts by name, one less for each of `gone`; names with none left are left out.
fn less<'a>(counts: Vec<(String, u32)>, gone: impl Iterator<Item = &'a String>) -> BTreeMap<String, u32> {
    let mut left: BTreeMap<String, u32> = counts.into_iter().collect();
    for name in gone {
        left.entry(name.clone()).and_modify(|count| *count = count.saturating_sub(1));
    }
    left.retain(|_, count| *count > 0);
    left
}

/// Bytes that can be used without swapping, as the kernel estimates.
pub fn free_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().trim_end_matches(" kB").parse::<u64>().ok().map(|kib| kib * 1024)
}
