//! After the clock was set back: stamps of something past must not lie ahead.

use rusqlite::named_params;

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

/// Reads every row. A job that waits for its time is queued since that time, which is left alone; one that
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
     WHERE submitted > :limit OR last_asked > :limit OR started > :limit OR failed > :limit
        OR (queued_since > :limit AND waits <> 1 AND status = 0)";

pub(super) const HEAL_ATTEMPTS: &str = "
    UPDATE attempt
       SET submitted = min(submitted, :now), started = min(started, :now), counts_from = min(counts_from, :now),
           ended = :now
     WHERE ended > :limit";

const HEAL_RUNNING: &str = "
    UPDATE attempt
       SET submitted = min(submitted, :now), started = min(started, :now), counts_from = min(counts_from, :now)
     WHERE id IN (SELECT attempt FROM job WHERE status = 1)
       AND (submitted > :limit OR started > :limit OR counts_from > :limit)";

const HEAL_QUEUES: &str = "UPDATE queue SET served = :now WHERE served > :limit";

const HEAL_SCHEDULES: &str = "UPDATE schedule SET last = :now WHERE last > :limit";

const HEAL_TICK: &str = "UPDATE meta SET tick_at = :now WHERE tick_at > :limit";

const HEALERS: [&str; 6] = [HEAL_JOBS, HEAL_ATTEMPTS, HEAL_RUNNING, HEAL_QUEUES, HEAL_SCHEDULES, HEAL_TICK];

impl View<'_> {
    /// Whether some stamp of something past lies more than a minute ahead. Cheap enough for every round.
    pub fn ahead(&self, now: Stamp) -> Result<bool> {
        let limit = named_params! { ":limit": now.plus_ms(TOLERANCE_MS) };
        Ok(self.one(AHEAD, limit, |row| row.get(0))?.unwrap_or(false))
    }
}

impl Tx<'_> {
    /// Sets stamps of something past that lie more than a minute ahead back to `now`; says how many rows had any.
    /// Due times (`run_after`, a schedule's `next`) are left alone.
    pub fn heal_future(&self, now: Stamp) -> Result<usize> {
        if !self.ahead(now)? {
            return Ok(0);
        }
        let stamps = named_params! { ":now": now, ":limit": now.plus_ms(TOLERANCE_MS) };
        HEALERS.iter().map(|sql| self.change(sql, stamps)).sum()
    }
}
