//! Lists and counts for the admin.

use super::*;
use crate::{
    model::{job::Attempt, status::Status},
    store::{AttemptOrder, AttemptQuery, JobFilter, JobOrder, JobQuery, Measure, Part, Tally},
};

fn jobs(base: &Base, about: JobFilter, statuses: &[Status], order: JobOrder) -> Vec<i64> {
    let query = JobQuery { about, statuses: statuses.to_vec(), order, reverse: false, limit: None, below: None };
    base.store.view().job_ids(&query).unwrap()
}

fn attempts(base: &Base, query: &AttemptQuery) -> Vec<String> {
    let view = base.store.view();
    let mut found = Vec::new();
    let more = view.each_attempt(query, |_, attempt| {
        found.push(attempt.filename.clone());
        true
    });
    assert!(!more.unwrap(), "all were looked at");
    found
}

fn newest() -> AttemptQuery {
    let (about, outcomes) = (JobFilter::default(), Vec::new());
    AttemptQuery { about, outcomes, order: AttemptOrder::Ended, reverse: true, limit: None, below: None }
}

/// An attempt that began at noon and ended so many minutes later.
fn ended(base: &mut Base, name: &str, exporter: &str, outcome: Outcome, minutes: i64) {
    let wish = NewJob { exporter: exporter.into(), client: Some(format!("client of {name}")), ..wish(name) };
    let job = base.insert(&wish);
    let claim = base.claim(&job, NOON);
    let took = Duration::from_millis((minutes * MINUTE).unsigned_abs());
    let record = Record::bare(outcome, NOON.plus_ms(minutes * MINUTE), took);
    let done = base.tx(|tx| match outcome {
        Outcome::Ok => tx.finish_ok(&claim, &record),
        _ => tx.finish_failed(&claim, &record, record.ended),
    });
    assert!(done);
}

fn history() -> Base {
    let mut base = Base::new();
    ended(&mut base, "a", "epub", Outcome::Ok, 1);
    ended(&mut base, "b", "epub", Outcome::Exit, 2);
    ended(&mut base, "c", "pdf", Outcome::Ok, 3);
    ended(&mut base, "d", "epub", Outcome::Cpu, 4);
    base.started("e");
    base
}

fn files(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| file(name)).collect()
}

#[test]
fn jobs_are_listed_by_what_they_are_about_in_any_order() {
    let mut base = Base::new();
    for (name, priority, client) in [("b", 1, "ann"), ("a", 3, "bob"), ("c", 2, "ann")] {
        base.insert(&NewJob { priority, client: Some(client.into()), ..wish(name) });
    }
    let all = JobFilter::default;
    assert_eq!(jobs(&base, all(), &[], JobOrder::Id), [1, 2, 3]);
    assert_eq!(jobs(&base, all(), &[], JobOrder::Filename), [2, 1, 3]);
    assert_eq!(jobs(&base, all(), &[], JobOrder::Priority), [1, 3, 2]);
    assert_eq!(jobs(&base, all(), &[], JobOrder::Turn), [2, 1, 3]);
    assert_eq!(jobs(&base, all(), &[Status::Started], JobOrder::Id), [0; 0]);
    let anns = JobFilter { clients: vec!["nobody".into(), "ann".into()], ..all() };
    assert_eq!(jobs(&base, anns, &[Status::Queued], JobOrder::Id), [1, 3]);
    let late = JobFilter { since: Some(NOON.plus_ms(1)), ..all() };
    assert_eq!(jobs(&base, late, &[], JobOrder::Id), [0; 0]);
}

#[test]
fn a_parameter_is_compared_as_it_is_written() {
    let mut base = Base::new();
    base.insert(&NewJob { params: r#"{"pages":20,"of":"x"}"#.into(), ..wish("a") });
    base.insert(&NewJob { params: r#"{"pages":3}"#.into(), ..wish("b") });
    let with =
        |name: &str, value: &str| JobFilter { params: vec![(name.into(), value.into())], ..JobFilter::default() };
    assert_eq!(jobs(&base, with("pages", "20"), &[], JobOrder::Id), [1]);
    assert_eq!(jobs(&base, with("of", "x"), &[], JobOrder::Id), [1]);
    assert_eq!(jobs(&base, with("of", "' OR 1"), &[], JobOrder::Id), [0; 0]);
}

#[test]
fn past_attempts_are_listed_newest_first_and_running_ones_are_not() {
    let base = history();
    assert_eq!(attempts(&base, &newest()), files(&["d", "c", "b", "a"]));
    let epub = JobFilter { exporter: Some("epub".into()), ..JobFilter::default() };
    assert_eq!(attempts(&base, &AttemptQuery { about: epub.clone(), ..newest() }), files(&["d", "b", "a"]));
    let two = AttemptQuery { about: epub.clone(), limit: Some(2), ..newest() };
    assert_eq!(attempts(&base, &two), files(&["d", "b"]));
    let oldest = AttemptQuery { about: epub, limit: Some(2), reverse: false, ..newest() };
    assert_eq!(attempts(&base, &oldest), files(&["a", "b"]));
    let failed = AttemptQuery { outcomes: vec![Outcome::Exit, Outcome::Cpu], ..newest() };
    assert_eq!(attempts(&base, &failed), files(&["d", "b"]));
    let between = JobFilter {
        since: Some(NOON.plus_ms(2 * MINUTE)),
        until: Some(NOON.plus_ms(4 * MINUTE)),
        ..JobFilter::default()
    };
    assert_eq!(attempts(&base, &AttemptQuery { about: between, ..newest() }), files(&["c", "b"]));
    let client = JobFilter { clients: vec!["client of c".into()], ..JobFilter::default() };
    assert_eq!(attempts(&base, &AttemptQuery { about: client, ..newest() }), files(&["c"]));
    let longest = AttemptQuery { order: AttemptOrder::Duration, limit: Some(1), ..newest() };
    assert_eq!(attempts(&base, &longest), files(&["d"]));
}

/// More than a page, several of them within each millisecond, so that a page ends among equals.
#[test]
fn a_long_history_is_given_out_page_by_page_in_one_order() {
    let mut base = history();
    let copy = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2500)
        INSERT INTO attempt (id, job, filename, exporter, params, queue, number, submitted, started, counts_from, limits,
                             ended, result, duration)
        SELECT printf('%026d', i + 1000), i, 'epub/' || i, exporter, params, queue, number, submitted, started,
               counts_from, limits, ended + i / 7, iif(i % 2, 'ok', 'exit'), i
          FROM n, (SELECT * FROM attempt WHERE filename = ?)";
    base.store.immediate(|tx| Ok(tx.conn.execute(copy, [file("d")])?)).unwrap();
    let expected: Vec<_> = (1..=2500).rev().map(|i| format!("epub/{i}")).collect();
    let about =
        JobFilter { exporter: Some("epub".into()), since: Some(NOON.plus_ms(4 * MINUTE)), ..JobFilter::default() };
    let outcomes = vec![Outcome::Ok, Outcome::Exit];
    for about in [about.clone(), JobFilter { exporter: None, ..about }] {
        let query = AttemptQuery { about, outcomes: outcomes.clone(), ..newest() };
        assert!(attempts(&base, &query) == expected);
        assert!(attempts(&base, &AttemptQuery { limit: Some(2100), ..query.clone() }) == expected[..2100]);
        let mut oldest = attempts(&base, &AttemptQuery { reverse: false, ..query.clone() });
        oldest.reverse();
        assert!(oldest == expected);
        let longest = AttemptQuery { order: AttemptOrder::Duration, limit: Some(3), ..query };
        assert_eq!(attempts(&base, &longest), expected[..3]);
    }
}

#[test]
fn names_of_the_past_are_found_by_their_beginning() {
    let base = history();
    let view = base.store.view();
    assert_eq!(view.files_named("epub/", 3).unwrap(), files(&["a", "b", "c"]));
    assert_eq!(view.files_named("epub/d", 3).unwrap(), files(&["d"]));
    assert_eq!(view.files_named("x", 3).unwrap(), [""; 0]);
}

#[test]
fn every_end_is_counted_once_and_forgetting_history_changes_no_count() {
    let mut base = history();
    let counted = |base: &Base| {
        let mut tallies = base.store.view().tallies().unwrap();
        tallies.sort_by_key(|tally| (tally.exporter.clone(), tally.measure == Measure::Wait, tally.bound_ms));
        tallies
    };
    let before = counted(&base);
    let run = |tally: &&Tally| tally.measure == Measure::Run && tally.exporter == "epub";
    let runs: Vec<_> =
        before.iter().filter(run).map(|tally| (tally.bound_ms, tally.outcome, tally.count, tally.total_ms)).collect();
    let expected =
        [(60_000, Outcome::Ok, 1, 60_000), (120_000, Outcome::Exit, 1, 120_000), (300_000, Outcome::Cpu, 1, 240_000)];
    assert_eq!(runs, expected);
    assert_eq!(before.iter().filter(|tally| tally.measure == Measure::Wait).map(|tally| tally.count).sum::<u64>(), 4);
    let all = base.store.view().oldest(Part::Rows, NOON.plus_ms(10 * MINUTE), 100).unwrap();
    assert_eq!(all.len(), 4);
    base.tx(|tx| all.iter().try_for_each(|attempt| tx.give_up(Part::Rows, attempt)));
    assert_eq!(counted(&base), before);
}

#[test]
fn failed_jobs_are_counted_by_queue_and_status() {
    let base = history();
    let mut failed = base.store.view().failed_by_queue().unwrap();
    failed.sort_by_key(|(_, status, _)| status.code());
    let queue = "default".to_owned();
    assert_eq!(failed, [(queue.clone(), Status::FailedTimeout, 1), (queue, Status::FailedUnknown, 1)]);
}

#[test]
fn the_pages_of_a_list_hold_every_job_once() {
    let mut base = Base::new();
    let ids: Vec<_> = (0..7).map(|number| base.insert(&wish(&format!("b{number}"))).id).collect();
    let (mut seen, mut below) = (Vec::new(), None);
    loop {
        let (about, order) = (JobFilter::default(), JobOrder::Id);
        let query = JobQuery { about, statuses: Vec::new(), order, reverse: true, limit: Some(3), below };
        let page = base.store.view().job_ids(&query).unwrap();
        let Some(last) = page.last().copied() else { break };
        assert!(page.len() <= 3);
        below = Some(last);
        seen.extend(page);
    }
    assert_eq!(seen, ids.into_iter().rev().collect::<Vec<_>>());
}

#[test]
fn the_pages_of_the_history_hold_every_attempt_once_although_several_ended_at_the_same_moment() {
    for exporter in [None, Some("epub".to_owned())] {
        let mut base = Base::new();
        for (name, minutes) in [("a", 1), ("b", 3), ("c", 3), ("d", 3), ("e", 2)] {
            let outcome = if name == "c" { Outcome::Ok } else { Outcome::Exit };
            ended(&mut base, name, "epub", outcome, minutes);
        }
        let about = JobFilter { exporter, ..JobFilter::default() };
        let (mut seen, mut below) = (Vec::new(), None);
        loop {
            let query = AttemptQuery { about: about.clone(), limit: Some(2), below, ..newest() };
            let before = seen.len();
            let each = |cursor, attempt: &Attempt| {
                below = Some(cursor);
                seen.push(attempt.filename.clone());
                true
            };
            assert!(!base.store.view().each_attempt(&query, each).unwrap());
            if seen.len() == before {
                break;
            }
        }
        assert_eq!(seen, files(&["d", "c", "b", "e", "a"]));
    }
}

#[test]
fn the_plots_get_the_samples_and_the_attempts_of_late() {
    let mut base = history();
    base.tx(|tx| tx.add_sample(NOON.plus_ms(MINUTE)));
    base.insert(&wish("x"));
    base.tx(|tx| tx.add_sample(NOON.plus_ms(2 * MINUTE)));
    let view = base.store.view();
    let of = |from: i64| view.samples_since(NOON.plus_ms(from * MINUTE)).unwrap();
    let counts: Vec<_> = of(0).into_iter().map(|sample| (sample.at, sample.queued, sample.started)).collect();
    let waiting = counts[0].1;
    assert_eq!(counts[1], (NOON.plus_ms(2 * MINUTE), waiting + 1, 1));
    assert_eq!((counts.len(), of(2).len(), of(3).len()), (2, 1, 0));
    let ended = view.ended_since(NOON.plus_ms(2 * MINUTE), 2).unwrap();
    assert_eq!(ended.iter().map(|one| one.outcome).collect::<Vec<_>>(), [Outcome::Cpu, Outcome::Ok]);
    assert_eq!(ended[0].ran, Duration::from_mins(4));
    assert_eq!(ended[0].waited.map(|waited| waited.is_zero()), Some(true));
    assert_eq!(view.ended_since(NOON.plus_ms(5 * MINUTE), 2).unwrap(), []);
}
