//! The queue played through once: seats become free, rounds come, and each seat goes to the queue that was served
//! longest ago, until the subject has its turn. The endings of many plays make one time, or none.

use std::{cmp::Reverse, collections::BinaryHeap};

use super::{Group, NEVER, Scene, Waiting};

/// So many jobs before the subject are played, fewer where queues take turns; those beyond them take as long as the
/// second half of these has taken.
const PLAYED: u32 = 24;
const LEAST_PLAYED: u32 = 8;
/// After so many moments at which something ends, others have too many turns to tell.
const MOST: u32 = 200;

pub(super) struct Play<'a> {
    scene: &'a Scene,
    random: u64,
    /// When which queue's seats become free.
    ends: BinaryHeap<Reverse<(u64, usize)>>,
    host: i64,
    lanes: Vec<QueueInPlay>,
    /// When a queue was served last.
    served: i64,
}

/// A queue in a play.
struct QueueInPlay {
    free: i64,
    served: i64,
    waiting: Vec<Group>,
}

impl<'a> Play<'a> {
    pub(super) fn new(scene: &'a Scene, seed: u32) -> Self {
        let mut play = Self {
            scene,
            random: u64::from(seed) << 32 | 0x9e37_79b9,
            ends: BinaryHeap::new(),
            host: i64::from(scene.host),
            lanes: Vec::with_capacity(scene.lanes.len()),
            served: scene.lanes.iter().map(|lane| lane.served).max().unwrap_or(0),
        };
        for (place, lane) in scene.lanes.iter().enumerate() {
            play.lanes.push(QueueInPlay {
                free: i64::from(lane.seats),
                served: lane.served,
                waiting: lane.waiting.clone(),
            });
            for running in &lane.running {
                let part = play.part();
                play.sit(place, scene.left(running, part, false));
            }
        }
        play
    }

    /// When the subject, which is ready then, starts.
    pub(super) fn start(mut self, subject: &Waiting, ready: u64) -> u64 {
        let Some(rhythm) = &self.scene.rhythm else { return NEVER };
        let total: u32 = subject.before.iter().fold(0, |sum, group| sum.saturating_add(group.count));
        let others = self.lanes.iter().filter(|line| !line.waiting.is_empty()).count().max(1);
        let most = (PLAYED / u32::try_from(others).unwrap_or(PLAYED)).max(LEAST_PLAYED);
        let played = total.min(most);
        self.lanes[subject.lane].waiting.clone_from(&subject.before);
        let (mut now, mut begun, mut half) = (0, 0, 0);
        for _ in 0..MOST {
            now = rhythm.next(now);
            self.free_until(now);
            while let Some(lane) = self.turn(subject.lane, ready <= now || begun < played) {
                if lane == subject.lane {
                    if begun == played {
                        return beyond(now, half, total - played, most).max(rhythm.next(ready));
                    }
                    half = if begun == most / 2 { now } else { half };
                    begun += 1;
                }
                self.begin(lane, now);
            }
            let free = self.ends.peek().map_or(NEVER, |end| end.0.0);
            let next = if ready > now { free.min(ready) } else { free };
            if next == NEVER {
                break;
            }
            now = next.max(now + 1);
        }
        NEVER
    }

    /// The queue whose turn it is. The subject's has one while something of it is ready.
    fn turn(&self, own: usize, own_is_ready: bool) -> Option<usize> {
        let is_ready =
            |place: usize, line: &QueueInPlay| if place == own { own_is_ready } else { !line.waiting.is_empty() };
        let lines = self.lanes.iter().enumerate().filter(|(place, line)| line.free > 0 && is_ready(*place, line));
        lines.filter(|_| self.host > 0).min_by_key(|(place, line)| (line.served, *place)).map(|(place, _)| place)
    }

    /// The next job of a queue starts now.
    fn begin(&mut self, lane: usize, now: u64) {
        self.served = self.served.saturating_add(1);
        self.lanes[lane].served = self.served;
        let choice = self.part();
        let Some(pace) = take(&mut self.lanes[lane].waiting, choice) else { return };
        let part = self.part();
        self.sit(lane, now.saturating_add(self.scene.length(pace, part)));
    }

    fn sit(&mut self, lane: usize, until: u64) {
        self.host -= 1;
        self.lanes[lane].free -= 1;
        if until < NEVER {
            self.ends.push(Reverse((until, lane)));
        }
    }

    fn free_until(&mut self, now: u64) {
        while let Some(&Reverse((end, lane))) = self.ends.peek()
            && end <= now
        {
            self.ends.pop();
            self.host += 1;
            self.lanes[lane].free += 1;
        }
    }

    /// From 0 to 1, by splitmix64.
    #[expect(clippy::cast_precision_loss, reason = "53 bits")]
    fn part(&mut self) -> f64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.random;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// One job of a random group, as there are many of each.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a part of a count")]
fn take(groups: &mut Vec<Group>, choice: f64) -> Option<usize> {
    let total: u32 = groups.iter().fold(0, |sum, group| sum.saturating_add(group.count));
    let mut place = (f64::from(total) * choice) as u32;
    let chosen = groups.iter().position(|group| {
        let is_here = place < group.count;
        place = place.saturating_sub(group.count);
        is_here
    })?;
    let pace = groups[chosen].pace;
    groups[chosen].count -= 1;
    if groups[chosen].count == 0 {
        groups.swap_remove(chosen);
    }
    Some(pace)
}

/// The start behind so many jobs that were not played: they go on as the second half of those that were.
fn beyond(now: u64, half: u64, rest: u32, played: u32) -> u64 {
    let pace = now.saturating_sub(half) / u64::from(played - played / 2);
    now.saturating_add(pace.saturating_mul(rest.into()))
}

/// So many of a hundred endings have to be within a factor of two of what is said.
const SURE: usize = 70;
/// Whoever reads so few seconds expects the file at once;
const AT_ONCE: u64 = 2;
/// so nothing may speak for a wait of so many.
const LONG: u64 = 30;

/// Whole seconds. Of the times that as many endings as possible are within a factor of two of it is the one nearest to
/// the 80th percentile: late rather than early.
pub(super) fn choose(ends: &[u64]) -> Option<u64> {
    let mut ends: Vec<u64> = ends.iter().map(|end| end.div_ceil(1000).max(1)).collect();
    ends.sort_unstable();
    let (first, count) = widest(&ends)?;
    if count * 100 < ends.len() * SURE {
        return None;
    }
    let (low, high) = (ends[first], ends[first + count - 1]);
    let late = ends[(ends.len() * 4).div_ceil(5) - 1];
    let chosen = late.clamp(high.div_ceil(2), low.saturating_mul(2));
    let is_risky = chosen <= AT_ONCE && ends.last().is_some_and(|last| *last >= LONG);
    (!is_risky).then_some(chosen)
}

/// The most endings of which the latest is at most four times the earliest: where they begin, and how many.
fn widest(ends: &[u64]) -> Option<(usize, usize)> {
    let count = |first: usize| ends.partition_point(|end| *end <= ends[first].saturating_mul(4)) - first;
    (0..ends.len())
        .map(|first| (first, count(first)))
        .filter(|(first, _)| ends[*first] < u64::MAX / 1000)
        .max_by_key(|(_, count)| *count)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(ends: &[u64]) -> Option<u64> {
        choose(&ends.iter().map(|end| end.saturating_mul(1000)).collect::<Vec<_>>())
    }

    #[test]
    fn endings_that_lie_together_give_a_time_and_others_none() {
        assert_eq!(seconds(&[20; 9]), Some(20));
        assert_eq!(seconds(&[10, 20, 30, 40, 40]), Some(20));
        assert_eq!(seconds(&[1, 10, 100, 1000, 10_000]), None);
        assert_eq!(seconds(&[5, 5, 60, 60]), None);
        assert_eq!(seconds(&[20, 20, 20, 20, u64::MAX]), Some(20));
        assert_eq!(seconds(&[u64::MAX; 4]), None);
        assert_eq!(seconds(&[]), None);
    }

    #[test]
    fn nobody_is_told_a_second_where_it_may_be_a_minute() {
        assert_eq!(choose(&[200; 10]), Some(1));
        assert_eq!(choose(&[200, 200, 200, 200, 200, 200, 200, 200, 200, 60_000]), None);
        assert_eq!(choose(&[200, 200, 200, 200, 200, 200, 200, 200, 200, u64::MAX]), None);
    }
}
