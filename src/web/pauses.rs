//! How long a page waits before it looks again: short at first, then longer, and not for ever.

/// Seconds; the last one repeats.
pub(super) const PAUSES: [u64; 8] = [2, 3, 4, 6, 9, 14, 20, 30];
/// Seconds after which a page has been forgotten in some tab and stops.
pub(super) const PATIENCE: u64 = 30 * 60;

/// The pause of a page that has looked `turn` times already. `None`: it has looked for long enough.
pub(super) fn after(turn: u32) -> Option<u64> {
    let turn = u64::from(turn);
    let pause = |turn: u64| usize::try_from(turn).ok().and_then(|turn| PAUSES.get(turn)).copied().unwrap_or(30);
    let steps = PAUSES.len() as u64;
    let spent: u64 = (0..turn.min(steps)).map(pause).sum::<u64>() + turn.saturating_sub(steps) * 30;
    Some(pause(turn)).filter(|pause| spent + pause <= PATIENCE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_from_two_seconds_to_thirty_and_end_after_half_an_hour() {
        assert_eq!((after(0), after(1), after(7), after(20)), (Some(2), Some(3), Some(30), Some(30)));
        let all: Vec<u64> = (0..).map_while(after).collect();
        assert!(all.is_sorted());
        assert_eq!(all.last().copied(), Some(crate::config::LONGEST_PAUSE.as_secs()));
        let whole: u64 = all.iter().sum();
        assert!(whole <= PATIENCE && whole + 30 > PATIENCE, "{whole}");
        assert_eq!(after(u32::MAX), None);
    }
}
