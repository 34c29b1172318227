//! From the endings of many plays to one time, or to none.

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
