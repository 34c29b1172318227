use super::*;

const HOUR: i64 = 60 * MINUTE;

/// Titles and ranks, by title.
fn ranks(base: &Base) -> Vec<[String; 2]> {
    let sql = "SELECT substr(filename, 6, length(filename) - 10), CAST(rank AS TEXT) FROM job ORDER BY filename";
    base.store.view().all(sql, [], |row| Ok([row.get(0)?, row.get(1)?])).unwrap()
}

fn heal(base: &mut Base) {
    let mut after = Some(0);
    while let Some(id) = after {
        after = base.tx(|tx| tx.heal_jobs(NOON, id));
    }
    while base.tx(|tx| tx.heal_attempts(NOON)) {}
    base.tx(|tx| tx.heal_rest(NOON));
}

#[test]
fn stamps_from_the_future_are_set_back() {
    let mut base = Base::new();
    let ahead = NOON.plus_ms(HOUR);
    base.insert(&NewJob { now: ahead, run_after: ahead, ..wish("ahead") });
    let later = ahead.plus_ms(3 * HOUR);
    base.insert(&NewJob { now: ahead, run_after: later, ..wish("later") });
    base.queued("old");
    let running = base.insert(&NewJob { now: ahead, run_after: ahead, ..wish("running") });
    let claim = base.claim(&running, ahead);
    let done = base.insert(&NewJob { now: ahead, run_after: ahead, ..wish("done") });
    let done = base.claim(&done, ahead);
    base.tx(|tx| tx.finish_ok(&done, &Record { ended: ahead, ..ended(Outcome::Ok) }));

    assert!(base.store.view().ahead(NOON).unwrap());
    heal(&mut base);
    assert!(!base.store.view().ahead(NOON).unwrap());
    let job = base.job("ahead");
    assert_eq!((job.submitted, job.last_asked), (NOON, NOON));
    assert_eq!(job.run_after, NOON, "it was to start at once");
    assert_eq!(base.job("later").run_after, later, "a due time is left alone");
    assert_eq!(ranks(&base), [["ahead", "3000000"], ["later", "3000024"], ["old", "3000000"], ["running", "3000000"]]);
    assert_eq!(base.job("running").started, Some(NOON));
    for id in [&claim.attempt, &done.attempt] {
        let attempt = base.store.view().attempt(id).unwrap().unwrap();
        assert_eq!((attempt.started, attempt.counts_from), (NOON, NOON));
        assert!(attempt.record.is_none_or(|record| record.ended == NOON));
    }
    assert_eq!(base.store.view().queue("default").unwrap().served, NOON);
    assert_eq!(base.next(&["default"]), Some(file("ahead")), "its rank is that of now: the older id goes first");
}

#[test]
fn a_minute_ahead_is_no_fault_and_a_due_time_never() {
    let mut base = Base::new();
    let soon = NOON.plus_ms(MINUTE);
    base.insert(&NewJob { now: soon, run_after: soon, ..wish("soon") });
    base.insert(&NewJob { run_after: NOON.plus_ms(24 * HOUR), ..wish("tomorrow") });
    assert!(!base.store.view().ahead(NOON).unwrap());
    heal(&mut base);
    assert_eq!(base.job("soon").submitted, soon);
    let place = crate::store::Place { exporter: "epub".into(), queue: "default".into() };
    let overdue = base.store.view().overdue_queued(&place, NOON.plus_ms(24 * HOUR), &[], 9).unwrap();
    assert_eq!(overdue, [base.job("soon")], "a delayed job could not have been started before");
}
