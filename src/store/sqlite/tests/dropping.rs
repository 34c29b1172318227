use super::*;
use crate::{
    model::{age::Span, status::DropReason},
    store::{Drop, Part, Place, Standstill},
};

const WHY: Drop<'static> =
    Drop { reason: DropReason::TooOld, message: "it waited longer than 1 hour", detail: "longer than queued_ttl" };

fn entry(number: u32) -> AttemptId {
    id(format!("{number:026}"))
}

#[test]
fn a_dropped_job_leaves_an_entry_that_is_no_attempt() {
    let mut base = Base::new();
    let job = base.insert(&NewJob { client: Some("ann".into()), ..wish("Emma") });
    let now = NOON.plus_ms(61 * MINUTE);
    assert!(base.tx(|tx| tx.drop_queued(&job, &entry(7), &WHY, now)));
    assert!(base.is_gone("Emma"));
    let view = base.store.view();
    let left = view.attempts_of(&file("Emma"), 9).unwrap().pop().expect("an entry");
    assert_eq!((left.job, left.number, left.submitted, left.started), (job.id, 0, NOON, now));
    assert!(left.is_drop());
    let record = left.record.expect("an end");
    assert_eq!((record.outcome, record.drop_reason), (Outcome::Dropped, Some(DropReason::TooOld)));
    assert_eq!((record.message.as_deref(), record.detail.as_deref()), (Some(WHY.message), Some(WHY.detail)));
    assert_eq!(view.client_pending("default", "ann").unwrap(), 0);
    assert_eq!(view.miscounts().unwrap(), [""; 0], "the size of the history has it");
    // What looks at attempts does not see it.
    assert_eq!(view.first_attempts("epub", 9).unwrap(), []);
    assert!(view.ok_durations("epub", 9).unwrap().is_empty());
    assert_eq!(view.latest_ok(&file("Emma")).unwrap(), None);
    assert_eq!(view.tallies().unwrap(), []);
    assert_eq!(view.ended_since(NOON, 9).unwrap(), []);
    assert_eq!(view.drops().unwrap(), [("epub".to_owned(), DropReason::TooOld, 1)]);
    assert_eq!(view.dropped_since(now).unwrap(), [(DropReason::TooOld, 1)]);
    assert_eq!(view.dropped_since(now.plus_ms(1)).unwrap(), []);
    let old = view.oldest(Part::Rows, now.plus_ms(1), 9).unwrap();
    assert_eq!(old.len(), 1, "it is forgotten by its age as attempts are");
    base.tx(|tx| tx.give_up(Part::Rows, &old[0]));
    assert_eq!(base.store.view().history_size().unwrap(), 0);
}

#[test]
fn what_is_not_queued_any_more_is_not_dropped() {
    let mut base = Base::new();
    let job = base.queued("Emma");
    base.claim(&job, NOON);
    assert!(!base.tx(|tx| tx.drop_queued(&job, &entry(7), &WHY, NOON)));
    assert!(!base.is_gone("Emma"));
    assert_eq!(base.store.view().attempt(&entry(7)).unwrap(), None);
}

#[test]
fn the_files_that_schedules_want_are_left_out_and_places_are_told_apart() {
    let mut base = Base::new();
    base.queued("Emma");
    base.queued("Nana");
    base.insert(&NewJob { queue: "slow".into(), ..wish("Slow") });
    base.insert(&NewJob { exporter: "pdf".into(), ..wish("Paper") });
    let view = base.store.view();
    let place = |exporter: &str, queue: &str| Place { exporter: exporter.into(), queue: queue.into() };
    assert_eq!(view.places().unwrap(), [place("epub", "default"), place("epub", "slow"), place("pdf", "default")]);
    let old = view.overdue_queued(&place("epub", "default"), NOON.plus_ms(1), &[file("Emma")], 9).unwrap();
    assert_eq!(old.iter().map(|job| job.filename.as_str()).collect::<Vec<_>>(), [file("Nana")]);
    assert_eq!(view.queued_since(&place("epub", "slow")).unwrap(), Some(NOON));
    assert_eq!(view.queued_since(&place("pdf", "slow")).unwrap(), None);
}

#[test]
fn standstills_are_kept_until_they_are_removed_and_nonsense_counts_as_none() {
    let mut base = Base::new();
    let one = |queue: &str, since: i64, lasts: bool| Standstill {
        queue: queue.into(),
        exporter: String::new(),
        span: Span { since: NOON, until: NOON.plus_ms(since) },
        lasts,
    };
    base.tx(|tx| tx.set_standstill(&one("default", 5, true)));
    base.tx(|tx| tx.set_standstill(&one("default", 9, false)));
    base.tx(|tx| tx.set_standstill(&one("", 7, true)));
    assert_eq!(base.store.view().standstills().unwrap(), [one("default", 9, false), one("", 7, true)]);
    base.store.conn.execute_batch("INSERT INTO standstill VALUES ('../x', '', 1, 2, 0), ('', '', -5, 9, 0)").unwrap();
    assert_eq!(base.store.view().standstills().unwrap().len(), 2);
    base.tx(|tx| tx.remove_standstill(&one("default", 9, false)));
    assert_eq!(base.store.view().standstills().unwrap(), [one("", 7, true)]);
    assert!(base.store.view().has_standstills().unwrap());
    base.store.immediate(|tx| Ok(tx.remove_standstills()?)).unwrap();
    assert!(!base.store.view().has_standstills().unwrap());
}

#[test]
fn an_attempt_whose_job_has_gone_ends_as_lost_and_counts() {
    let mut base = Base::new();
    let (kept, gone) = (base.started("Emma"), base.started("Nana"));
    base.store.conn.execute("DELETE FROM job WHERE id = ?", [gone.job]).unwrap();
    let nonsense = "INSERT INTO attempt SELECT 'not the id of any attempt ', job, filename, exporter, params, queue, client,
                    number, submitted, started, counts_from, limits, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
                    NULL, NULL, 0, 1, 0, 0 FROM attempt WHERE id = ?";
    base.store.conn.execute(nonsense, [gone.attempt.as_str()]).unwrap();
    let unclaimed = base.store.view().unclaimed("", 9).unwrap();
    assert_eq!(unclaimed, [gone.attempt.as_str(), "not the id of any attempt "]);
    assert!(!base.tx(|tx| tx.close_unclaimed(&kept.attempt, "why", NOON)), "it is running");
    assert!(base.tx(|tx| tx.close_unclaimed(&gone.attempt, "why", NOON.plus_ms(MINUTE))));
    base.tx(|tx| tx.remove_unclaimed(&unclaimed[1]));
    assert_eq!(base.store.view().unclaimed("", 9).unwrap(), [""; 0]);
    let record = base.store.view().attempt(&gone.attempt).unwrap().unwrap().record.expect("an end");
    assert_eq!((record.outcome, record.restarted, record.duration), (Outcome::Lost, true, Duration::from_mins(1)));
    assert!(base.store.view().history_size().unwrap() > 0);
    assert!(!base.tx(|tx| tx.close_unclaimed(&gone.attempt, "why", NOON)), "only once");
}
