//! With very many rows: what a request or a tick asks costs as many steps of SQLite as with few. Steps, since time
//! tells more about the machine.

use rusqlite::StatementStatus;

use super::*;
use crate::store::sqlite::{claim, counting, enqueue, keeping, settings, standing, standstill, view};

/// Enough that reading all rows, or the rows of one queue, could not be overlooked.
const ROWS: i64 = 200_000;
/// No statement below may take more: those that read up to 1000 rows take some tens of steps for each.
const STEPS: i32 = 30_000;

/// A tenth each waits for its time, for its source, has failed, or is of another exporter and queue.
const FILL: &str = "
    WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
    INSERT INTO job (filename, exporter, params, queue, client, source, status, waits, rank, submitted, run_after,
                     queued_since, last_asked, failed, result, reported)
    SELECT 'epub/' || i, CASE i % 10 WHEN 0 THEN 'pdf' ELSE 'epub' END, '{}',
           CASE i % 10 WHEN 0 THEN 'paper' ELSE 'default' END, 'client' || (i % 1000),
           CASE i % 10 WHEN 1 THEN 'md/' || i END, CASE i % 10 WHEN 2 THEN 3 ELSE 0 END,
           CASE i % 10 WHEN 1 THEN 2 WHEN 3 THEN 1 ELSE 0 END, i / 1000, ?2 + i, ?2 + 1000000 + i, ?2 + i, ?2 + i,
           CASE i % 10 WHEN 2 THEN ?2 + i END, CASE i % 10 WHEN 2 THEN 'exit' END, 1
      FROM n";

fn full() -> Base {
    let mut base = Base::new();
    base.store.conn.execute(FILL, (ROWS, NOON)).unwrap();
    base.store.immediate(|tx| Ok(tx.recount_all()?)).unwrap();
    base
}

/// The steps that the statement takes until its last row.
fn steps(base: &Base, sql: &str, values: &[&dyn rusqlite::ToSql]) -> i32 {
    let mut statement = base.store.conn.prepare(sql).unwrap();
    let mut rows = statement.query(values).unwrap();
    while rows.next().unwrap().is_some() {}
    drop(rows);
    statement.get_status(StatementStatus::VmStep)
}

#[test]
fn two_hundred_thousand_rows_cost_no_more_than_a_few() {
    let base = full();
    no_statement_takes_many_steps(&base);
    the_next_job_and_the_places_are_found(&base);
}

fn no_statement_takes_many_steps(base: &Base) {
    let (old, late) = (NOON.plus_ms(-1), NOON.plus_ms(ROWS));
    let cases: [(&str, &[&dyn rusqlite::ToSql]); 18] = [
        (view::JOB, &[&"epub/100000"]),
        (view::STARTED, &[]),
        (view::PINNED, &[&"md/100001"]),
        (view::WAITING_FOR, &[&"md/100001"]),
        (standing::BEFORE, &[&"default", &100, &late, &1]),
        (standing::WAITING, &[&"default"]),
        (standing::RUNNING, &[]),
        (claim::NEXT_WAKE, &[]),
        (enqueue::WAKE, &[&NOON, &NOON, &NOON]),
        (enqueue::READY_IN, &[&"default", &"[]", &100]),
        (counting::CLIENT_PENDING, &[&"default", &"client7"]),
        (counting::RUNNING_BY_QUEUE, &[]),
        (counting::EXPORTERS, &[]),
        (settings::QUEUE, &[&"default"]),
        (keeping::OVERDUE, &[&"epub", &"default", &old, &"[]", &500]),
        (keeping::ABANDONED, &[&"epub", &"default", &late, &500]),
        (standstill::QUEUES_OF, &[&"epub", &100]),
        (keeping::OLD_FAILURES, &[&"epub", &late, &500]),
    ];
    for (sql, values) in cases {
        let steps = steps(base, sql, values);
        assert!(steps <= STEPS, "{steps} steps for {sql}");
    }
}

fn the_next_job_and_the_places_are_found(base: &Base) {
    let view = base.store.view();
    let next = view.next_ready(&["default".into(), "paper".into()], &[], &[]).unwrap().unwrap();
    assert_eq!(next.filename, "epub/4");
    assert_eq!(view.position(&next).unwrap(), 1);
    assert_eq!(view.position(&view.job("epub/14").unwrap().unwrap()).unwrap(), 7);
    assert_eq!(view.position(&view.job("epub/199999").unwrap().unwrap()).unwrap(), 1001);
    let queued = |queue: &str| view.queue(queue).unwrap().queued;
    assert_eq!((queued("default"), queued("paper")), (160_000, 20_000));
    assert_eq!(view.exporters().unwrap(), ["epub", "pdf"]);
}
