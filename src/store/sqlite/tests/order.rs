use super::*;

/// Claims everything from these queues in turn and says in which order.
fn drain(base: &mut Base, queues: &[&str]) -> Vec<String> {
    let mut order = Vec::new();
    while let Some(filename) = base.next(queues) {
        let job = base.store.view().job(&filename).unwrap().unwrap();
        base.claim(&job, NOON);
        order.push(filename.trim_start_matches("epub/").trim_end_matches(".epub").to_owned());
    }
    order
}

fn at(name: &str, minutes: i64) -> NewJob {
    let now = NOON.plus_ms(minutes * MINUTE);
    NewJob { now, run_after: NOON, ..wish(name) }
}

#[test]
fn within_a_queue_the_first_to_come_is_the_first_served() {
    let mut base = Base::new();
    for (name, minutes) in [("c", 3), ("a", 1), ("b", 1), ("d", 40)] {
        base.insert(&at(name, minutes));
    }
    assert_eq!(drain(&mut base, &["default"]), ["a", "b", "c", "d"]);
}

#[test]
fn one_step_of_priority_is_worth_ten_minutes() {
    let mut base = Base::new();
    base.insert(&NewJob { priority: -1, ..at("reluctant", 0) });
    base.insert(&at("plain", 5));
    base.insert(&NewJob { priority: 1, ..at("urgent", 9) });
    base.insert(&NewJob { priority: 1, ..at("late", 21) });
    assert_eq!(drain(&mut base, &["default"]), ["urgent", "plain", "reluctant", "late"]);
}

#[test]
fn a_client_with_many_books_does_not_hold_up_another() {
    let mut base = Base::new();
    for number in 0..5 {
        base.insert(&NewJob { client: Some("greedy".into()), ..at(&format!("g{number}"), 0) });
    }
    base.insert(&NewJob { client: Some("modest".into()), ..at("m", 1) });
    base.insert(&at("nobody", 2));
    assert_eq!(drain(&mut base, &["default"]), ["g0", "m", "nobody", "g1", "g2", "g3", "g4"]);
}

#[test]
fn the_queue_served_longest_ago_is_next() {
    let mut base = Base::new();
    for name in ["a1", "a2", "a3"] {
        base.insert(&NewJob { queue: "a".into(), priority: 10, ..wish(name) });
    }
    for name in ["b1", "b2"] {
        base.insert(&NewJob { queue: "b".into(), ..wish(name) });
    }
    // All of these claims bear the same millisecond.
    assert_eq!(drain(&mut base, &["a", "b"]), ["a1", "b1", "a2", "b2", "a3"]);
    assert_eq!(base.store.view().by_turn(&["a".into(), "b".into(), "new".into()]).unwrap(), ["new", "b", "a"]);
}

#[test]
fn a_queue_without_a_seat_is_passed_over() {
    let mut base = Base::new();
    base.insert(&NewJob { queue: "a".into(), ..wish("a1") });
    base.insert(&NewJob { queue: "b".into(), ..wish("b1") });
    assert_eq!(base.next(&["b"]), Some(file("b1")));
    assert_eq!(base.next(&[]), None);
}

#[test]
fn jobs_that_are_held_back_let_others_pass() {
    let mut base = Base::new();
    let first = base.queued("first");
    base.insert(&NewJob { exporter: "pdf".into(), ..at("second", 1) });
    base.insert(&at("third", 2));
    let next = |held_back: &[String], skip: &[i64]| {
        let queues = ["default".to_owned()];
        base.store.view().next_ready(&queues, held_back, skip).unwrap().map(|job| job.filename)
    };
    assert_eq!(next(&[], &[first.id]), Some(file("second")));
    assert_eq!(next(&["pdf".into()], &[first.id]), Some(file("third")));
    assert_eq!(next(&["pdf".into(), "epub".into()], &[]), None);
}

#[test]
fn a_position_counts_the_ready_jobs_ahead_in_the_same_queue() {
    let mut base = Base::new();
    let first = base.queued("first");
    base.insert(&NewJob { run_after: NOON.plus_ms(10), ..wish("waiting") });
    base.insert(&NewJob { queue: "other".into(), ..wish("elsewhere") });
    let second = base.queued("second");
    let urgent = base.insert(&NewJob { priority: 1, ..at("urgent", 1) });
    let position = |job: &Job| base.store.view().position(job).unwrap();
    assert_eq!((position(&urgent), position(&first), position(&second)), (1, 2, 3));
}

#[test]
fn a_position_is_counted_to_a_thousand() {
    let mut base = Base::new();
    base.tx(|tx| (0..1100).try_for_each(|number| tx.insert(&wish(&format!("{number:04}"))).map(drop)));
    let position = |name: &str| base.store.view().position(&base.job(name)).unwrap();
    assert_eq!((position("0000"), position("0999"), position("1000"), position("1099")), (1, 1000, 1001, 1001));
}

#[test]
fn a_retry_keeps_its_place() {
    let mut base = Base::new();
    let claim = base.started("old");
    base.insert(&at("young", 15));
    assert!(base.tx(|tx| tx.finish_retry(&claim, &ended(Outcome::Lost), &Retry { run_after: NOON, ..again() })));
    assert_eq!(drain(&mut base, &["default"]), ["old", "young"]);
}

/// However many jobs an exporter has that is held back, those of others in its queue are found.
#[test]
fn many_jobs_that_are_held_back_hide_no_other() {
    let mut base = Base::new();
    let held = |number: u32| NewJob { exporter: "held".into(), ..wish(&format!("held{number}")) };
    base.tx(|tx| (0..6000).try_for_each(|number| tx.insert(&held(number)).map(drop)));
    base.queued("Emma");
    let (queues, held) = (["default".to_owned()], ["held".to_owned()]);
    let next = base.store.view().next_ready(&queues, &held, &[]).unwrap().map(|job| job.filename);
    assert_eq!(next, Some(file("Emma")));
    assert!(base.store.view().next_ready(&queues, &[], &[]).unwrap().is_some_and(|job| job.exporter == "held"));
}
