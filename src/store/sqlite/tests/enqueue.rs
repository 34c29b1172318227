use super::*;
use crate::model::status::Status;

#[test]
fn a_queued_job_is_read_back_as_it_was_written() {
    let mut base = Base::new();
    let new = NewJob {
        priority: 3,
        client: Some("reader".into()),
        source: Some("md/Emma.md".into()),
        waits_for_source: true,
        run_after: NOON.plus_ms(5),
        ..wish("Emma")
    };
    let job = base.insert(&new);
    assert_eq!(job, base.job("Emma"));
    assert_eq!((job.status, job.attempts, job.priority), (Status::Queued, 0, 3));
    assert_eq!((job.submitted, job.run_after, job.last_asked), (NOON, NOON.plus_ms(5), NOON));
    assert_eq!((job.client.as_deref(), job.source.as_deref()), (Some("reader"), Some("md/Emma.md")));
    assert!(job.waits_for_source);
    assert_eq!(base.store.view().job_by_id(job.id).unwrap(), Some(job));
}

#[test]
fn a_second_job_for_one_file_is_refused() {
    let mut base = Base::new();
    base.queued("Emma");
    let second = base.store.immediate(|tx| Ok(tx.insert(&wish("Emma"))?));
    assert!(second.unwrap_err().to_string().contains("UNIQUE"));
    base.queued("emma");
}

#[test]
fn an_id_is_never_used_again() {
    let mut base = Base::new();
    let first = base.queued("Emma");
    assert!(base.tx(|tx| tx.delete(first.id, Status::Queued)));
    assert!(base.queued("Emma").id > first.id);
}

#[test]
fn an_error_inside_a_transaction_takes_everything_back() {
    let mut base = Base::new();
    let failed: anyhow::Result<()> = base.store.immediate(|tx| {
        tx.insert(&wish("Emma"))?;
        anyhow::bail!("no")
    });
    assert!(failed.is_err() && base.is_gone("Emma"));
    assert_eq!(base.store.view().queue("default").unwrap().queued, 0);
}

#[test]
fn jobs_are_found_by_the_beginning_of_their_name() {
    let mut base = Base::new();
    for name in ["Emma", "Emma-de", "Emm%", "Emma\u{1f4d6}", "Faust"] {
        base.queued(name);
    }
    let found = base.store.view().jobs_named("epub/Emma", 10).unwrap();
    let names: Vec<_> = found.iter().map(|job| job.filename.as_str()).collect();
    assert_eq!(names, ["epub/Emma-de.epub", "epub/Emma.epub", "epub/Emma\u{1f4d6}.epub"]);
    assert_eq!(base.store.view().jobs_named("", 2).unwrap().len(), 2);
}

#[test]
fn a_failed_job_queued_again_is_as_new_but_for_its_id() {
    let mut base = Base::new();
    let claim = base.started("Emma");
    let record = Record { message: Some("it was too big".into()), ..ended(Outcome::Timeout) };
    assert!(base.tx(|tx| tx.finish_failed(&claim, &record, NOON)));
    let failed = base.job("Emma");

    let later = NOON.plus_ms(60 * MINUTE);
    let new = NewJob { now: later, run_after: later, priority: 1, client: Some("me".into()), ..wish("Emma") };
    let job = base.tx(|tx| tx.requeue(&failed, &new)).expect("a failed job");
    assert_eq!((job.id, job.status, job.attempts), (failed.id, Status::Queued, 0));
    assert_eq!((job.submitted, job.last_asked, job.started, job.failed), (later, later, None, None));
    assert_eq!((job.message, job.result, job.priority), (None, None, 1));
    assert!(base.tx(|tx| tx.requeue(&failed, &new)).is_none(), "it is not failed any more");
}

#[test]
fn a_delay_only_ever_moves_a_job_back() {
    let mut base = Base::new();
    let job = base.queued("Emma");
    assert!(base.tx(|tx| tx.delay(&job, NOON.plus_ms(500), NOON)));
    assert!(base.tx(|tx| tx.delay(&job, NOON.plus_ms(400), NOON)));
    assert_eq!(base.job("Emma").run_after, NOON.plus_ms(500));
    assert_eq!(base.next(&["default"]), None);
    assert_eq!(base.store.view().next_wake().unwrap(), Some(NOON.plus_ms(500)));
    base.claim(&job, NOON);
    assert!(!base.tx(|tx| tx.delay(&job, NOON.plus_ms(900), NOON)));
}

#[test]
fn a_job_is_woken_when_its_time_has_come() {
    let mut base = Base::new();
    base.insert(&NewJob { run_after: NOON.plus_ms(100), ..wish("Emma") });
    assert_eq!(base.tx(|tx| tx.wake(NOON.plus_ms(99))), 0);
    assert_eq!(base.next(&["default"]), None);
    assert_eq!(base.tx(|tx| tx.wake(NOON.plus_ms(100))), 1);
    assert_eq!(base.next(&["default"]), Some(file("Emma")));
    assert_eq!(base.store.view().next_wake().unwrap(), None);
}

#[test]
fn a_derived_job_waits_for_its_source_and_then_for_its_time() {
    let mut base = Base::new();
    let source = Some("md/Emma.md".to_owned());
    let new = NewJob { source, waits_for_source: true, run_after: NOON.plus_ms(50), ..wish("Emma") };
    let job = base.insert(&new);
    assert!(base.tx(|tx| tx.claim(&job, &id("0".repeat(26)), &limits(), NOON, NOON)).is_none());
    assert_eq!(base.store.view().waiting_for("md/Emma.md").unwrap(), std::slice::from_ref(&job));
    assert!(base.store.view().pinned("md/Emma.md").unwrap(), "the source of a queued job stays");

    assert_eq!(base.tx(|tx| tx.source_ready("md/Emma.md", NOON)), 1);
    assert!(!base.job("Emma").waits_for_source);
    assert_eq!(base.next(&["default"]), None);
    assert_eq!(base.tx(|tx| tx.wake(NOON.plus_ms(50))), 1);
    assert!(base.tx(|tx| tx.wait_for_source(&job, "md/Emma.md")), "the source was lost again");
    assert_eq!(base.next(&["default"]), None);
}

#[test]
fn a_job_fails_with_its_source() {
    let mut base = Base::new();
    let new = NewJob { source: Some("md/Emma.md".into()), waits_for_source: true, ..wish("Emma") };
    let job = base.insert(&new);
    let fail = |tx: &Tx<'_>| tx.fail_queued(&job, Outcome::Cpu, Some("the source could not be made"), NOON);
    assert!(base.tx(fail));
    let failed = base.job("Emma");
    assert_eq!((failed.status, failed.failed, failed.started), (Status::FailedTimeout, Some(NOON), None));
    assert_eq!(failed.message.as_deref(), Some("the source could not be made"));
    assert!(!base.store.view().pinned("md/Emma.md").unwrap());
    assert!(!base.tx(fail), "it is not queued any more");
}

#[test]
fn what_is_queued_or_started_is_pinned_and_what_failed_is_not() {
    let mut base = Base::new();
    let job = base.queued("Emma");
    assert!(base.store.view().pinned(&file("Emma")).unwrap());
    let claim = base.claim(&job, NOON);
    assert!(base.store.view().pinned(&file("Emma")).unwrap());
    assert!(base.tx(|tx| tx.finish_failed(&claim, &ended(Outcome::Exit), NOON)));
    assert!(!base.store.view().pinned(&file("Emma")).unwrap());
}

#[test]
fn asking_is_remembered() {
    let mut base = Base::new();
    let job = base.queued("Emma");
    assert!(base.tx(|tx| tx.touch_asked(&job, NOON.plus_ms(7))));
    assert!(base.tx(|tx| tx.touch_asked(&job, NOON.plus_ms(3))));
    assert_eq!(base.job("Emma").last_asked, NOON.plus_ms(7));
}
