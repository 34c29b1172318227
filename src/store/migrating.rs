//! From the schema of an earlier version to this one.
//!
//! `schema.sql` is always the newest schema. Whoever first opens an older database for writing takes all the steps
//! that are missing in one transaction, so that there is never half a version. A change of `schema.sql` after a
//! release comes with a step here, the next `user_version` there, and a database of the old version in
//! `tests/fixtures/`. A step must leave alone what the statements of the version before need: runs that started
//! before an upgrade end after it.

use rusqlite::{Connection, TransactionBehavior};

use super::Result;

/// What schema.sql describes.
pub(super) const VERSION: i64 = 1;

/// The first leads from version 1 to 2, and so on.
pub(super) const STEPS: &[&str] = &[];

/// Takes the steps that are missing.
pub(super) fn migrate(conn: &mut Connection, steps: &[&str]) -> Result<()> {
    let transaction = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Looked at under the lock: another process may have been faster.
    let mut version = version(&transaction)?;
    while let Some(step) = usize::try_from(version - 1).ok().and_then(|done| steps.get(done)) {
        transaction.execute_batch(step)?;
        version += 1;
        tracing::info!(version, "schema upgraded");
    }
    transaction.pragma_update(None, "user_version", version)?;
    Ok(transaction.commit()?)
}

pub(super) fn version(conn: &Connection) -> Result<i64> {
    Ok(conn.pragma_query_value(None, "user_version", |row| row.get(0))?)
}
