//! Texts that prove that they came from a page of ours: a form's token, and the sentence about what was done.
//!
//! A seal is a hash under a key that is derived from the one that only the database has. It is bound to a purpose, a user
//! and an hour, and holds for that hour and the next.

use crate::model::clock::Stamp;

const CONTEXT: &str = "pressroom 2026 seals of the status page";
/// Milliseconds.
const WINDOW: i64 = 3_600_000;

pub(super) struct Seal {
    key: [u8; 32],
    now: Stamp,
}

impl Seal {
    pub(super) fn new(site_key: &[u8; 32], now: Stamp) -> Self {
        Self { key: blake3::derive_key(CONTEXT, site_key), now }
    }

    /// Seals these parts; the first is the purpose.
    pub(super) fn of(&self, parts: &[&[u8]]) -> String {
        self.hash(parts, self.window()).to_hex().to_string()
    }

    /// Whether somebody has sealed these parts lately. Hashes are compared in constant time.
    pub(super) fn holds(&self, parts: &[&[u8]], given: &str) -> bool {
        let Ok(given) = blake3::Hash::from_hex(given) else { return false };
        let now = self.window();
        [now, now - 1].iter().any(|window| self.hash(parts, *window) == given)
    }

    const fn window(&self) -> i64 {
        self.now.0.div_euclid(WINDOW)
    }

    /// With the lengths, so that nothing moves from one part into the next.
    fn hash(&self, parts: &[&[u8]], window: i64) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new_keyed(&self.key);
        hasher.update(&window.to_le_bytes());
        for part in parts {
            hasher.update(&(part.len() as u64).to_le_bytes()).update(part);
        }
        hasher.finalize()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: i64) -> Seal {
        Seal::new(&[7; 32], Stamp(ms))
    }

    #[test]
    fn a_seal_holds_for_its_purpose_its_user_and_its_time() {
        let token = at(WINDOW).of(&[b"form", b"anna"]);
        let holds = |seal: Seal, parts: &[&[u8]]| seal.holds(parts, &token);
        assert!(holds(at(WINDOW), &[b"form", b"anna"]) && holds(at(3 * WINDOW - 1), &[b"form", b"anna"]));
        assert!(!holds(at(3 * WINDOW), &[b"form", b"anna"]) && !holds(at(WINDOW - 1), &[b"form", b"anna"]));
        assert!(!holds(at(WINDOW), &[b"form", b"bert"]) && !holds(at(WINDOW), &[b"said", b"anna"]));
        assert!(
            !holds(at(WINDOW), &[b"for", b"manna"]) && !holds(Seal::new(&[8; 32], Stamp(WINDOW)), &[b"form", b"anna"])
        );
        for wrong in ["", "0", "x", &token[1..], &format!("{token}0")] {
            assert!(!at(WINDOW).holds(&[b"form", b"anna"], wrong), "{wrong}");
        }
    }
}
