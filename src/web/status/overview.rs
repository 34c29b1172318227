//! The overview: everything that `pressroom status` shows, or its counts alone. It reloads itself until that is switched off.
//!
//! It does so by a header, which every browser knows. A `meta` element would count as a reload that cannot be switched off,
//! and what changes by itself must have a switch (WCAG 2.2.2).

use std::time::Duration;

use minijinja::{Value, context};
use serde_json::{Map, json};

use super::{
    StatusHandler, actions,
    chart::PlotSpan,
    html,
    jobs::{self, fact},
    plots,
    request::StatusRefusal,
};
use crate::{
    admin::{
        queues::Queue,
        status::{Finding, Level, Report, RunningJob, json as program, text},
    },
    model::{format, status::Status},
    store::{Action, Mode, View},
    web::response::Response,
};

/// The fields of the report that are counts or ages, without a job, a file or a client.
const COUNTS: [&str; 9] =
    ["state", "now", "queues", "running", "max_running", "last_tick", "last_tick_age", "last_hour", "failures"];

/// How many of the latest actions of administrators are shown.
const ACTIONS: u32 = 10;

pub(super) fn all(handler: &StatusHandler, view: &View) -> Result<Response, StatusRefusal> {
    let report = Report::gather(handler.context, view)?;
    if html::wants_json(handler.variables, Some(&handler.request)) {
        return Ok(in_json(&program::object(&report)));
    }
    let span = PlotSpan::named(handler.request.get("span")?.as_deref());
    let refresh = Refresh::of(handler, span)?;
    let values = context! {
        plots => plots::all(view, span, handler.now)?,
        spans => PlotSpan::ALL.map(|other| link(handler, other, span)).to_vec(),
        findings => report.findings.iter().map(finding).collect::<Value>(),
        running => report.running.iter().map(running).collect::<Value>(),
        slots => text::slots(&report),
        latest_actions => view.actions(ACTIONS)?.iter().map(action).collect::<Value>(),
        facts => text::facts(&report).iter().map(fact).collect::<Value>(),
        form => actions::form_fields(handler, view)?,
        ..common(&report, &refresh)
    };
    Ok(refresh.apply_to(html::page(handler, view, "Overview", "overview.html", values)?))
}

/// The link to the plots of another span.
fn link(handler: &StatusHandler, other: PlotSpan, current: PlotSpan) -> Value {
    let query = handler.request.link(&[("span", other.name()), ("notice", ""), ("notice_token", "")]);
    context! { text => other.title(), current => other == current, url => format!("?{query}") }
}

fn finding(finding: &Finding) -> Value {
    context! { level => finding.level.name(), text => html::line(&finding.text) }
}

fn action(action: &Action) -> Value {
    context! { at => format::time(action.at), who => html::line(&action.who), what => html::line(&action.what) }
}

fn running(running: &RunningJob) -> Value {
    let job = &running.job;
    context! { text => html::line(&text::run(running)), url => jobs::url(Some(job.id), &job.filename) }
}

/// For anonymous visitors: counts and ages, and nothing about a single job.
pub(super) fn counts(handler: &StatusHandler, view: &View) -> Result<Response, StatusRefusal> {
    let report = Report::at_a_glance(handler.context, view)?;
    if html::wants_json(handler.variables, Some(&handler.request)) {
        return Ok(in_json(&public(&report)));
    }
    let refresh = Refresh::of(handler, PlotSpan::Hour)?;
    let (failed, ended) = (report.failures().map(|(_, count)| count).sum::<u64>(), total(&report));
    let values = context! {
        slots => text::slots(&report),
        oldest => report.oldest.as_ref().map(|(_, since)| format::duration(report.now.since(*since))),
        last_tick => report.clock.quiet.map(format::duration),
        last_hour => format!("{failed} of {} failed", format::count(ended, "attempt")),
        cache => format::count(report.cache.files, "file"),
        ..common(&report, &refresh)
    };
    Ok(refresh.apply_to(html::page(handler, view, "Overview", "counts.html", values)?))
}

fn total(report: &Report) -> u64 {
    report.last_hour.iter().map(|(_, count)| count).sum()
}

fn common(report: &Report, refresh: &Refresh) -> Value {
    context! {
        state => report.worst().map_or("well", Level::name),
        queues => report.queues.iter().map(|queue| row(report, queue)).collect::<Value>(),
        refresh => refresh.values(),
    }
}

fn row(report: &Report, queue: &Queue) -> Value {
    context! {
        name => html::line(&queue.name),
        value => &*queue.name,
        mode => queue.state.mode.name(),
        queued => format!("{} of {}", queue.state.due(), queue.max_queued),
        started => format!("{} of {}", queue.running, queue.max_running),
        timed_out => report.failed_in(&queue.name, Status::FailedTimeout),
        failed => report.failed_in(&queue.name, Status::FailedUnknown),
        configured => queue.is_configured,
        actions => actions(queue.state.mode),
    }
}

/// The actions that the mode of a queue allows.
fn actions(mode: Mode) -> Vec<&'static str> {
    match mode {
        Mode::Open => vec!["pause", "drain"],
        Mode::Paused => vec!["resume", "drain"],
        Mode::Draining => vec!["resume", "pause"],
    }
}

fn in_json(object: &serde_json::Value) -> Response {
    Response::no_store(200).text("application/json", format!("{object}\n"))
}

/// The JSON of the report, reduced to counts and ages.
fn public(report: &Report) -> serde_json::Value {
    let all = program::object(report);
    let kept = COUNTS.iter().filter_map(|name| Some(((*name).to_owned(), all.get(*name)?.clone())));
    let mut object: Map<_, _> = kept.collect();
    let age = report.oldest.as_ref().map(|(_, since)| report.now.since(*since).as_secs_f64());
    object.insert("oldest_queued_age".into(), json!(age));
    object.insert("cache_files".into(), json!(report.cache.files));
    object.into()
}

/// Seconds after which the page reloads.
const RELOAD_AFTER: u64 = 30;

pub(super) struct Refresh {
    /// Where the page reloads from: without the notice, which is shown once. `None`: it does not reload.
    to: Option<String>,
    /// The link that switches it on or off.
    other: String,
}

impl Refresh {
    pub(super) fn of(handler: &StatusHandler, span: PlotSpan) -> Result<Self, StatusRefusal> {
        let stays = handler.request.get("refresh")?.is_some_and(|word| word == "off");
        let link = |refresh| {
            let pairs = [
                ("page", "overview"),
                ("span", span.name()),
                ("refresh", refresh),
                ("notice", ""),
                ("notice_token", ""),
            ];
            format!("?{}", handler.request.link(&pairs))
        };
        let other = link(if stays { "" } else { "off" });
        Ok(Self { to: (!stays).then(|| link("")), other })
    }

    pub(super) fn apply_to(&self, response: Response) -> Response {
        response.with_optional("Refresh", self.to.as_ref().map(|to| format!("{RELOAD_AFTER}; url={to}")))
    }

    pub(super) fn values(&self) -> Value {
        let often = format::duration(Duration::from_secs(RELOAD_AFTER));
        context! { on => self.to.is_some(), often, other => &*self.other }
    }
}
