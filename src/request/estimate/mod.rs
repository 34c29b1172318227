//! Where a pending job stands, how long it will take, and what delays it.
//!
//! Each poll comes here: the reads are few, along indexes and of bounded length, and none is made under the write lock.

mod delays;
mod links;
mod relief;
mod scene;

pub use self::relief::relief;

use std::time::Duration;

use super::{Ask, estimate::scene::Setting};
use crate::{
    context::Context,
    model::{
        answer::{Answer, Delay},
        clock::Stamp,
        estimate,
        job::Job,
        status::Status,
    },
    store::View,
};

/// When to ask again, if no time is known: in so many seconds, or, where something has to be changed first, in so many.
const SOON: u64 = 10;
const SELDOM: u64 = 30;
/// Nobody can tell what comes later than that; who wrote such a duration into a row was not us.
const LONGEST: Duration = Duration::from_hours(7 * 24);

/// Position, percent, expected time, the time to ask again and the reason for a delay of a job that is queued or
/// started.
pub fn fill(
    context: &Context,
    view: &View,
    ask: &Ask,
    job: &Job,
    now: Stamp,
    answer: &mut Answer,
) -> anyhow::Result<()> {
    let links = links::of(context, view, job)?;
    if job.status == Status::Started {
        answer.percent = job.percent;
        answer.message.clone_from(&job.message);
    } else {
        answer.position = Some(links::position(&links));
    }
    let mut setting = Setting::new(context, view, now)?;
    let delay = delays::of(&mut setting, &links)?;
    let is_telling = !delay.is_some_and(Delay::is_open) && !wants_one_more(ask, job);
    let left = if is_telling { expected(&mut setting, &links)? } else { None };
    answer.delay = delay.or_else(|| setting.full_host(&links).filter(|_| left.is_none()));
    answer.reason = answer.delay.map(Delay::sentence);
    answer.eta_seconds = left.filter(|left| *left <= LONGEST).map(|left| left.as_secs().max(1));
    answer.retry_after = Some(ask_again(answer, now).clamp(2, 30));
    Ok(())
}

fn expected(setting: &mut Setting, links: &[links::Link]) -> anyhow::Result<Option<Duration>> {
    let Some(subject) = setting.subject(links)? else { return Ok(None) };
    Ok(estimate::expected(&setting.scene()?, &subject))
}

/// The attempt that is going on makes an older file than this request wants: when its own will begin is not known.
fn wants_one_more(ask: &Ask, job: &Job) -> bool {
    job.again.is_some() && ask.after.is_some_and(|after| job.started.is_none_or(|started| started < after))
}

fn ask_again(answer: &Answer, now: Stamp) -> u64 {
    match (answer.eta_seconds, answer.delay) {
        (Some(seconds), _) => seconds,
        (None, Some(Delay::Until(moment))) => moment.since(now).as_secs() + 1,
        (None, Some(Delay::Longer | Delay::HostFull) | None) => SOON,
        (None, Some(_)) => SELDOM,
    }
}
