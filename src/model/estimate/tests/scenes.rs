//! Single scenes, of which the end can be told in the head: every run takes ten seconds.

use std::time::Duration;

use super::super::{Group, Lane, Pace, Rhythm, Running, Scene, Subject, Ticks, Waiting, expected};
use crate::model::clock::Stamp;

const TEN: Duration = Duration::from_secs(10);

fn scene(host: u32, lanes: Vec<Lane>, stays: bool) -> Scene {
    let until = Stamp(if stays { 60_000 } else { 0 });
    let ticks = Ticks { begun: Stamp(0), until, every: Duration::from_mins(1) };
    Scene {
        host,
        rhythm: Rhythm::of(&ticks, Stamp(5_000)),
        lanes,
        paces: vec![Pace::new(vec![TEN; 9]), Pace::default()],
    }
}

fn lane(seats: u32, running_for: &[u64], waiting: u32, served: i64) -> Lane {
    let running = |secs: &u64| Running { pace: 0, elapsed: Duration::from_secs(*secs), percent: None };
    Lane { seats, running: running_for.iter().map(running).collect(), waiting: jobs(waiting), served }
}

fn jobs(count: u32) -> Vec<Group> {
    if count == 0 { Vec::new() } else { vec![Group { pace: 0, count }] }
}

fn waiting(before: u32, ready_s: u64) -> Waiting {
    Waiting { lane: 0, pace: 0, before: jobs(before), ready: Duration::from_secs(ready_s), source: None }
}

fn seconds(scene: &Scene, waiting: Waiting) -> Option<u64> {
    expected(scene, &Subject::Waiting(waiting)).map(|time| time.as_secs())
}

#[test]
fn a_seat_is_waited_for_with_those_before() {
    let one = scene(8, vec![lane(1, &[4], 0, 0)], true);
    assert_eq!(seconds(&one, waiting(0, 0)), Some(6 + 10));
    assert_eq!(seconds(&one, waiting(2, 0)), Some(6 + 30));
    assert_eq!(seconds(&one, waiting(0, 30)), Some(30 + 10));
    let two = scene(8, vec![lane(2, &[4], 0, 0)], true);
    assert_eq!(seconds(&two, waiting(0, 0)), Some(10));
    assert_eq!(seconds(&two, waiting(1, 0)), Some(6 + 10));
}

#[test]
fn the_host_has_fewer_seats_than_its_queues_and_these_take_turns() {
    let of = |served| scene(1, vec![lane(2, &[], 0, 1), lane(2, &[], 5, served)], true);
    assert_eq!(seconds(&of(0), waiting(0, 0)), Some(20), "the other queue was served longer ago");
    assert_eq!(seconds(&of(2), waiting(0, 0)), Some(10));
    assert_eq!(seconds(&of(2), waiting(2, 0)), Some(50), "each queue in turn");
    let busy = scene(1, vec![lane(2, &[], 0, 0), lane(0, &[7], 0, 0)], true);
    assert_eq!(seconds(&busy, waiting(0, 0)), Some(3 + 10));
}

#[test]
fn a_plain_crontab_starts_each_job_at_the_next_minute() {
    let plain = scene(8, vec![lane(1, &[4], 0, 0)], false);
    assert_eq!(seconds(&plain, waiting(0, 0)), Some(55 + 10));
    assert_eq!(seconds(&plain, waiting(2, 0)), Some(55 + 120 + 10));
    assert_eq!(seconds(&plain, waiting(0, 56)), Some(115 + 10));
}

#[test]
fn a_source_comes_first() {
    let stays = scene(8, vec![lane(1, &[], 0, 0)], true);
    let source = |subject| Waiting { source: Some(Box::new(subject)), ..waiting(0, 0) };
    assert_eq!(seconds(&stays, source(Subject::Waiting(waiting(1, 0)))), Some(10 + 10 + 10));
    let running = Running { pace: 0, elapsed: Duration::from_secs(4), percent: None };
    assert_eq!(seconds(&scene(8, vec![lane(1, &[4], 0, 0)], true), source(Subject::Running(running))), Some(6 + 10));
}

#[test]
fn far_behind_the_jobs_before_are_not_played_one_by_one() {
    let stays = scene(8, vec![lane(4, &[], 0, 0)], true);
    let told = seconds(&stays, waiting(1000, 0)).unwrap();
    assert!((2400..=2700).contains(&told), "{told}");
}

#[test]
fn what_is_not_known_gives_no_time_unless_it_is_not_needed() {
    let unknown = Running { pace: 1, elapsed: TEN, percent: None };
    let of = |seats| scene(8, vec![Lane { seats, running: vec![unknown], ..Lane::default() }], true);
    assert_eq!((seconds(&of(1), waiting(0, 0)), seconds(&of(2), waiting(0, 0))), (None, Some(10)));
    let late = Scene { rhythm: None, ..of(2) };
    assert_eq!(seconds(&late, waiting(0, 0)), None);
    let longest = Subject::Running(Running { pace: 0, elapsed: TEN * 2, percent: Some(50) });
    assert_eq!(expected(&of(1), &longest), None);
}
