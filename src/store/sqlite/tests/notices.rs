use super::*;
use crate::store::NoticeEvent;

const MOST: u32 = 20;

fn failed(base: &mut Base, name: &str, outcome: Outcome, exit_code: Option<i32>) -> Claim {
    let claim = base.started(name);
    let record = Record { exit_code, ..ended(outcome) };
    assert!(base.tx(|tx| tx.finish_failed(&claim, &record, NOON.plus_ms(MINUTE))));
    claim
}

fn due(base: &Base, event: NoticeEvent, at: Stamp) -> Vec<String> {
    let found = base.store.view().notices_due(event, at, MOST).unwrap();
    assert_eq!(found.unreadable, [0_i64; 0]);
    found.readable.into_iter().map(|notice| notice.filename).collect()
}

#[test]
fn a_failure_is_noted_as_it_was() {
    let mut base = Base::new();
    let claim = failed(&mut base, "Emma", Outcome::Exit, Some(3));
    base.tx(|tx| tx.note_failure(claim.job));
    let notice =
        base.store.view().notices_due(NoticeEvent::Failed, NOON, MOST).unwrap().readable.pop().expect("a notice");
    assert_eq!((notice.job, notice.filename, notice.attempts), (claim.job, file("Emma"), 1));
    assert_eq!((notice.result, notice.attempt), (Outcome::Exit, Some(claim.attempt)));
    assert_eq!((notice.params.as_str(), notice.queue.as_str()), (r#"{"title":"Emma"}"#, "default"));
    assert_eq!(due(&base, NoticeEvent::Ok, NOON), [""; 0]);
    base.tx(|tx| tx.set_reported(&[claim.job]));
    base.tx(|tx| tx.note_failure(claim.job));
    assert_eq!(due(&base, NoticeEvent::Failed, NOON).len(), 1, "what is reported is not noted again");
}

#[test]
fn whoever_changes_the_row_before_it_is_reported_leaves_a_notice() {
    let mut base = Base::new();
    failed(&mut base, "Emma", Outcome::Exit, None);
    failed(&mut base, "Nana", Outcome::Exit, None);
    let job = base.job("Emma");
    base.tx(|tx| tx.requeue(&job, &wish("Emma")));
    let job = base.job("Nana");
    assert!(base.tx(|tx| tx.delete(job.id, job.status)));
    let unmailed = base.store.view().unmailed(MOST).unwrap().readable;
    let names: Vec<_> = unmailed.iter().map(|notice| notice.filename.clone()).collect();
    assert_eq!(names, [file("Emma"), file("Nana")]);
    assert_eq!(due(&base, NoticeEvent::Failed, NOON), [""; 0], "it is said on stderr first");
    base.tx(|tx| tx.set_mailed(unmailed[0].id));
    assert_eq!(due(&base, NoticeEvent::Failed, NOON), [file("Emma")]);
}

#[test]
fn a_flood_is_noted_without_what_is_not_worth_telling() {
    let mut base = Base::new();
    failed(&mut base, "bad", Outcome::Exit, Some(65));
    failed(&mut base, "cancelled", Outcome::Cancelled, None);
    failed(&mut base, "Emma", Outcome::Exit, Some(3));
    failed(&mut base, "Nana", Outcome::Timeout, None);
    base.tx(|tx| tx.note_failures(65, 3));
    assert_eq!(due(&base, NoticeEvent::Failed, NOON), [file("Emma")], "of the first three");
    assert_eq!(base.tx(|tx| tx.pass_over_unreported(65, 3)), (3, 1));
    base.tx(|tx| tx.note_failures(65, 3));
    assert_eq!(due(&base, NoticeEvent::Failed, NOON), [file("Emma"), file("Nana")]);
}

#[test]
fn successes_become_notices_in_pieces() {
    let mut base = Base::new();
    for name in ["a", "b", "c"] {
        let claim = base.started(name);
        assert!(base.tx(|tx| tx.finish_ok(&claim, &ended(Outcome::Ok))));
    }
    assert!(base.tx(|tx| tx.note_news(2)));
    assert_eq!(due(&base, NoticeEvent::Ok, NOON), [file("a"), file("b")]);
    assert!(!base.tx(|tx| tx.note_news(2)));
    assert_eq!(due(&base, NoticeEvent::Ok, NOON).len(), 3);
    assert!(!base.store.view().has_news().unwrap());
    base.tx(|tx| tx.forget_notices(NoticeEvent::Ok));
    assert!(!base.store.view().has_notices().unwrap());
}

#[test]
fn what_was_not_taken_waits_and_is_given_up_at_last() {
    let mut base = Base::new();
    for name in ["Emma", "Nana", "Zola"] {
        let claim = failed(&mut base, name, Outcome::Exit, None);
        base.tx(|tx| tx.note_failure(claim.job));
    }
    let first = base.store.view().notices_due(NoticeEvent::Failed, NOON, 1).unwrap().readable.pop().unwrap();
    let later = NOON.plus_ms(MINUTE);
    base.tx(|tx| tx.put_off_notice(first.id, later));
    assert_eq!(due(&base, NoticeEvent::Failed, NOON), [file("Nana"), file("Zola")], "one that fails holds up no other");
    assert_eq!(due(&base, NoticeEvent::Failed, later), [file("Nana"), file("Zola"), file("Emma")]);
    assert!(base.store.view().is_notifying_failing().unwrap());
    let far = NOON.plus_ms(90 * MINUTE);
    assert_eq!(base.tx(|tx| tx.give_up_notices(later, far, 100, 500)), 0, "it happened then, not before");
    assert_eq!(base.tx(|tx| tx.give_up_notices(later.plus_ms(1), far, 100, 500)), 1, "the others were never tried");
    assert_eq!(base.tx(|tx| tx.give_up_notices(NOON, far, 1, 500)), 1, "more than are kept");
    assert_eq!(due(&base, NoticeEvent::Failed, NOON), [file("Zola")]);
    assert_eq!(base.store.view().lost_notices().unwrap(), 2);
}

#[test]
fn a_pause_that_lies_too_far_ahead_is_shortened_and_nonsense_is_named() {
    let mut base = Base::new();
    let claim = failed(&mut base, "Emma", Outcome::Exit, None);
    base.tx(|tx| tx.note_failure(claim.job));
    let notice = base.store.view().notices_due(NoticeEvent::Failed, NOON, 1).unwrap().readable.pop().unwrap();
    base.tx(|tx| tx.put_off_notice(notice.id, NOON.plus_ms(1000 * MINUTE)));
    base.tx(|tx| tx.give_up_notices(NOON, NOON.plus_ms(60 * MINUTE), 100, 500));
    assert_eq!(due(&base, NoticeEvent::Failed, NOON.plus_ms(60 * MINUTE)), [file("Emma")]);
    base.store.conn.execute_batch("UPDATE notice SET filename = '../../etc/passwd'").unwrap();
    let found = base.store.view().notices_due(NoticeEvent::Failed, NOON.plus_ms(60 * MINUTE), MOST).unwrap();
    assert_eq!((found.readable.len(), found.unreadable), (0, vec![notice.id]));
}
