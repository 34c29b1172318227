//! Ids of attempts: ULIDs, in the order of time, of random bits that the kernel gives.

use std::{
    cell::Cell,
    io,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use ulid::Ulid;

use super::sys;

thread_local! {
    static LAST: Cell<Option<Ulid>> = const { Cell::new(None) };
}

/// Gets the random bits for all ids of this process, so that [`new_id`] cannot fail in the middle of something.
///
/// # Errors
/// The kernel gives none.
pub fn prepare_ids() -> io::Result<()> {
    if LAST.get().is_none() {
        LAST.set(Some(Ulid::from_parts(0, sys::random_bits()?)));
    }
    Ok(())
}

/// A new id, after all that this process has made. Only the first one, without [`prepare_ids`], can fail.
pub fn new_id() -> io::Result<Ulid> {
    prepare_ids()?;
    let last = LAST.get().unwrap_or_default();
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    let now = u64::try_from(since.as_millis()).unwrap_or(u64::MAX).max(last.timestamp_ms());
    // Counting on from random bits makes it as unique as new ones would.
    let random = last.random().wrapping_add(1) & ((1 << 80) - 1);
    let id = Ulid::from_parts(if random == 0 { now + 1 } else { now }, random);
    LAST.set(Some(id));
    Ok(id)
}

/// A word that nobody can guess: new random bits each time.
pub fn nonce() -> io::Result<String> {
    Ok(Ulid::from_parts(0, sys::random_bits()?).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_in_order_and_differ_between_processes() {
        let ids: Vec<_> = (0..1000).map(|_| new_id().expect("random bits")).collect();
        assert!(ids.windows(2).all(|pair| pair[0] < pair[1]));
        let other = std::thread::spawn(|| new_id().expect("random bits")).join().expect("joined");
        assert!(!ids.iter().any(|id| id.random() == other.random()));
        LAST.set(Some(Ulid::from_parts(u64::MAX >> 17, (1 << 80) - 1)));
        let last = LAST.get().expect("set");
        assert!(new_id().expect("random bits") > last, "also when the bits are used up");
        assert_ne!(nonce().expect("random bits"), nonce().expect("random bits"));
    }
}
