use super::*;
use crate::{
    model::status::Status,
    store::{Oldest, Part, Place},
};

fn names(jobs: &[Job]) -> Vec<&str> {
    jobs.iter().map(|job| job.filename.trim_start_matches("epub/").trim_end_matches(".epub")).collect()
}

fn epub() -> Place {
    Place { exporter: "epub".into(), queue: "default".into() }
}

fn done(base: &mut Base, name: &str, outcome: Outcome, at: Stamp) -> Claim {
    let claim = base.started(name);
    let record = Record { ended: at, ..ended(outcome) };
    assert!(base.tx(|tx| match outcome {
        Outcome::Ok => tx.finish_ok(&claim, &record),
        _ => tx.finish_failed(&claim, &record, at),
    }));
    claim
}

#[test]
fn overdue_jobs_are_those_that_could_have_been_started_long_ago() {
    let mut base = Base::new();
    base.queued("old");
    base.insert(&NewJob { run_after: NOON.plus_ms(10), ..wish("delayed") });
    base.insert(&NewJob { exporter: "pdf".into(), ..wish("other") });
    base.started("started");
    let found = base.store.view().overdue_queued(&epub(), NOON.plus_ms(5), &[], 10).unwrap();
    assert_eq!(names(&found), ["old"]);
    assert_eq!(base.store.view().overdue_queued(&epub(), NOON.plus_ms(11), &[], 1).unwrap().len(), 1);
}

#[test]
fn a_retry_is_queued_since_its_retry() {
    let mut base = Base::new();
    let claim = base.started("Emma");
    base.tx(|tx| tx.finish_retry(&claim, &ended(Outcome::Lost), &again()));
    let overdue = |ms| base.store.view().overdue_queued(&epub(), again().run_after.plus_ms(ms), &[], 9).unwrap().len();
    assert_eq!((overdue(0), overdue(1)), (0, 1));
}

#[test]
fn abandoned_jobs_are_those_that_nobody_asks_about() {
    let mut base = Base::new();
    base.queued("forgotten");
    let polled = base.queued("polled");
    base.tx(|tx| tx.touch_asked(&polled, NOON.plus_ms(100)));
    let found = base.store.view().abandoned(&epub(), NOON.plus_ms(50), 10).unwrap();
    assert_eq!(names(&found), ["forgotten"]);
}

#[test]
fn a_delete_names_the_status_that_it_saw() {
    let mut base = Base::new();
    let job = base.queued("Emma");
    base.claim(&job, NOON);
    assert!(!base.tx(|tx| tx.delete(job.id, Status::Queued)));
    assert!(!base.is_gone("Emma"));
}

#[test]
fn failures_are_reported_once() {
    let mut base = Base::new();
    for name in ["a", "b", "c"] {
        done(&mut base, name, Outcome::Exit, NOON);
    }
    let found = base.store.view().unreported(2).unwrap();
    assert_eq!(names(&found), ["a", "b"]);
    base.tx(|tx| tx.set_reported(&[found[0].id]));
    assert_eq!(names(&base.store.view().unreported(9).unwrap()), ["b", "c"]);
    let rest: Vec<i64> = base.store.view().unreported(9).unwrap().iter().map(|job| job.id).collect();
    base.tx(|tx| tx.set_reported(&rest));
    assert!(base.store.view().unreported(9).unwrap().is_empty());

    let job = base.job("a");
    base.tx(|tx| tx.requeue(&job, &wish("a")));
    let claim = base.claim(&job, NOON);
    base.tx(|tx| tx.finish_failed(&claim, &ended(Outcome::Exit), NOON));
    assert_eq!(names(&base.store.view().unreported(9).unwrap()), ["a"], "a new failure is told again");
}

#[test]
fn failures_are_forgotten_by_their_age() {
    let mut base = Base::new();
    done(&mut base, "old", Outcome::Exit, NOON);
    done(&mut base, "new", Outcome::Exit, NOON.plus_ms(100));
    let found = base.store.view().old_failures("epub", NOON.plus_ms(50), 10).unwrap();
    assert_eq!(names(&found), ["old"]);
    assert!(base.tx(|tx| tx.delete(found[0].id, found[0].status)));
}

#[test]
fn history_is_trimmed_from_its_old_end_and_never_while_it_runs() {
    let mut base = Base::new();
    let first = done(&mut base, "a", Outcome::Ok, NOON);
    let second = done(&mut base, "b", Outcome::Exit, NOON.plus_ms(1));
    let third = done(&mut base, "c", Outcome::Ok, NOON.plus_ms(2));
    let running = base.started("d");
    let late = NOON.plus_ms(100);
    let oldest = |base: &Base, part, before| base.store.view().oldest(part, before, 10).unwrap();
    let ids = |found: &[Oldest]| found.iter().map(|attempt| attempt.id.clone()).collect::<Vec<_>>();
    assert_eq!(ids(&oldest(&base, Part::OkLogs, NOON.plus_ms(2))), [first.attempt.as_str()]);
    let logs = oldest(&base, Part::OkLogs, late);
    assert_eq!(ids(&logs), [first.attempt.as_str(), third.attempt.as_str()]);
    assert_eq!(ids(&oldest(&base, Part::OkRows, late)), [""; 0], "their logs are kept");
    base.tx(|tx| tx.give_up(Part::OkLogs, &logs[0]));
    assert_eq!(ids(&oldest(&base, Part::OkLogs, late)), [third.attempt.as_str()], "a log goes once");
    assert_eq!(ids(&oldest(&base, Part::OkRows, late)), [first.attempt.as_str()]);
    let rows = oldest(&base, Part::Rows, late);
    assert_eq!(ids(&rows), [&*first.attempt, &*second.attempt, &*third.attempt]);
    base.tx(|tx| rows.iter().try_for_each(|attempt| tx.give_up(Part::Rows, attempt)));
    assert_eq!(base.store.view().history_size().unwrap(), 0);
    assert!(base.store.view().attempt(&running.attempt).unwrap().is_some());
}

#[test]
fn the_breaker_sees_first_attempts_of_different_files() {
    let mut base = Base::new();
    for (name, ms) in [("a", 1), ("b", 2), ("a", 3), ("c", 4)] {
        done(&mut base, name, Outcome::Spawn, NOON.plus_ms(ms));
        let job = base.job(name);
        base.tx(|tx| tx.delete(job.id, job.status));
    }
    base.started("running");
    let found = base.store.view().first_attempts("epub", 2).unwrap();
    let seen: Vec<_> = found.iter().map(|first| (first.filename.clone(), first.ended)).collect();
    assert_eq!(seen, [(file("c"), NOON.plus_ms(4)), (file("a"), NOON.plus_ms(3))]);
    assert_eq!(base.store.view().first_attempts("epub", 9).unwrap().len(), 3);
    assert_eq!(base.store.view().first_attempts("pdf", 9).unwrap(), []);
}

#[test]
fn history_answers_by_file_by_exporter_and_by_time() {
    let mut base = Base::new();
    let old = done(&mut base, "a", Outcome::Ok, NOON);
    let new = done(&mut base, "a", Outcome::Ok, NOON.plus_ms(-5));
    let failed = done(&mut base, "a", Outcome::Exit, NOON.plus_ms(9));
    let view = base.store.view();
    assert_eq!(view.latest_ok(&file("a")).unwrap().unwrap().id, new.attempt, "whatever the clock did");
    let all: Vec<_> = view.attempts_of(&file("a"), 9).unwrap().into_iter().map(|attempt| attempt.id).collect();
    assert_eq!(all, [failed.attempt, new.attempt, old.attempt]);
    assert_eq!(view.ok_durations("epub", 9).unwrap(), [Duration::from_mins(1); 2]);
    assert_eq!(view.outcomes_since(NOON).unwrap(), [(Outcome::Exit, 1), (Outcome::Ok, 1)]);
}

#[test]
fn samples_say_how_full_the_queues_were() {
    let mut base = Base::new();
    base.queued("a");
    base.started("b");
    base.tx(|tx| tx.add_sample(NOON));
    base.tx(|tx| tx.add_sample(NOON.plus_ms(MINUTE)));
    let read = "SELECT queued, started FROM sample";
    let rows = base.store.view().all(read, [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    assert_eq!(rows, [(1, 1), (1, 1)]);
    assert_eq!(base.tx(|tx| tx.trim_samples(NOON.plus_ms(1), 9)), 1);
}

#[test]
fn the_size_of_the_history_is_that_of_its_rows_and_logs() {
    let mut base = Base::new();
    let claim = base.started("a");
    assert_eq!(base.store.view().history_size().unwrap(), 0, "it runs");
    base.tx(|tx| tx.set_log_size(&claim.attempt, 64_000));
    base.tx(|tx| tx.finish_ok(&claim, &Record { log_tail: "x".repeat(4096), ..ended(Outcome::Ok) }));
    let size = base.store.view().history_size().unwrap();
    assert!((68_600..69_000).contains(&size), "{size}");
    done(&mut base, "b", Outcome::Exit, NOON);
    assert_eq!(base.store.view().miscounts().unwrap(), [""; 0]);
    let log = base.store.view().oldest(Part::OkLogs, NOON.plus_ms(10 * MINUTE), 1).unwrap();
    base.tx(|tx| tx.give_up(Part::OkLogs, &log[0]));
    assert_eq!(base.store.view().miscounts().unwrap(), [""; 0]);
}

/// The web user may have written anything there.
#[test]
fn sizes_without_sense_neither_stop_an_end_nor_stay() {
    let mut base = Base::new();
    for size in [i64::MAX, -5] {
        base.store.conn.execute("UPDATE meta SET history_size = ?", [size]).unwrap();
        let claim = base.started("a");
        base.store.conn.execute("UPDATE attempt SET log_size = ?, row_size = ?", [size, size]).unwrap();
        base.tx(|tx| tx.finish_ok(&claim, &ended(Outcome::Ok)));
        let all = base.store.view().oldest(Part::Rows, NOON.plus_ms(10 * MINUTE), 9).unwrap();
        base.tx(|tx| all.iter().try_for_each(|attempt| tx.give_up(Part::Rows, attempt)));
        base.store.immediate(|tx| Ok(tx.recount_all()?)).unwrap();
        assert_eq!(base.store.view().history_size().unwrap(), 0);
    }
}

#[test]
fn of_too_many_failures_the_oldest_go_that_were_reported() {
    let mut base = Base::new();
    for (name, ms) in [("a", 4), ("b", 3), ("c", 2), ("d", 1)] {
        done(&mut base, name, Outcome::Exit, NOON.plus_ms(ms));
    }
    let beyond = |base: &Base| {
        let found = base.store.view().failures_beyond(2, 10).unwrap();
        names(&found).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(beyond(&base), [""; 0]);
    let ids: Vec<_> = ["a", "b", "c"].map(|name| base.job(name).id).to_vec();
    base.tx(|tx| tx.set_reported(&ids));
    assert_eq!(beyond(&base), ["c", "b"]);
    assert_eq!(base.tx(|tx| tx.pass_over_unreported(65, 10)), (1, 1));
    assert_eq!(beyond(&base), ["d", "c"]);
}

#[test]
fn what_is_not_worth_telling_is_passed_over_and_not_counted() {
    let mut base = Base::new();
    done(&mut base, "a", Outcome::Exit, NOON);
    let bad = base.started("b");
    base.tx(|tx| tx.finish_failed(&bad, &Record { exit_code: Some(65), ..ended(Outcome::Exit) }, NOON));
    base.store.conn.execute("UPDATE job SET reported = 0", []).unwrap();
    assert_eq!(base.tx(|tx| tx.pass_over_unreported(65, 10)), (2, 1));
    assert_eq!(base.tx(|tx| tx.pass_over_unreported(65, 10)), (0, 0));
}
