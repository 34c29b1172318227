//! What a database has to be told that is older than the site: it was restored from a backup.

use std::time::Duration;

use crate::{
    model::{
        clock::Stamp,
        job::{Job, Record},
        status::Outcome,
    },
    site::{Sight, Site},
    store::Tx,
};

/// Jobs may have been queued since the highest id was seen.
pub const SPARE_IDS: i64 = 1000;

/// Ids go on above `last_job`, and jobs whose attempts are long over are queued again, without having been counted.
pub fn adopt(tx: &Tx, site: &Site, last_job: i64) -> anyhow::Result<()> {
    tx.raise_ids(last_job.saturating_add(SPARE_IDS))?;
    for job in tx.started()?.iter().filter(|job| is_over(site, job)) {
        let Some(claim) = tx.claim_of_job(job)? else { continue };
        let detail = Some("it was running when the backup was made from which the database was restored".to_owned());
        let record = Record { detail, ..Record::bare(Outcome::Shutdown, Stamp::now(), Duration::ZERO) };
        tx.finish_returned(&claim, &record)?;
    }
    Ok(())
}

/// Nothing of the attempt is left; of any other, reaping tells what has become.
fn is_over(site: &Site, job: &Job) -> bool {
    let is_gone = |attempt| !site.has_work(attempt) && site.peek(attempt) == Sight::Missing;
    job.attempt.as_ref().is_some_and(is_gone)
}
