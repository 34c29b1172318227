//! How many jobs may start now, in which queues and of which exporters, and what holds the rest back.

use std::{collections::BTreeMap, time::Duration};

use super::plan::HoldReason;
use crate::{
    config::Config,
    context::Context,
    model::{
        breaker::Breaker,
        clock::Stamp,
        job::{Claim, Job},
    },
    request::{breaker_of, disk_is_low_with},
    site,
    store::{Mode, View},
};

/// How often a lingering tick looks whether memory, disk or a breaker let jobs start again.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Low {
    Memory,
    Disk,
}

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
    /// What the machine is short of.
    low: Option<Low>,
    modes: BTreeMap<String, Mode>,
    breakers: BTreeMap<String, Breaker>,
    /// After this time something that rings no bell may have changed: memory, disk, a breaker.
    pub look_again: Option<Duration>,
}

impl Seats {
    /// Counts them. `freed`: bytes that the disk will have besides, when files have gone as planned.
    pub fn count(context: &Context, view: &View, now: Stamp, freed: u64) -> anyhow::Result<Self> {
        let config = &context.config;
        let running: BTreeMap<_, _> = view.running_by_queue()?.into_iter().collect();
        let total = running.values().sum();
        let mut seats = Self { host: config.host.max_running.saturating_sub(total), ..Self::default() };
        seats.hold_for_machine(context, total, freed);
        seats.fill_queues(config, view, &running)?;
        seats.hold_broken(config, view, now)?;
        Ok(seats)
    }

    fn hold_for_machine(&mut self, context: &Context, running: u32, freed: u64) {
        let config = &context.config;
        if self.host == 0 {
            self.reasons.push(format!("host: {running} of {} are running", config.host.max_running));
        }
        if site::free_memory().is_some_and(|free| free < config.host.min_free_memory) {
            self.host = self.host.min(u32::from(running == 0)); // one run is always allowed
            self.low = Some(Low::Memory);
            self.hold("host: less memory is free than min_free_memory".to_owned());
        }
        if disk_is_low_with(context, freed) {
            self.host = 0;
            self.low = Some(Low::Disk);
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
            self.modes.insert(name.clone(), state.mode);
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

    fn hold_broken(&mut self, config: &Config, view: &View, now: Stamp) -> anyhow::Result<()> {
        let unknown = unknown(config, view)?;
        for name in unknown.iter().take(MOST_NAMED) {
            self.reasons.push(format!("exporter {name} is not in the configuration; its jobs are held"));
        }
        if unknown.len() > MOST_NAMED {
            self.reasons.push("more exporters are not in the configuration; their jobs are held".to_owned());
        }
        self.held_back.extend(unknown);
        for (name, why) in config.broken() {
            self.reasons.push(format!("exporter {name}: {why}; its jobs wait until the configuration is corrected"));
            self.held_back.push(name.clone());
        }
        let running: BTreeMap<_, _> = view.running_by_exporter()?.into_iter().collect();
        for (name, exporter) in &config.exporters {
            let breaker = breaker_of(view, exporter, now)?;
            self.breakers.insert(name.clone(), breaker);
            match breaker {
                Breaker::Closed => {}
                Breaker::Open { until } => {
                    self.hold(format!("exporter {name}: paused after repeated failures until {}", until.rfc3339()));
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

    /// Why this queued job, whose time has come, is not started by what the seats are now. `None`: it could be.
    pub fn why_not(&self, config: &Config, job: &Job) -> Option<HoldReason> {
        let Some(rules) = config.queues.get(&job.queue) else {
            return Some(HoldReason::new(
                "queue_unknown",
                format!("its queue {} is not in the configuration", job.queue),
            ));
        };
        match self.modes.get(&job.queue) {
            Some(Mode::Paused) => return Some(HoldReason::new("paused", format!("queue {} is paused", job.queue))),
            Some(Mode::Draining) => {
                return Some(HoldReason::new("draining", format!("queue {} is draining", job.queue)));
            }
            Some(Mode::Open) | None => {}
        }
        self.why_not_exporter(job).or_else(|| self.why_not_host(config)).or_else(|| {
            let most = rules.max_running;
            let full =
                || HoldReason::new("queue_full", format!("no seat is free in queue {}, which has {most}", job.queue));
            (!self.by_queue.contains_key(&job.queue)).then(full)
        })
    }

    /// The same, as far as it is its exporter's matter.
    pub fn why_not_exporter(&self, job: &Job) -> Option<HoldReason> {
        let name = &job.exporter;
        match self.breakers.get(name)? {
            Breaker::Open { until } => Some(HoldReason::until(
                "breaker",
                &format!("exporter {name} is paused after repeated failures until"),
                *until,
            )),
            Breaker::Trial if self.held_back.contains(name) => {
                Some(HoldReason::new("breaker", format!("the breaker of exporter {name} lets one run at a time")))
            }
            Breaker::Trial | Breaker::Closed => None,
        }
    }

    fn why_not_host(&self, config: &Config) -> Option<HoldReason> {
        if self.host > 0 {
            return None;
        }
        let most = config.host.max_running;
        Some(match self.low {
            Some(Low::Disk) => HoldReason::new("disk", "less disk space is free than min_free"),
            Some(Low::Memory) => HoldReason::new("memory", "less memory is free than min_free_memory"),
            None => HoldReason::new("host_full", format!("no seat is free on the host, which has {most}")),
        })
    }

    /// The claimed job takes a seat.
    pub fn take(&mut self, job: &Claim) {
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

/// So many exporters without a configuration are told of.
const MOST_NAMED: usize = 10;
/// So many are held by name. Jobs of further ones are put aside as they are met.
const MOST_UNKNOWN: u32 = 1000;

/// Exporters that have queued jobs and are not in the configuration: their jobs are held.
pub fn unknown(config: &Config, view: &View) -> anyhow::Result<Vec<String>> {
    let configured = u32::try_from(config.exporters.len()).unwrap_or(u32::MAX);
    let mut names = view.queued_exporters(MOST_UNKNOWN.saturating_add(configured))?;
    names.retain(|name| !config.exporters.contains_key(name));
    Ok(names)
}
