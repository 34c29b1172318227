//! A pending job and the jobs that have to end before it starts: the files that it is made from.

use crate::{
    context::Context,
    model::{job::Job, status::Status},
    store::View,
};

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
pub fn of(context: &Context, view: &View, job: &Job) -> anyhow::Result<Vec<Link>> {
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
