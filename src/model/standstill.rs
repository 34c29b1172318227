//! Time that does not count: in it nothing could have been started, whatever stood in the queue. Pure arithmetic of
//! spans, which may overlap and come in any order.

use std::time::Duration;

use super::clock::Stamp;

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
