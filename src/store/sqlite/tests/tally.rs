use super::*;
use crate::model::status::Status;

/// Compares what the statements have kept with what is in the rows.
#[track_caller]
fn agrees(base: &Base) {
    assert_eq!(base.store.view().miscounts().unwrap(), [""; 0]);
}

fn pending(base: &Base, client: &str) -> u64 {
    base.store.view().client_pending("default", client).unwrap()
}

fn queued(base: &Base) -> u64 {
    base.store.view().queue("default").unwrap().queued
}

fn by(client: &str, name: &str) -> NewJob {
    NewJob { client: Some(client.into()), ..wish(name) }
}

#[test]
fn counts_follow_a_job_through_its_life() {
    let mut base = Base::new();
    let job = base.insert(&by("me", "Emma"));
    assert_eq!((queued(&base), pending(&base, "me"), pending(&base, "you")), (1, 1, 0));
    let claim = base.claim(&job, NOON);
    assert_eq!((queued(&base), pending(&base, "me")), (0, 1));
    base.tx(|tx| tx.finish_retry(&claim, &ended(Outcome::Lost), &again()));
    assert_eq!((queued(&base), pending(&base, "me")), (1, 1));
    let claim = base.claim(&job, NOON);
    base.tx(|tx| tx.finish_failed(&claim, &ended(Outcome::Exit), NOON));
    assert_eq!((queued(&base), pending(&base, "me")), (0, 0));
    base.tx(|tx| tx.requeue(&job, &by("you", "Emma")));
    assert_eq!((queued(&base), pending(&base, "me"), pending(&base, "you")), (1, 0, 1));
    base.tx(|tx| tx.delete(job.id, Status::Queued));
    assert_eq!((queued(&base), pending(&base, "you")), (0, 0));
    agrees(&base);
}

#[test]
fn counts_move_with_a_job_to_another_queue() {
    let mut base = Base::new();
    let job = base.insert(&by("me", "Emma"));
    let claim = base.claim(&job, NOON);
    base.tx(|tx| tx.finish_retry(&claim, &ended(Outcome::Cpu), &Retry { queue: "slow", ..again() }));
    assert_eq!((queued(&base), pending(&base, "me")), (0, 0));
    assert_eq!(base.store.view().queue("slow").unwrap().queued, 1);
    assert_eq!(base.store.view().client_pending("slow", "me").unwrap(), 1);
    agrees(&base);
}

#[test]
fn counts_agree_with_the_rows_after_any_history() {
    let mut base = Base::new();
    let mut dice = 1_u64;
    let mut throw = |sides: u64| {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (dice >> 33) % sides
    };
    let mut claims = Vec::new();
    for _ in 0..1500 {
        let name = throw(20).to_string();
        let client = ["me", "you"].get(usize::try_from(throw(3)).unwrap()).map(|&client| client.to_owned());
        let queue = ["default", "slow"][usize::try_from(throw(2)).unwrap()];
        let new = NewJob { client, queue: queue.into(), ..wish(&name) };
        let before = base.store.view().job(&new.filename).unwrap();
        match before.clone() {
            None => drop(base.insert(&new)),
            Some(job) if job.status.is_failed() => drop(base.tx(|tx| tx.requeue(&job, &new))),
            Some(job) if job.status == Status::Queued && throw(9) == 0 => {
                base.tx(|tx| tx.delete(job.id, Status::Queued));
            }
            Some(job) if job.status == Status::Queued => claims.push(base.claim(&job, NOON)),
            Some(job) => {
                let kind = throw(7);
                if kind == 6 {
                    base.tx(|tx| tx.note_again(&job, NOON));
                    continue;
                }
                let claim = claims.iter().rev().find(|claim| Some(&claim.attempt) == job.attempt.as_ref()).unwrap();
                base.tx(|tx| match kind {
                    0 | 1 => tx.finish_ok(claim, &ended(Outcome::Ok)),
                    2 => tx.finish_retry(claim, &ended(Outcome::Lost), &Retry { queue, ..again() }),
                    3 => tx.finish_returned(claim, &ended(Outcome::Shutdown)),
                    4 => tx.finish_cancelled(claim, &ended(Outcome::Cancelled)),
                    _ => tx.finish_failed(claim, &ended(Outcome::Exit), NOON),
                });
            }
        }
        agrees(&base);
        let after = base.store.view().job(&new.filename).unwrap();
        if let (Some(before), Some(after)) = (before, after) {
            let (from, to) = (before.status, after.status);
            assert!(from == to || from.may_become(to), "{from:?} became {to:?}");
        }
    }
}

#[test]
fn running_is_counted_from_the_rows() {
    let mut base = Base::new();
    for (name, queue, exporter) in [("a", "x", "epub"), ("b", "x", "pdf"), ("c", "y", "pdf")] {
        let job = base.insert(&NewJob { queue: queue.into(), exporter: exporter.into(), ..wish(name) });
        base.claim(&job, NOON);
    }
    base.queued("d");
    let view = base.store.view();
    assert_eq!(view.running_by_queue().unwrap(), [("x".to_owned(), 2), ("y".to_owned(), 1)]);
    assert_eq!(view.running_by_exporter().unwrap(), [("epub".to_owned(), 1), ("pdf".to_owned(), 2)]);
    assert_eq!(view.started().unwrap().len(), 3);
}

#[test]
fn every_exporter_with_a_row_is_found() {
    let mut base = Base::new();
    for (name, exporter) in [("a", "pdf"), ("b", "epub"), ("c", "epub"), ("d", "gone")] {
        let job = base.insert(&NewJob { exporter: exporter.into(), ..wish(name) });
        if exporter == "gone" {
            base.tx(|tx| tx.fail_queued(&job, Outcome::Spawn, None, NOON));
        }
    }
    let view = base.store.view();
    assert_eq!(view.exporters().unwrap(), ["epub", "gone", "pdf"]);
}
