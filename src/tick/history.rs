//! The history gives way: what is too old, what is beyond `history.max_size`, and what a disk that runs low needs.
//!
//! What tells least goes first: logs of successes, then their rows, then the rest, failures with their logs; of each
//! the oldest. An attempt that runs is not touched. Samples of how full the queues are stay for a week.

use std::{thread::sleep, time::Duration};

use super::round::{Round, step_end};
use crate::{
    model::{
        clock::{Stamp, since_boot},
        job::AttemptId,
    },
    site,
    store::{Oldest, Part, StoreError},
};

/// So many attempts are looked up at a time.
const LOOK: u32 = 500;
/// So many pages of the database are given back under one lock.
const PAGES: u32 = 128;
const REST: Duration = Duration::from_millis(10);
/// With less a disk is full, whatever `min_free` says: the database cannot be written.
const FULL: u64 = 1 << 20;
const ALWAYS: Stamp = Stamp(i64::MAX);

/// Forgets what is too old and too much.
pub fn trim(round: &mut Round) -> anyhow::Result<()> {
    let end = step_end();
    if round.clock.doubt().is_some() {
        return for_the_disk(round, end); // without space nothing could be recorded
    }
    if round.clock.is_trusted() {
        let keep = &round.context.config.history;
        let (old, old_ok) = (round.now.minus(keep.keep), round.now.minus(keep.keep_ok_logs));
        give_up(round, Part::OkLogs, old_ok, u64::MAX, end)?;
        give_up(round, Part::Rows, old, u64::MAX, end)?;
    }
    let most = round.context.config.history.max_size;
    let size = round.store.view().history_size()?;
    if give_up_oldest(round, size.saturating_sub(most), end)? > 0 && since_boot() < end {
        // Nothing is left but what runs: the size was wrong.
        round.store.recount()?;
    }
    for_the_disk(round, end)
}

/// Before anything is refused for want of space: expired files have gone already.
fn for_the_disk(round: &mut Round, end: Duration) -> anyhow::Result<()> {
    while since_boot() < end {
        let wanted = shortage(round);
        if wanted == 0 {
            return Ok(());
        }
        let left = give_up_oldest(round, wanted, end)?;
        shrink_until(round, end)?;
        round.store.checkpoint()?;
        if left > 0 {
            return Ok(()); // nothing is left to give up
        }
    }
    Ok(())
}

/// Bytes that are missing where files are made or the database grows, if logs lie on the same disk.
fn shortage(round: &Round) -> u64 {
    let (site, config) = (&round.context.site, &round.context.config);
    let missing = |dir: &std::path::Path, least: u64| {
        let same = site::same_filesystem(&site.log(), dir).unwrap_or(false);
        let free = site::room(dir).unwrap_or(u64::MAX);
        if same { least.max(FULL).saturating_sub(free) } else { 0 }
    };
    missing(&site.cache(), config.cache.min_free).max(missing(&site.queue(), FULL))
}

/// Frees so many bytes; the result is what is still missing when all is gone, or the time is over.
fn give_up_oldest(round: &mut Round, mut bytes: u64, end: Duration) -> anyhow::Result<u64> {
    for part in [Part::OkLogs, Part::OkRows, Part::Rows] {
        bytes = give_up(round, part, ALWAYS, bytes, end)?;
    }
    Ok(bytes)
}

/// Gives up the oldest of one part that ended before `before`, until so many bytes are freed.
fn give_up(round: &mut Round, part: Part, before: Stamp, mut bytes: u64, end: Duration) -> anyhow::Result<u64> {
    while bytes > 0 && since_boot() < end {
        let mut oldest = round.store.view().oldest(part, before, LOOK)?;
        if oldest.is_empty() {
            break;
        }
        oldest.truncate(enough(&oldest, bytes));
        remove_logs(round, &oldest);
        // All of them, whatever the time is: their logs have gone.
        round.store.give_up(part, &oldest)?;
        bytes = oldest.iter().fold(bytes, |bytes, attempt| bytes.saturating_sub(attempt.size));
        sleep(REST);
    }
    Ok(bytes)
}

/// How many of them have to go for so many bytes.
fn enough(oldest: &[Oldest], bytes: u64) -> usize {
    let mut sum = 0_u64;
    let last = oldest.iter().position(|attempt| {
        sum = sum.saturating_add(attempt.size);
        sum >= bytes
    });
    last.map_or(oldest.len(), |last| last + 1)
}

/// Before the commit that forgets their rows: a log that outlives its row would stay for ever.
fn remove_logs(round: &mut Round, attempts: &[Oldest]) {
    let site = &round.context.site;
    let ids = attempts.iter().filter_map(|attempt| AttemptId::parse(&attempt.id));
    let failed = ids.filter_map(|id| site.remove_log(&id).err().map(|error| (id, error)));
    let failed: Vec<_> = failed.collect();
    if let Some((attempt, error)) = failed.first() {
        let sentence = format!("cannot remove the log of attempt {attempt}: {error} ({} in all)", failed.len());
        round.problem(sentence);
    }
}

/// Gives pages of the database that hold nothing any more back to the file system.
pub fn shrink(round: &mut Round) -> anyhow::Result<()> {
    shrink_until(round, step_end())
}

fn shrink_until(round: &Round, end: Duration) -> anyhow::Result<()> {
    let mut is_begun = false;
    while since_boot() < end {
        match round.store.shrink(PAGES, is_begun) {
            Ok(true) => is_begun = true,
            // A full disk, or somebody who writes for long: the next round goes on.
            Ok(false) | Err(StoreError::DiskFull | StoreError::Busy) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
        sleep(REST);
    }
    Ok(())
}

const SAMPLE_EVERY: Duration = Duration::from_mins(1);
const SAMPLES_KEEP: Duration = Duration::from_hours(7 * 24);
/// So many are forgotten under one lock.
const SAMPLES_BATCH: u32 = 1000;

/// Takes the sample of this minute, if no round has taken it.
pub fn sample(round: &mut Round) -> anyhow::Result<()> {
    let now = round.now;
    if round.clock.doubt().is_some() {
        return Ok(()); // it would be plotted where it does not belong
    }
    if round.store.view().last_sample()?.is_some_and(|last| now.since(last) < SAMPLE_EVERY && last <= now) {
        return Ok(());
    }
    round.store.sample(now, SAMPLES_KEEP, SAMPLES_BATCH, step_end())
}
