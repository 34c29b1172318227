//! After the clock was set back: stamps of something past must not lie ahead.

use rusqlite::{named_params, params};

use super::{Result, Tx, View};
use crate::model::clock::Stamp;

/// Less than this is the difference between two processes' looks at the clock, or a clock that is being slewed.
const TOLERANCE_MS: i64 = 60_000;

/// Where a wrong clock shows first, found without reading all rows: the last tick, served queues, running
/// attempts, the newest jobs, the newest ends.
pub(super) const AHEAD: &str = "
    SELECT EXISTS (SELECT 1 FROM meta WHERE tick_at > :limit)
        OR EXISTS (SELECT 1 FROM queue WHERE served > :limit)
        OR EXISTS (SELECT 1 FROM schedule WHERE last > :limit)
        OR EXISTS (SELECT 1 FROM attempt WHERE ended > :limit)
        OR EXISTS (SELECT 1 FROM job WHERE status = 1 AND started > :limit)
        OR EXISTS (SELECT 1 FROM (SELECT submitted, last_asked, failed FROM job ORDER BY id DESC LIMIT 1000)
                    WHERE submitted > :limit OR last_asked > :limit OR failed > :limit)";

/// Rows are read so many at a time, since each of them holds up whoever wants to write.
const SLICE: usize = 1000;

const LAST_OF_SLICE: &str = "SELECT max(id) FROM (SELECT id FROM job WHERE id > ? ORDER BY id LIMIT 1000)";

/// Reads the rows of a slice. A job that waits for its time is queued since that time, which is left alone; one that
/// does not was to start when it was submitted.
const HEAL_JOBS: &str = "
    UPDATE job
       SET rank = CASE WHEN submitted > :limit
                       THEN rank - due / 600000 + max(:now, iif(waits = 1, run_after, 0)) / 600000 ELSE rank END,
           due = CASE WHEN submitted > :limit THEN max(:now, iif(waits = 1, run_after, 0)) ELSE due END,
           run_after = CASE WHEN submitted > :limit AND waits <> 1 THEN min(run_after, :now) ELSE run_after END,
           submitted = CASE WHEN submitted > :limit THEN :now ELSE submitted END,
           last_asked = CASE WHEN last_asked > :limit THEN :now ELSE last_asked END,
           started = CASE WHEN started > :limit THEN :now ELSE started END,
           failed = CASE WHEN failed > :limit THEN :now ELSE failed END,
           queued_since = CASE WHEN queued_since > :limit AND waits <> 1 THEN :now ELSE queued_since END
     WHERE id > :after AND id <= :last
       AND (submitted > :limit OR last_asked > :limit OR started > :limit OR failed > :limit
        OR (queued_since > :limit AND waits <> 1 AND status = 0))";

pub(super) const HEAL_ATTEMPTS: &str = "
    UPDATE attempt
       SET submitted = min(submitted, :now), started = min(started, :now), counts_from = min(counts_from, :now),
           ended = :now
     WHERE rowid IN (SELECT rowid FROM attempt WHERE ended > :limit ORDER BY ended DESC LIMIT 1000)";

const HEAL_RUNNING: &str = "
    UPDATE attempt
       SET submitted = min(submitted, :now), started = min(started, :now), counts_from = min(counts_from, :now)
     WHERE id IN (SELECT attempt FROM job WHERE status = 1)
       AND (submitted > :limit OR started > :limit OR counts_from > :limit)";

const HEAL_QUEUES: &str = "UPDATE queue SET served = :now WHERE served > :limit";

const HEAL_SCHEDULES: &str = "UPDATE schedule SET last = :now WHERE last > :limit";

const HEAL_TICK: &str = "UPDATE meta SET tick_at = :now WHERE tick_at > :limit";

/// What are few. They are healed last: until then it shows that healing has not come to its end.
const HEALERS: [&str; 4] = [HEAL_RUNNING, HEAL_QUEUES, HEAL_SCHEDULES, HEAL_TICK];

impl View<'_> {
    /// Whether some stamp of something past lies more than a minute ahead. Cheap enough for every round.
    pub fn ahead(&self, now: Stamp) -> Result<bool> {
        let limit = named_params! { ":limit": now.plus_ms(TOLERANCE_MS) };
        Ok(self.one(AHEAD, limit, |row| row.get(0))?.unwrap_or(false))
    }
}

/// Stamps of something past that lie more than a minute ahead are set back to `now`. Due times (`run_after`, a schedule's
/// `next`) are left alone.
impl Tx<'_> {
    /// Heals a slice of the jobs, those after this id; the result is the last id of it. `None`: there are no more.
    pub fn heal_jobs(&self, now: Stamp, after: i64) -> Result<Option<i64>> {
        let last: Option<i64> = self.one(LAST_OF_SLICE, params![after], |row| row.get(0))?.flatten();
        let Some(last) = last else { return Ok(None) };
        let limit = now.plus_ms(TOLERANCE_MS);
        self.change(HEAL_JOBS, named_params! { ":now": now, ":limit": limit, ":after": after, ":last": last })?;
        Ok(Some(last))
    }

    /// Heals a slice of the attempts that have ended. `false`: there are no more.
    pub fn heal_attempts(&self, now: Stamp) -> Result<bool> {
        let healed = self.change(HEAL_ATTEMPTS, named_params! { ":now": now, ":limit": now.plus_ms(TOLERANCE_MS) })?;
        Ok(healed == SLICE)
    }

    /// Heals the rest: running attempts, queues, schedules, the last tick.
    pub fn heal_rest(&self, now: Stamp) -> Result<()> {
        let stamps = named_params! { ":now": now, ":limit": now.plus_ms(TOLERANCE_MS) };
        HEALERS.iter().try_for_each(|sql| self.change(sql, stamps).map(drop))
    }
}
