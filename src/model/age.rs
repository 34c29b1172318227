//! How old a file may be: whether it is served, and when it goes. Pure decisions and arithmetic.
//!
//! A file keeps being served for `ttl + stale` and is deleted `grace` later, so that whoever was told "ready" at
//! the last moment still finds it. A time to live of `None` ends after [`NEVER`], so that every file can be made so old
//! that nobody is told "ready" any more: what has to go for its size is, and goes `grace` later as well. An answer
//! leaves no trace that pruning could see (the web user may not write to the file, and its access time is kept for a
//! day at best), so this is the only promise that holds.
//!
//! Of a job's age some time does not count: in it nothing could have been started, whatever stood in the queue.

use std::time::Duration;

use super::clock::Stamp;

/// A file older than this was given a time long gone.
const NEVER: Duration = Duration::from_hours(50 * 365 * 24);

/// What a file of the cache is good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freshness {
    Fresh,
    /// Served while a newer one is made, or cannot be.
    Stale,
    Expired,
}

/// The age of a file made at `made`. A file from the future is fresh.
pub fn freshness(made: Stamp, now: Stamp, ttl: Option<Duration>, stale: Duration) -> Freshness {
    let age = now.since(made);
    let ttl = ttl.unwrap_or(NEVER);
    if age < ttl {
        Freshness::Fresh
    } else if age < ttl.saturating_add(stale) {
        Freshness::Stale
    } else {
        Freshness::Expired
    }
}

/// Whether nobody can hold a "ready" for this file any more.
pub fn deletable(made: Stamp, now: Stamp, ttl: Option<Duration>, stale: Duration, grace: Duration) -> bool {
    now.since(made) >= served_for(ttl, stale).saturating_add(grace)
}

/// The time of making that a file has to be given to expire at this moment. `None`: there is no moment so long ago.
pub fn expired_now(now: Stamp, ttl: Option<Duration>, stale: Duration) -> Option<Stamp> {
    Some(now.minus(served_for(ttl, stale))).filter(|made| *made > Stamp(0))
}

fn served_for(ttl: Option<Duration>, stale: Duration) -> Duration {
    ttl.unwrap_or(NEVER).saturating_add(stale)
}

/// Where a file stands on its way out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// It is served.
    Stays,
    /// It is not served any more, but somebody may still hold a "ready" for it.
    Leaves,
    /// As `deletable` said.
    Goes,
}

/// A file as far as the choice of what to prune needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Aged {
    pub made: Stamp,
    /// Bytes.
    pub size: u64,
    pub way: Way,
}

impl Aged {
    pub fn new(made: Stamp, size: u64, now: Stamp, ttl: Option<Duration>, stale: Duration, grace: Duration) -> Self {
        let way = match freshness(made, now, ttl, stale) {
            _ if deletable(made, now, ttl, stale, grace) => Way::Goes,
            Freshness::Expired => Way::Leaves,
            Freshness::Fresh | Freshness::Stale => Way::Stays,
        };
        Self { made, size, way }
    }
}

/// What is to be done about files, by their places.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    /// Nobody can hold a "ready" for them.
    pub gone: Vec<usize>,
    /// The oldest ones, that the rest fits into `max_size` bytes: from now on they are not served.
    pub expired: Vec<usize>,
    /// Bytes beyond `max_size` that stay all the same.
    pub excess: u64,
}

/// Of the files that are served only those of at least `grace` have to expire for their size, and none that is pinned:
/// a job is for it or is made from it. What is pinned stays and takes its room, so that others go in its place.
pub fn prune_choice(
    files: &[Aged],
    grace: Duration,
    max_size: u64,
    now: Stamp,
    is_pinned: impl Fn(usize) -> bool,
) -> Choice {
    let mut choice = Choice::default();
    let mut served = Vec::new();
    let mut total = 0_u64;
    for (place, file) in files.iter().enumerate() {
        match file.way {
            Way::Stays => served.push(place),
            Way::Leaves | Way::Goes if is_pinned(place) => {}
            Way::Leaves => continue,
            Way::Goes => {
                choice.gone.push(place);
                continue;
            }
        }
        total = total.saturating_add(file.size);
    }
    choice.gone.sort_by_key(|&place| files[place].made);
    served.sort_by_key(|&place| files[place].made);
    let old = served.into_iter().take_while(|&place| now.since(files[place].made) >= grace);
    for place in old {
        if total <= max_size {
            break;
        }
        if !is_pinned(place) {
            total -= files[place].size.min(total);
            choice.expired.push(place);
        }
    }
    choice.excess = total.saturating_sub(max_size);
    choice
}

/// From one moment to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span {
    pub since: Stamp,
    pub until: Stamp,
}

/// The moment since which so much time has passed without the spans: what has waited since before it has waited longer.
pub fn moment_before(now: Stamp, passed: Duration, spans: &[Span]) -> Stamp {
    let (mut left, mut end) = (passed, now);
    for span in disjoint(spans, Stamp(i64::MIN), now).into_iter().rev() {
        let counted = end.since(span.until);
        if counted > left {
            break;
        }
        left -= counted;
        end = span.since;
    }
    end.minus(left)
}

/// The time from `since` to `until` without the spans.
pub fn time_without(since: Stamp, until: Stamp, spans: &[Span]) -> Duration {
    let still = disjoint(spans, since, until).into_iter().map(|span| span.until.since(span.since));
    until.since(since).saturating_sub(still.sum())
}

/// What of the spans lies between the two moments, the earliest first; those that touch are one.
fn disjoint(spans: &[Span], from: Stamp, to: Stamp) -> Vec<Span> {
    let cut = |span: &Span| Span { since: span.since.max(from), until: span.until.min(to) };
    let mut all: Vec<_> = spans.iter().map(cut).filter(|span| span.since < span.until).collect();
    all.sort_unstable();
    let mut merged: Vec<Span> = Vec::with_capacity(all.len());
    for span in all {
        match merged.last_mut() {
            Some(last) if span.since <= last.until => last.until = last.until.max(span.until),
            _ => merged.push(span),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TTL: Option<Duration> = Some(Duration::from_millis(600));
    const GRACE: Duration = Duration::from_millis(120);
    const STALE: Duration = Duration::from_secs(1);

    #[test]
    fn a_file_is_fresh_then_stale_then_expired() {
        let at = |now| freshness(Stamp(0), Stamp(now), TTL, STALE);
        assert_eq!([at(-5), at(599)], [Freshness::Fresh; 2]);
        assert_eq!([at(600), at(1599)], [Freshness::Stale; 2]);
        assert_eq!([at(1600), at(i64::MAX)], [Freshness::Expired; 2]);
    }

    #[test]
    fn without_a_ttl_a_file_stays_fresh_and_is_kept_unless_it_is_expired_for_its_size() {
        let now = Stamp(1_800_000_000_000);
        let at = |made| (freshness(made, now, None, STALE), deletable(made, now, None, STALE, GRACE));
        assert_eq!(at(now.minus(Duration::from_hours(40 * 365 * 24))), (Freshness::Fresh, false));
        let made = expired_now(now, None, STALE).unwrap();
        assert_eq!(at(made), (Freshness::Expired, false));
        assert_eq!(at(made.minus(GRACE)), (Freshness::Expired, true));
        assert_eq!(expired_now(now, Some(Duration::MAX), STALE), None);
    }

    #[test]
    fn a_file_is_deletable_when_ttl_stale_and_grace_are_over() {
        assert!(!deletable(Stamp(0), Stamp(1719), TTL, STALE, GRACE));
        assert!(deletable(Stamp(0), Stamp(1720), TTL, STALE, GRACE));
    }

    #[test]
    fn durations_without_end_do_not_overflow() {
        assert_eq!(freshness(Stamp(0), Stamp(9), Some(Duration::MAX), Duration::MAX), Freshness::Fresh);
        assert!(!deletable(Stamp(0), Stamp(9), Some(Duration::MAX), Duration::MAX, Duration::MAX));
    }

    /// Each with whether it is pinned.
    fn files() -> impl Strategy<Value = Vec<(Aged, bool)>> {
        let way = prop_oneof![Just(Way::Stays), Just(Way::Leaves), Just(Way::Goes)];
        let file = (0_i64..1000, 0_u64..100, way, any::<bool>());
        let aged = |(made, size, way, pinned)| (Aged { made: Stamp(made), size, way }, pinned);
        prop::collection::vec(file.prop_map(aged), 0..20)
    }

    proptest! {
        #[test]
        fn what_stays_fits_or_is_too_young_to_go_or_pinned(files in files(), max_size in 0_u64..1000) {
            let now = Stamp(1000);
            let aged: Vec<_> = files.iter().map(|(aged, _)| *aged).collect();
            let choice = prune_choice(&aged, GRACE, max_size, now, |place| files[place].1);
            let young = |place: usize| now.since(aged[place].made) < GRACE;
            let goes = |place: &usize| choice.gone.contains(place) || choice.expired.contains(place);
            let rest = (0..files.len()).filter(|place| !goes(place));
            let stays: Vec<_> = rest.filter(|&place| aged[place].way == Way::Stays || files[place].1).collect();
            let size: u64 = stays.iter().map(|&place| aged[place].size).sum();
            prop_assert_eq!(choice.excess, size.saturating_sub(max_size));
            prop_assert!(size <= max_size || stays.iter().all(|&place| young(place) || files[place].1));
            prop_assert!(choice.gone.iter().chain(&choice.expired).all(|&place| !files[place].1));
            prop_assert!(choice.gone.iter().all(|&place| aged[place].way == Way::Goes));
            prop_assert!(choice.expired.iter().all(|&place| aged[place].way == Way::Stays && !young(place)));
        }

        #[test]
        fn a_served_file_is_never_deletable(age in 0_i64..5000, ttl in 0_u64..2000, stale in 0_u64..2000) {
            let (ttl, stale) = (Some(Duration::from_millis(ttl)), Duration::from_millis(stale));
            let served = freshness(Stamp(0), Stamp(age), ttl, stale) != Freshness::Expired;
            prop_assert!(!(served && deletable(Stamp(0), Stamp(age + 119), ttl, stale, GRACE)));
        }
    }
}

#[cfg(test)]
mod standstill_tests {
    use proptest::prelude::*;

    use super::*;

    fn spans(pairs: &[(i64, i64)]) -> Vec<Span> {
        pairs.iter().map(|&(since, until)| Span { since: Stamp(since), until: Stamp(until) }).collect()
    }

    #[test]
    fn a_span_in_between_puts_the_moment_back() {
        let before = |pairs: &[(i64, i64)]| moment_before(Stamp(1000), Duration::from_millis(100), &spans(pairs)).0;
        assert_eq!(before(&[]), 900);
        assert_eq!(before(&[(0, 800)]), 900, "it is older than that");
        assert_eq!(before(&[(950, 1000)]), 850);
        assert_eq!(before(&[(920, 940), (930, 970)]), 850, "twice is once");
        assert_eq!(before(&[(950, 2000), (3000, 4000)]), 850, "what lies ahead is cut off");
        assert_eq!(before(&[(0, 1000)]), -100);
    }

    #[test]
    fn nothing_overflows() {
        let all = spans(&[(i64::MIN, i64::MAX)]);
        assert_eq!(moment_before(Stamp(0), Duration::MAX, &[]), Stamp(-crate::model::clock::millis(Duration::MAX)));
        let _ = moment_before(Stamp(i64::MAX), Duration::MAX, &all);
        assert_eq!(time_without(Stamp(0), Stamp(i64::MAX), &all), Duration::ZERO);
    }

    proptest! {
        #[test]
        fn both_ways_of_counting_agree(
            pairs in prop::collection::vec((0_i64..1000, 0_i64..300), 0..12),
            since in 0_i64..1000,
            passed in 0_u64..1000,
        ) {
            let spans: Vec<_> =
                pairs.iter().map(|&(at, long)| Span { since: Stamp(at), until: Stamp(at + long) }).collect();
            let (now, passed) = (Stamp(1000), Duration::from_millis(passed));
            let by_hand = (since..1000)
                .filter(|at| !spans.iter().any(|span| (span.since.0..span.until.0).contains(at)))
                .count();
            let counted = time_without(Stamp(since), now, &spans);
            prop_assert_eq!(counted, Duration::from_millis(by_hand as u64));
            // What has waited since before the moment has waited longer than that, and nothing else has.
            prop_assert_eq!(Stamp(since) < moment_before(now, passed, &spans), counted > passed);
        }
    }
}
