use super::*;
use crate::model::status::Status;

type Ending = fn(&Tx<'_>, &Claim) -> Result<bool>;

const ENDINGS: [Ending; 6] = [
    |tx, claim| tx.finish_ok(claim, &ended(Outcome::Ok)),
    |tx, claim| tx.finish_retry(claim, &ended(Outcome::Lost), &again()),
    |tx, claim| tx.finish_failed(claim, &ended(Outcome::Exit), NOON),
    |tx, claim| tx.finish_returned(claim, &ended(Outcome::Shutdown)),
    |tx, claim| tx.finish_cancelled(claim, &ended(Outcome::Cancelled)),
    |tx, claim| tx.give_back(claim, NOON),
];

#[test]
fn an_attempt_that_was_taken_away_changes_nothing() {
    for ending in ENDINGS {
        let mut base = Base::new();
        let old = base.started("Emma");
        assert!(base.tx(|tx| tx.finish_retry(&old, &ended(Outcome::Lost), &again())));
        let (job, attempt) = (base.job("Emma"), base.store.view().attempt(&old.attempt).unwrap());
        assert!(!base.tx(|tx| ending(tx, &old)), "the job is queued");
        assert!(!base.tx(|tx| tx.progress(&old, Some(1), None)));
        assert_eq!(base.job("Emma"), job);

        let new = base.claim(&job, NOON);
        let job = base.job("Emma");
        assert!(!base.tx(|tx| ending(tx, &old)), "the job belongs to another attempt");
        assert!(!base.tx(|tx| tx.progress(&old, Some(1), None)));
        assert_eq!(base.store.view().cancel_requested(&old).unwrap(), None);
        assert_eq!(base.job("Emma"), job);
        assert_eq!(base.store.view().attempt(&old.attempt).unwrap(), attempt);
        assert_eq!(base.store.view().attempt(&new.attempt).unwrap().unwrap().record, None);
    }
}

#[test]
fn no_attempt_ends_twice() {
    for first in ENDINGS {
        for second in ENDINGS {
            let mut base = Base::new();
            let claim = base.started("Emma");
            assert!(base.tx(|tx| first(tx, &claim)));
            let attempt = base.store.view().attempt(&claim.attempt).unwrap();
            assert!(!base.tx(|tx| second(tx, &claim)));
            assert_eq!(base.store.view().attempt(&claim.attempt).unwrap(), attempt);
        }
    }
}

#[test]
fn a_claim_counts_at_once_and_only_one_wins() {
    let mut base = Base::new();
    let job = base.queued("Emma");
    let claim = base.claim(&job, NOON);
    let started = base.job("Emma");
    assert_eq!((started.status, started.attempts, started.started), (Status::Started, 1, Some(NOON)));
    assert_eq!((claim.number, started.attempt.as_deref()), (1, Some(claim.attempt.as_str())));
    assert!(base.tx(|tx| tx.claim(&job, &id("7".repeat(26)), &limits(), NOON, NOON)).is_none());
    assert_eq!(base.store.view().attempt(&id("7".repeat(26))).unwrap(), None, "the loser leaves no trace");
    assert_eq!(base.store.view().job_by_attempt(&claim.attempt).unwrap(), Some(started));
}

#[test]
fn success_forgets_the_job_and_keeps_the_attempt() {
    let mut base = Base::new();
    let claim = base.started("Emma");
    let record = Record {
        exit_code: Some(0),
        peak_memory: Some(1 << 33),
        cpu_used: Some(Duration::from_millis(1234)),
        output_size: Some(77),
        log_tail: "done\n".into(),
        detail: Some("nothing to say".into()),
        ..ended(Outcome::Ok)
    };
    assert!(base.tx(|tx| tx.finish_ok(&claim, &record)));
    assert!(base.is_gone("Emma"));
    let attempt = base.store.view().latest_ok(&file("Emma")).unwrap().expect("history");
    assert_eq!((attempt.record, attempt.limits), (Some(record), limits()));
    assert_eq!((attempt.id, attempt.job, attempt.number), (claim.attempt, claim.job, 1));
}

#[test]
fn a_final_failure_says_how_it_ended() {
    for outcome in [Outcome::Timeout, Outcome::Cpu, Outcome::Memory, Outcome::Lost] {
        let mut base = Base::new();
        let claim = base.started("Emma");
        let record = Record { message: Some("sorry".into()), ..ended(outcome) };
        assert!(base.tx(|tx| tx.finish_failed(&claim, &record, NOON.plus_ms(9))));
        let job = base.job("Emma");
        assert_eq!((job.status, job.failed), (outcome.failed_status(), Some(NOON.plus_ms(9))));
        assert_eq!((job.result.as_deref(), job.message.as_deref()), (Some(outcome.name()), Some("sorry")));
        assert_eq!(job.started, Some(NOON), "a request may ask for failures since a moment");
    }
}

#[test]
fn a_retry_runs_under_its_own_limits_and_perhaps_in_another_queue() {
    let mut base = Base::new();
    let claim = base.started("Emma");
    let more = Limits { timeout: Duration::from_mins(10), ..limits() };
    let retry = Retry { limits: Some(&more), queue: "slow", ..again() };
    assert!(base.tx(|tx| tx.finish_retry(&claim, &ended(Outcome::Timeout), &retry)));
    let job = base.job("Emma");
    assert_eq!((job.status, job.attempts, job.queue.as_str()), (Status::Queued, 1, "slow"));
    assert_eq!((job.run_after, job.submitted), (retry.run_after, NOON));
    assert_eq!(base.store.view().escalated(&job).unwrap().as_ref(), Some(&more));
    assert_eq!(base.next(&["slow"]), None, "its time has not come");
    base.tx(|tx| tx.wake(retry.run_after));
    assert_eq!(base.claim(&job, retry.run_after).number, 2);
}

#[test]
fn a_noted_run_follows_success_and_final_failure() {
    for (ending, at) in [(ENDINGS[0], 0), (ENDINGS[2], 5)] {
        let mut base = Base::new();
        let claim = base.started("Emma");
        let job = base.job("Emma");
        assert!(base.tx(|tx| tx.note_again(&job, NOON.plus_ms(at * MINUTE))));
        assert!(base.tx(|tx| ending(tx, &claim)));
        let job = base.job("Emma");
        assert_eq!((job.id, job.status, job.attempts, job.again), (claim.job, Status::Queued, 0, None));
        assert!(job.submitted >= NOON && job.run_after >= NOON.plus_ms(at * MINUTE));
        assert!(base.store.view().attempt(&claim.attempt).unwrap().unwrap().record.is_some());
        assert_eq!(base.tx(|tx| tx.wake(NOON.plus_ms(5 * MINUTE))), usize::from(at == 5));
        assert_eq!(base.next(&["default"]), Some(file("Emma")));
    }
}

#[test]
fn of_several_notes_the_latest_moment_counts_and_one_run_follows() {
    let mut base = Base::new();
    let claim = base.started("Emma");
    let job = base.job("Emma");
    for ms in [3000, 9000, 6000] {
        assert!(base.tx(|tx| tx.note_again(&job, NOON.plus_ms(ms))));
    }
    assert_eq!(base.job("Emma").again, Some(NOON.plus_ms(9000)));
    assert!(base.tx(|tx| tx.finish_ok(&claim, &ended(Outcome::Ok))));
    assert!(!base.tx(|tx| tx.note_again(&job, NOON)), "it is not started any more");
    let second = base.claim(&job, NOON);
    assert!(base.tx(|tx| tx.finish_ok(&second, &ended(Outcome::Ok))));
    assert!(base.is_gone("Emma"));
}

#[test]
fn a_noted_run_is_satisfied_by_a_retry_that_starts_late_enough() {
    let mut base = Base::new();
    let claim = base.started("Emma");
    let job = base.job("Emma");
    let at = NOON.plus_ms(10 * MINUTE);
    assert!(base.tx(|tx| tx.note_again(&job, at)));
    assert!(base.tx(|tx| tx.finish_retry(&claim, &ended(Outcome::Lost), &again())));
    assert_eq!((base.job("Emma").run_after, base.job("Emma").attempts), (at, 1));
    let second = base.claim(&job, at);
    assert_eq!(base.job("Emma").again, None);
    assert!(base.tx(|tx| tx.finish_ok(&second, &ended(Outcome::Ok))));
    assert!(base.is_gone("Emma"), "no third run");
}

#[test]
fn a_noted_run_reaches_through_to_the_source() {
    let noted = NOON.plus_ms(9000);
    for ending in &ENDINGS[..4] {
        let mut base = Base::new();
        let job = base.insert(&NewJob { source: Some("md/Emma.md".into()), source_after: Some(NOON), ..wish("Emma") });
        let claim = base.claim(&job, NOON);
        assert!(base.tx(|tx| tx.note_again(&job, noted)));
        assert!(base.tx(|tx| ending(tx, &claim)));
        assert_eq!(base.job("Emma").source_after, Some(noted));
        assert!(base.tx(|tx| tx.delay(&job, noted.plus_ms(1), NOON)));
        assert_eq!(base.job("Emma").source_after, Some(noted.plus_ms(1)));
    }
}

#[test]
fn three_shutdowns_in_a_row_are_no_attempts() {
    let mut base = Base::new();
    let job = base.queued("Emma");
    for (round, counted) in [0, 0, 0, 1, 2].into_iter().enumerate() {
        let claim = base.claim(&job, NOON);
        assert_eq!(base.store.view().may_return(&claim).unwrap(), Some(round < 3));
        assert!(base.tx(|tx| tx.finish_returned(&claim, &ended(Outcome::Shutdown))));
        assert_eq!((base.job("Emma").status, base.job("Emma").attempts), (Status::Queued, counted));
    }
    let claim = base.claim(&job, NOON);
    assert!(base.tx(|tx| tx.finish_retry(&claim, &ended(Outcome::Lost), &again())));
    let claim = base.claim(&job, NOON);
    assert_eq!(base.store.view().may_return(&claim).unwrap(), Some(true), "the row was broken");
}

#[test]
fn cancelling_a_started_job_is_a_flag_that_its_run_sees() {
    let mut base = Base::new();
    let job = base.queued("Emma");
    assert!(!base.tx(|tx| tx.ask_cancel(job.id)), "a queued job is deleted instead");
    let claim = base.claim(&job, NOON);
    assert_eq!(base.store.view().cancel_requested(&claim).unwrap(), Some(false));
    assert!(base.tx(|tx| tx.ask_cancel(job.id)));
    assert_eq!(base.store.view().cancel_requested(&claim).unwrap(), Some(true));
    assert!(base.tx(|tx| tx.finish_cancelled(&claim, &ended(Outcome::Cancelled))));
    assert!(base.is_gone("Emma"));
}

#[test]
fn a_cancelled_job_does_not_come_back_however_its_attempt_ended() {
    for ending in ENDINGS {
        let mut base = Base::new();
        let claim = base.started("Emma");
        let job = base.job("Emma");
        assert!(base.tx(|tx| tx.note_again(&job, NOON)));
        assert!(base.tx(|tx| tx.ask_cancel(job.id)));
        assert!(base.tx(|tx| ending(tx, &claim)));
        assert!(base.is_gone("Emma"));
    }
}

#[test]
fn progress_shows_in_the_row_until_the_attempt_ends() {
    let mut base = Base::new();
    let claim = base.started("Emma");
    assert!(base.tx(|tx| tx.progress(&claim, Some(40), Some("fetching images"))));
    let job = base.job("Emma");
    assert_eq!((job.percent, job.message.as_deref()), (Some(40), Some("fetching images")));
    assert!(base.tx(|tx| tx.finish_retry(&claim, &ended(Outcome::Lost), &again())));
    assert_eq!((base.job("Emma").percent, base.job("Emma").message), (None, None));
}

/// A request that came after the cancellation is not forgotten with it, however the attempt ends; one that came before is.
#[test]
fn what_is_noted_after_a_cancellation_follows_all_the_same() {
    for (name, end) in ["ok", "retry", "failed", "returned", "cancelled"].into_iter().zip(ENDINGS) {
        let mut base = Base::new();
        let claim = base.started(name);
        let job = base.job(name);
        base.tx(|tx| tx.note_again(&job, NOON));
        base.tx(|tx| tx.ask_cancel(job.id));
        assert_eq!(base.job(name).again, None, "{name}: cancelled with the run");
        base.tx(|tx| tx.note_again(&job, NOON));
        assert!(base.tx(|tx| end(tx, &claim)), "{name}");
        let next = base.job(name);
        let state = (next.status, next.attempts, next.cancel, next.again);
        assert_eq!(state, (Status::Queued, 0, false, None), "{name}");
        assert_eq!(base.store.view().miscounts().unwrap(), [""; 0]);
    }
}
