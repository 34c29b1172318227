//! After the clock was set back: stamps of something past must not lie ahead, and no retry waits for longer than it may.
//! After it was set forward: what a clock that was behind has stamped is not as old as it seems.

use rusqlite::{named_params, params};

use super::{Result, Tx, View, rows::NonNegative};
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

/// When ticks come is seen anew.
const HEAL_TICK: &str = "
    UPDATE meta SET tick_at = :now, tick_begun = NULL, tick_until = NULL, tick_every = NULL WHERE tick_at > :limit";

const LIFT_JOBS: &str = "
    UPDATE job
       SET rank = CASE WHEN submitted BETWEEN :from AND :to
                       THEN rank - due / 600000 + max(:now, iif(waits = 1, run_after, 0)) / 600000 ELSE rank END,
           due = CASE WHEN submitted BETWEEN :from AND :to THEN max(:now, iif(waits = 1, run_after, 0)) ELSE due END,
           submitted = iif(submitted BETWEEN :from AND :to, :now, submitted),
           last_asked = iif(last_asked BETWEEN :from AND :to, :now, last_asked),
           failed = iif(failed BETWEEN :from AND :to, :now, failed),
           queued_since = iif(queued_since BETWEEN :from AND :to, :now, queued_since)
     WHERE id > :after AND id <= :last
       AND (submitted BETWEEN :from AND :to OR last_asked BETWEEN :from AND :to OR failed BETWEEN :from AND :to
            OR queued_since BETWEEN :from AND :to)";

/// When they began stays as it is: `--after` must not count what was begun before.
pub(super) const LIFT_ATTEMPTS: &str = "
    UPDATE attempt SET ended = :now
     WHERE rowid IN (SELECT rowid FROM attempt WHERE ended BETWEEN :from AND :to LIMIT 1000)";

/// Retries among the jobs that wait for a time after the limit; of so many as a round can look at.
macro_rules! late_retries {
    ($what:literal) => {
        concat!(
            "SELECT ",
            $what,
            " FROM (SELECT id, exporter, attempts FROM job
                WHERE status = 0 AND waits = 1 AND run_after > :limit ORDER BY run_after LIMIT 10000)
              WHERE attempts > 0"
        )
    };
}

pub(super) const HAS_LATE_RETRIES: &str = concat!("SELECT EXISTS (", late_retries!("1"), ")");

const LATE_RETRIES: &str = concat!(late_retries!("count(*)"), " AND exporter = :exporter");

const HURRY_RETRIES: &str = concat!(
    "UPDATE job
        SET run_after = :latest, due = max(submitted, :latest), queued_since = :latest,
            rank = rank - due / 600000 + max(submitted, :latest) / 600000
      WHERE id IN (",
    late_retries!("id"),
    " AND exporter = :exporter)"
);

/// What are few. They are healed last: until then it shows that healing has not come to its end.
const HEALERS: [&str; 4] = [HEAL_RUNNING, HEAL_QUEUES, HEAL_SCHEDULES, HEAL_TICK];

impl View<'_> {
    /// Whether some stamp of something past lies more than a minute ahead. Cheap enough for every round.
    pub fn ahead(&self, now: Stamp) -> Result<bool> {
        let limit = named_params! { ":limit": now.plus_ms(TOLERANCE_MS) };
        Ok(self.one(AHEAD, limit, |row| row.get(0))?.unwrap_or(false))
    }

    /// Whether some job waits for its next attempt until after `limit`.
    pub fn has_late_retries(&self, limit: Stamp) -> Result<bool> {
        Ok(self.one(HAS_LATE_RETRIES, named_params! { ":limit": limit }, |row| row.get(0))?.unwrap_or(false))
    }

    /// How many jobs of this exporter do.
    pub fn late_retries(&self, exporter: &str, limit: Stamp) -> Result<u64> {
        let of = named_params! { ":exporter": exporter, ":limit": limit };
        Ok(self.one(LATE_RETRIES, of, |row| row.get::<_, NonNegative>(0))?.map_or(0, |count| count.0))
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

    /// Gives a slice of the jobs, those after this id, the time `now` in place of stamps between the two moments; the result
    /// is the last id of it. `None`: there are no more.
    pub fn lift_jobs(&self, now: Stamp, from: Stamp, to: Stamp, after: i64) -> Result<Option<i64>> {
        let last: Option<i64> = self.one(LAST_OF_SLICE, params![after], |row| row.get(0))?.flatten();
        let Some(last) = last else { return Ok(None) };
        let stamps = named_params! { ":now": now, ":from": from, ":to": to, ":after": after, ":last": last };
        self.change(LIFT_JOBS, stamps)?;
        Ok(Some(last))
    }

    /// The same for a slice of the attempts that have ended. `false`: there are no more.
    pub fn lift_attempts(&self, now: Stamp, from: Stamp, to: Stamp) -> Result<bool> {
        let stamps = named_params! { ":now": now, ":from": from, ":to": to };
        Ok(self.change(LIFT_ATTEMPTS, stamps)? == SLICE)
    }

    /// Jobs of this exporter that wait for their next attempt until after `limit` wait until `latest` only.
    pub fn hurry_retries(&self, exporter: &str, limit: Stamp, latest: Stamp) -> Result<usize> {
        self.change(HURRY_RETRIES, named_params! { ":exporter": exporter, ":limit": limit, ":latest": latest })
    }
}
