//! What is known of the host, read for one job: only as much as can matter to it. And the job with those that have to end
//! before it starts: the files that it is made from.

use std::time::Duration;

use super::health::breaker_of;
use crate::{
    context::Context,
    model::{
        answer::Delay,
        breaker::Breaker,
        clock::Stamp,
        estimate::{Group, Lane, Pace, Rhythm, Running, Scene, Subject, Ticks, Waiting},
        job::Job,
        status::Status,
    },
    site::free_memory,
    store::{Mode, Started, View},
};

/// How many past runs of an exporter are looked at.
const SAMPLE: u32 = 32;
/// Of so many exporters.
const EXPORTERS: usize = 8;
/// So many other queues with jobs in them are looked at.
const QUEUES: usize = 8;
/// Jobs before another are counted so far; how many more there are, the queue's own count tells roughly.
const COUNTED: u32 = 1000;
/// No list of past runs.
const UNKNOWN: usize = usize::MAX;

/// The position that means "more than a thousand".
const MORE: u32 = 1001;

/// One job of a chain.
pub struct Link {
    pub job: Job,
    /// How many jobs of which exporters are before it in its queue, counted to a thousand.
    pub before: Vec<(String, u32)>,
}

impl Link {
    /// How many are before it.
    pub fn count(&self) -> u32 {
        self.before.iter().map(|(_, count)| count).sum()
    }
}

/// The job, then what it waits for, then what that waits for.
pub fn chain(context: &Context, view: &View, job: &Job) -> anyhow::Result<Vec<Link>> {
    let mut links = Vec::new();
    let mut next = Some(job.clone());
    while let Some(job) = next {
        let before = if job.status == Status::Queued { view.before(&job)? } else { Vec::new() };
        next = source_of(context, view, &job)?;
        links.push(Link { job, before });
    }
    Ok(links)
}

/// The job that makes the file which this one waits for: of the exporter that the configuration says, which has no
/// circles. Rows may wait for each other in one.
fn source_of(context: &Context, view: &View, job: &Job) -> anyhow::Result<Option<Job>> {
    let configured = context.config.exporters.get(&job.exporter).and_then(|exporter| exporter.source.as_ref());
    let source = job.source.as_ref().filter(|_| job.waits_for_source);
    let source = source.map(|source| view.job(source)).transpose()?.flatten();
    Ok(source.filter(|source| !source.status.is_failed() && Some(&source.exporter) == configured))
}

/// A job that waits for its source stands behind it, and behind whatever its own queue has before it.
pub fn position(links: &[Link]) -> u32 {
    let [link, rest @ ..] = links else { return 1 };
    let own = link.count() + 1;
    let Some(source) = rest.first().map(|source| &source.job).filter(|source| source.status == Status::Queued) else {
        return own.min(MORE);
    };
    let before = position(rest);
    let both = if source.queue == link.job.queue { own.max(before + 1) } else { own + before };
    both.min(MORE)
}

/// The host as it is read step by step.
pub struct Setting<'a> {
    pub context: &'a Context,
    pub view: &'a View<'a>,
    pub now: Stamp,
    /// The last round, and when ticks come.
    pub ticks: Option<(Stamp, Ticks)>,
    pub running: Vec<Started>,
    pub is_memory_low: bool,
    pub paces: Vec<Pace>,
    /// Whose they are.
    exporters: Vec<String>,
    lanes: Vec<Lane>,
    /// Their names.
    queues: Vec<String>,
}

impl<'a> Setting<'a> {
    pub fn new(context: &'a Context, view: &'a View<'a>, now: Stamp) -> anyhow::Result<Self> {
        let last = view.last_tick()?.map(|last| last.at);
        let floor = context.config.host.min_free_memory;
        Ok(Self {
            context,
            view,
            now,
            ticks: last.zip(view.ticks()?),
            running: view.running()?,
            is_memory_low: floor > 0 && free_memory().is_some_and(|free| free < floor),
            paces: Vec::new(),
            exporters: Vec::new(),
            lanes: Vec::new(),
            queues: Vec::new(),
        })
    }

    /// Every seat of the host is taken while the queue has one.
    pub fn full_host(&self, links: &[Link]) -> Option<Delay> {
        let last = links.last().filter(|last| last.job.status == Status::Queued)?;
        let busy = self.running.iter().filter(|running| running.queue == last.job.queue).count();
        let is_full = self.running.len() >= self.context.config.host.max_running as usize;
        (is_full && busy < self.seats(&last.job.queue) as usize).then_some(Delay::HostFull)
    }

    /// The place of an exporter's past runs in the list of all of them.
    pub fn pace(&mut self, exporter: &str) -> anyhow::Result<usize> {
        if let Some(place) = self.exporters.iter().position(|known| known == exporter) {
            return Ok(place);
        }
        if self.exporters.len() == EXPORTERS || !self.context.config.exporters.contains_key(exporter) {
            return Ok(UNKNOWN);
        }
        self.exporters.push(exporter.to_owned());
        self.paces.push(Pace::new(self.view.ok_durations(exporter, SAMPLE)?));
        Ok(self.paces.len() - 1)
    }

    /// The job with all that comes before it. `None`: too much of it is not known.
    pub fn subject(&mut self, links: &[Link]) -> anyhow::Result<Option<Subject>> {
        let [link, rest @ ..] = links else { return Ok(None) };
        let job = &link.job;
        let pace = self.pace(&job.exporter)?;
        if self.paces.get(pace).is_none_or(Pace::is_empty) {
            return Ok(None);
        }
        if let (Status::Started, Some(started)) = (job.status, job.started) {
            let elapsed = self.now.since(started);
            return Ok(Some(Subject::Running(Running { pace, elapsed, percent: job.percent })));
        }
        let ready = job.run_after.since(self.now);
        let lane = self.lane(&job.queue);
        let source = if rest.is_empty() { self.later(job, lane, ready)? } else { self.subject(rest)? };
        if source.is_none() && !rest.is_empty() {
            return Ok(None);
        }
        let Some(before) = self.before(link)? else { return Ok(None) };
        Ok(Some(Subject::Waiting(Waiting { lane, pace, before, ready, source: source.map(Box::new) })))
    }

    /// What starts later has its source made then, if it is not there.
    fn later(&mut self, job: &Job, lane: usize, ready: Duration) -> anyhow::Result<Option<Subject>> {
        let exporter = self.context.config.exporters.get(&job.exporter).and_then(|exporter| exporter.source.clone());
        let (Some(source), Some(exporter)) = (job.source.as_ref().filter(|_| !ready.is_zero()), exporter) else {
            return Ok(None);
        };
        if self.context.cache.look(source)?.is_some() {
            return Ok(None);
        }
        let pace = self.pace(&exporter)?;
        Ok(Some(Subject::Waiting(Waiting { lane, pace, before: Vec::new(), ready, source: None })))
    }

    fn seats(&self, queue: &str) -> u32 {
        self.context.config.queues.get(queue).map_or(0, |rules| rules.max_running)
    }

    /// The place of a queue in the list. What runs in it is filled in when the scene is whole.
    fn lane(&mut self, queue: &str) -> usize {
        if let Some(place) = self.queues.iter().position(|known| known == queue) {
            return place;
        }
        self.queues.push(queue.to_owned());
        self.lanes.push(Lane { seats: self.seats(queue), ..Lane::default() });
        self.lanes.len() - 1
    }

    /// Those before a job that will be started before it. Beyond what is counted the queue's own count helps, unless it
    /// says next to nothing.
    fn before(&mut self, link: &Link) -> anyhow::Result<Option<Vec<Group>>> {
        let mut groups = self.groups(&link.before)?;
        if link.count() >= COUNTED {
            let all = u32::try_from(self.view.queue(&link.job.queue)?.due()).unwrap_or(u32::MAX);
            if all > COUNTED * 4 {
                return Ok(None);
            }
            // Anything between both is possible: this is within a factor of two of all of it.
            let middle = (u64::from(all.max(COUNTED)) * u64::from(COUNTED)).isqrt();
            let more = |count: u32| u32::try_from(u64::from(count) * middle / u64::from(COUNTED)).unwrap_or(count);
            for group in &mut groups {
                group.count = more(group.count);
            }
        }
        Ok(Some(groups))
    }

    /// Without those of exporters that are held back: a claim passes them over.
    fn groups(&mut self, counts: &[(String, u32)]) -> anyhow::Result<Vec<Group>> {
        let mut groups = Vec::new();
        for (exporter, count) in counts {
            let Some(configured) = self.context.config.exporters.get(exporter) else { continue };
            if self.context.config.broken().contains_key(exporter) {
                continue;
            }
            let is_known = self.exporters.contains(exporter);
            let pace = self.pace(exporter)?;
            if pace == UNKNOWN || is_known || breaker_of(self.view, configured, self.now)? == Breaker::Closed {
                groups.push(Group { pace, count: *count });
            }
        }
        Ok(groups)
    }

    /// The whole of it, after the subject.
    pub fn scene(&mut self) -> anyhow::Result<Scene> {
        let rhythm = self.ticks.as_ref().and_then(|(_, ticks)| Rhythm::of(ticks, self.now));
        self.others()?;
        let host = if self.is_memory_low { 1 } else { self.context.config.host.max_running };
        for running in std::mem::take(&mut self.running) {
            let (lane, pace) = (self.lane(&running.queue), self.pace(&running.exporter)?);
            let elapsed = self.now.since(running.at);
            self.lanes[lane].running.push(Running { pace, elapsed, percent: running.percent });
            self.running.push(running);
        }
        Ok(Scene { host, rhythm, lanes: std::mem::take(&mut self.lanes), paces: std::mem::take(&mut self.paces) })
    }

    /// Where the host has fewer seats than its queues, these take turns.
    fn others(&mut self) -> anyhow::Result<()> {
        let rules = &self.context.config.queues;
        let seats: u64 = rules.values().map(|rules| u64::from(rules.max_running)).sum();
        if seats <= u64::from(self.context.config.host.max_running) {
            return Ok(());
        }
        let mut seen = 0;
        for name in rules.keys() {
            let state = self.view.queue(name)?;
            let lane = self.lane(name);
            self.lanes[lane].served = state.served.0;
            if state.mode == Mode::Open && state.due() > 0 && seen < QUEUES {
                seen += 1;
                let waiting = self.view.waiting(name)?;
                self.lanes[lane].waiting = self.groups(&waiting)?;
            }
        }
        Ok(())
    }
}
