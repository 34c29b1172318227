//! Operations of ticks that are whole transactions.

use super::*;
use crate::{
    model::status::{DropReason, Status},
    site::ActivityEvent,
    store::{ClaimDecision, ClaimPolicy, NewAttempt, QueueMove, QueueStep, Removal, ScheduleRun, ScheduleState, View},
};

const FOREVER: Duration = Duration::MAX;

/// Decides by the name of a job: "move…", "wait…", "odd…" (it cannot be started), and starts the others.
struct Policy {
    seats: usize,
    started: Vec<String>,
    failed: Vec<String>,
    /// What fails ends the batch.
    is_strict: bool,
}

impl Policy {
    fn new(seats: usize) -> Self {
        Self { seats, started: Vec::new(), failed: Vec::new(), is_strict: false }
    }
}

impl ClaimPolicy for Policy {
    fn begin(&mut self) -> anyhow::Result<()> {
        Ok(())
    }

    fn queues(&self) -> Vec<String> {
        let has_seat = self.started.len() < self.seats;
        if has_seat { vec!["default".to_owned(), "slow".to_owned()] } else { Vec::new() }
    }

    fn held_back(&self) -> &[String] {
        &[]
    }

    fn decide(&mut self, _: &View<'_>, job: &Job) -> anyhow::Result<ClaimDecision> {
        let is = |what: &str| job.filename.starts_with(&format!("epub/{what}"));
        if is("move") && job.queue == "default" {
            return Ok(ClaimDecision::Move(QueueMove { queue: "slow".into(), queued_since: None }));
        }
        if is("wait") {
            return Ok(ClaimDecision::Await { source: file("source"), steps: vec![QueueStep::Insert(wish("source"))] });
        }
        let id = id(format!("{:026}", job.id));
        Ok(ClaimDecision::Start(NewAttempt { id, limits: limits(), counts_from: NOON, source: None }))
    }

    fn started(&mut self, claim: Claim) -> anyhow::Result<()> {
        anyhow::ensure!(!claim.filename.starts_with("epub/odd"), "no lock");
        self.started.push(claim.filename);
        Ok(())
    }

    fn done(&mut self, _: &View<'_>, _: &Job, _: ClaimDecision) -> anyhow::Result<()> {
        Ok(())
    }

    fn failed(&mut self, job: &Job, error: anyhow::Error) -> anyhow::Result<()> {
        self.failed.push(job.filename.clone());
        if self.is_strict { Err(error) } else { Ok(()) }
    }
}

#[test]
fn a_batch_starts_as_many_as_there_are_seats_and_what_fails_for_one_is_undone_for_it_alone() {
    let mut base = Base::new();
    for name in ["odd", "move", "wait", "a", "b"] {
        base.queued(name);
    }
    let mut policy = Policy::new(3);
    assert!(!base.store.claim_batch(&mut policy, 100, NOON).unwrap());
    assert_eq!(policy.failed, [file("odd")]);
    let odd = base.job("odd");
    assert_eq!((odd.status, odd.attempts, odd.attempt), (Status::Queued, 0, None));
    assert_eq!(base.job("move").queue, "slow");
    assert!(base.job("wait").waits_for_source);
    // The source has its turn in the same batch; of two queues the one served longest ago is next.
    policy.started.sort();
    assert_eq!(policy.started, [file("a"), file("b"), file("move")]);
    assert_eq!(base.job("source").status, Status::Queued, "no seat was left");
}

#[test]
fn a_failure_that_is_not_the_jobs_matter_undoes_the_batch() {
    let mut base = Base::new();
    base.queued("a");
    base.queued("odd");
    let mut policy = Policy { is_strict: true, ..Policy::new(5) };
    assert_eq!(base.store.claim_batch(&mut policy, 100, NOON).unwrap_err().to_string(), "no lock");
    assert_eq!(base.job("a").status, Status::Queued);
}

#[test]
fn a_batch_ends_when_too_many_jobs_were_passed_over() {
    let mut base = Base::new();
    for number in 0..5 {
        base.queued(&format!("odd{number}"));
    }
    let mut policy = Policy::new(5);
    assert!(base.store.claim_batch(&mut policy, 3, NOON).unwrap());
    assert_eq!(policy.failed.len(), 3);
}

#[test]
fn claims_that_are_given_back_leave_nothing_behind() {
    let mut base = Base::new();
    let claims = [base.started("a"), base.started("b")];
    base.store.give_back(&claims, NOON).unwrap();
    for name in ["a", "b"] {
        assert_eq!((base.job(name).status, base.job(name).attempts), (Status::Queued, 0));
    }
    assert!(base.store.view().attempt(&claims[0].attempt).unwrap().is_none());
}

#[test]
fn a_schedule_queues_its_job_and_its_next_time_in_one_transaction() {
    let mut base = Base::new();
    let state = ScheduleState { last: NOON, next: NOON.plus_ms(MINUTE) };
    let run = |steps| Ok(Some(ScheduleRun { steps, state, event: ActivityEvent::new("schedule_due", NOON) }));
    assert_eq!(base.store.run_schedule("nightly", NOON, |_| Ok(None)).unwrap(), None);
    assert_eq!(base.store.view().schedule("nightly").unwrap(), None);
    base.store.run_schedule("nightly", NOON, |_| run(Some(Vec::new()))).unwrap_err();
    assert_eq!(base.store.view().schedule("nightly").unwrap(), None);
    let steps = vec![QueueStep::Insert(wish("a"))];
    let job = base.store.run_schedule("nightly", NOON, |_| run(Some(steps))).unwrap();
    assert_eq!(job, Some(base.job("a")));
    assert_eq!(base.store.view().schedule("nightly").unwrap(), Some(state));
    assert_eq!(base.store.run_schedule("nightly", NOON, |_| run(None)).unwrap(), None, "left out this time");
}

#[test]
fn a_file_that_a_job_needs_is_not_pruned() {
    let mut base = Base::new();
    base.queued("wanted");
    let mut gone = Vec::new();
    let act = |name: &String| {
        gone.push(name.clone());
        None
    };
    base.store.prune_unpinned(&[file("wanted"), file("old")], |name| name, act).unwrap();
    assert_eq!(gone, [file("old")]);
}

#[test]
fn jobs_are_dropped_if_they_are_still_queued_and_not_after_the_end() {
    let mut base = Base::new();
    let drop = |number: u32| Removal::Drop {
        entry: id(format!("{number:026}")),
        reason: DropReason::TooOld,
        message: "it waited".into(),
        detail: "too long".into(),
    };
    let (old, claimed) = (base.queued("old"), base.queued("claimed"));
    base.claim(&claimed, NOON);
    let jobs = [(old, drop(77)), (claimed, drop(78))];
    let mut told = Vec::new();
    base.store.drop_jobs(&jobs, Duration::ZERO, |job, _, _| told.push(job.id)).unwrap();
    assert!(!base.is_gone("old"), "there was no time");
    base.store.drop_jobs(&jobs, FOREVER, |job, _, _| told.push(job.id)).unwrap();
    assert_eq!(told, [jobs[0].0.id]);
    assert!(base.is_gone("old"));
    assert_eq!(base.job("claimed").status, Status::Started);
}
