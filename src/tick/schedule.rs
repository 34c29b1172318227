//! Schedules: what is due is queued once, whoever ticks. A missed run is made up once, not many times, and one that
//! finds its job queued or started is dropped.

use std::time::Duration;

use anyhow::anyhow;

use super::{
    plan::{Due, Moment, PlanStep},
    round::Round,
};
use crate::{
    config::Schedule,
    context::Context,
    model::{clock::Stamp, job::Job, status::Status},
    request::{Ask, AskError, Look},
    site::ActivityEvent,
    store::{QueueStep, ScheduleRun, ScheduleState, View},
};

/// Queues every schedule that is due. One that cannot be queued is reported and does not stop the rest.
pub fn due(round: &mut Round) {
    for schedule in round.context.config.sound_schedules() {
        if let Err(error) = one(round, schedule) {
            round.problem(format!("schedule {}: {error:#}", schedule.name));
        }
    }
}

/// When a schedule is due next: at once if it never was. No further ahead than its interval, which may have been
/// shortened, or the clock set back.
pub fn next(view: &View, schedule: &Schedule, now: Stamp) -> anyhow::Result<Stamp> {
    Ok(view.schedule(&schedule.name)?.map_or(now, |state| state.next.min(now.plus(schedule.every))))
}

fn one(round: &mut Round, schedule: &Schedule) -> anyhow::Result<()> {
    let (context, now) = (round.context, round.right_now());
    let at = next(&round.store.view(), schedule, now)?;
    if at > now {
        noted(round, schedule, Due::Next { at: Moment(at) });
        return bring_near(round, schedule);
    }
    let ask = ask(context, schedule)?;
    let mut due = Due::Next { at: Moment(at) };
    let queued = round.store.run_schedule(&schedule.name, now, |view| {
        let next = next(view, schedule, now)?;
        if next > now {
            due = Due::Next { at: Moment(next) };
            return Ok(None);
        }
        let state = ScheduleState { last: now, next: after(next, schedule.every, now) };
        let steps = steps(Look { context, view, now }, &ask)?.map_err(|left_out| due = left_out).ok();
        let reason = if steps.is_some() { None } else { why_left_out(&due) };
        let what = if steps.is_some() { "schedule_due" } else { "schedule_skipped" };
        let event = ActivityEvent::new(what, now).with("reason", reason);
        let event = event.with("schedule", &*schedule.name).with("filename", &*ask.filename);
        Ok(Some(ScheduleRun { steps, state, event }))
    })?;
    noted(round, schedule, queued.map_or(due, |job| Due::Queued((&job).into())));
    Ok(())
}

fn why_left_out(due: &Due) -> Option<String> {
    match due {
        Due::Dropped(_) => Some("its job is queued or started already".to_owned()),
        Due::Refused { why } => Some(why.clone()),
        Due::Next { .. } | Due::Queued(_) => None,
    }
}

fn noted(round: &mut Round, schedule: &Schedule, due: Due) {
    round.note(|| PlanStep::Schedule { schedule: schedule.name.clone(), exporter: schedule.exporter.clone(), due });
}

/// After the clock was set back, or the interval was shortened, the next beat lies too far ahead. The nearer one is
/// written down, or it would be put off by every look.
fn bring_near(round: &mut Round, schedule: &Schedule) -> anyhow::Result<()> {
    let nearest = round.right_now().plus(schedule.every);
    match round.store.view().schedule(&schedule.name)? {
        Some(state) if state.next > nearest => {
            let state = ScheduleState { next: nearest, ..state };
            round.store.set_schedule(&schedule.name, state)
        }
        _ => Ok(()),
    }
}

/// The first beat after now: what was missed in between is not made up.
fn after(due: Stamp, every: Duration, now: Stamp) -> Stamp {
    let every_ms = crate::model::clock::millis(every).max(1);
    let missed = now.0.saturating_sub(due.0).max(0) / every_ms;
    due.plus_ms(every_ms.saturating_mul(missed.saturating_add(1)))
}

/// What a schedule wants.
pub fn ask<'a>(context: &'a Context, schedule: &Schedule) -> anyhow::Result<Ask<'a>> {
    let pairs: Vec<_> =
        schedule.params.iter().map(|(name, value)| (name.as_bytes().to_vec(), value.as_bytes().to_vec())).collect();
    Ask::check(&context.config, schedule.exporter.as_bytes(), &pairs).map_err(|error| match error {
        AskError::Refused(answer) => anyhow!(answer.reason.unwrap_or_default()),
        AskError::Failed(failure) => failure.error.unwrap_or_else(|| anyhow!("it cannot be asked for")),
    })
}

/// What queues it, or why it is left out this time.
fn steps(look: Look, ask: &Ask) -> anyhow::Result<Result<Vec<QueueStep>, Due>> {
    let old = look.view.job(&ask.filename)?;
    let filename = &ask.filename;
    if let Some(job) = old.as_ref().filter(|job| is_pending(job)) {
        tracing::info!(filename, "a due schedule found its job queued or started");
        return Ok(Err(Due::Dropped(job.into())));
    }
    if let Some(refusal) = look.full(ask, 0)? {
        let why = refusal.reason();
        tracing::info!(filename, reason = why, "a due schedule was refused");
        return Ok(Err(Due::Refused { why }));
    }
    Ok(look.plan_ours(ask, old)?.map_err(|refusal| {
        let why = refusal.reason();
        tracing::info!(filename, reason = why, "a due schedule was refused, as its source cannot be made");
        Due::Refused { why }
    }))
}

fn is_pending(job: &Job) -> bool {
    matches!(job.status, Status::Queued | Status::Started)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_beat_keeps_the_rhythm_and_skips_what_was_missed() {
        let every = Duration::from_millis(17);
        assert_eq!(after(Stamp(100), every, Stamp(100)), Stamp(117));
        assert_eq!(after(Stamp(100), every, Stamp(116)), Stamp(117));
        assert_eq!(after(Stamp(100), every, Stamp(117)), Stamp(134));
        assert_eq!(after(Stamp(100), every, Stamp(1_000_000)), Stamp(1_000_006));
    }
}
