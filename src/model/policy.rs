//! How old a file may be: whether it is served, and when it goes. Pure decisions.
//!
//! A file keeps being served for `ttl + stale` and is deleted `grace` later, so that whoever was told "ready" at
//! the last moment still finds it. A time to live of `None` never ends.

use std::{cmp::Reverse, time::Duration};

use super::clock::Stamp;

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
    match ttl {
        None => Freshness::Fresh,
        Some(ttl) if age < ttl => Freshness::Fresh,
        Some(ttl) if age < ttl.saturating_add(stale) => Freshness::Stale,
        Some(_) => Freshness::Expired,
    }
}

/// Whether nobody can hold a "ready" for this file any more.
pub fn deletable(made: Stamp, now: Stamp, ttl: Option<Duration>, stale: Duration, grace: Duration) -> bool {
    ttl.is_some_and(|ttl| now.since(made) >= ttl.saturating_add(stale).saturating_add(grace))
}

/// A file as far as the choice of what to prune needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Aged {
    pub made: Stamp,
    /// Bytes.
    pub size: u64,
    /// As `deletable` said.
    pub deletable: bool,
}

/// The places of the files that go: all deletable ones, then the oldest ones until the rest fits into `max_size`
/// bytes. Only files of at least `grace` go for their size.
pub fn prune_choice(files: &[Aged], grace: Duration, max_size: u64, now: Stamp) -> Vec<usize> {
    let (mut gone, kept): (Vec<_>, Vec<_>) = (0..files.len()).partition(|&place| files[place].deletable);
    gone.sort_by_key(|&place| files[place].made);
    gone.extend(overflow(files, kept, grace, max_size, now));
    gone
}

fn overflow(files: &[Aged], mut kept: Vec<usize>, grace: Duration, max_size: u64, now: Stamp) -> Vec<usize> {
    let mut total = kept.iter().fold(0_u64, |sum, &place| sum.saturating_add(files[place].size));
    kept.sort_by_key(|&place| Reverse(files[place].made));
    let mut gone = Vec::new();
    while total > max_size
        && let Some(oldest) = kept.pop()
        && now.since(files[oldest].made) >= grace
    {
        total -= files[oldest].size.min(total);
        gone.push(oldest);
    }
    gone
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
    fn without_a_ttl_a_file_stays_fresh_and_is_kept() {
        assert_eq!(freshness(Stamp(0), Stamp(i64::MAX), None, STALE), Freshness::Fresh);
        assert!(!deletable(Stamp(0), Stamp(i64::MAX), None, STALE, GRACE));
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

    fn files() -> impl Strategy<Value = Vec<Aged>> {
        let file = (0_i64..1000, 0_u64..100, any::<bool>());
        prop::collection::vec(
            file.prop_map(|(made, size, deletable)| Aged { made: Stamp(made), size, deletable }),
            0..20,
        )
    }

    proptest! {
        #[test]
        fn what_stays_fits_or_is_too_young_to_go(files in files(), max_size in 0_u64..1000) {
            let now = Stamp(1000);
            let gone = prune_choice(&files, GRACE, max_size, now);
            let young = |place: &usize| now.since(files[*place].made) < GRACE;
            let stays: Vec<usize> = (0..files.len()).filter(|place| !gone.contains(place)).collect();
            let size: u64 = stays.iter().map(|&place| files[place].size).sum();
            prop_assert!(size <= max_size || stays.iter().all(young));
            prop_assert!(stays.iter().all(|&place| !files[place].deletable));
            prop_assert!(gone.iter().all(|place| files[*place].deletable || !young(place)));
        }

        #[test]
        fn a_served_file_is_never_deletable(age in 0_i64..5000, ttl in 0_u64..2000, stale in 0_u64..2000) {
            let (ttl, stale) = (Some(Duration::from_millis(ttl)), Duration::from_millis(stale));
            let served = freshness(Stamp(0), Stamp(age), ttl, stale) != Freshness::Expired;
            prop_assert!(!(served && deletable(Stamp(0), Stamp(age + 119), ttl, stale, GRACE)));
        }
    }
}
