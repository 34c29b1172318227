//! The last bytes of a stream.

/// A ring of `size` bytes, which grows up to that.
pub(super) struct Tail {
    ring: Vec<u8>,
    size: usize,
    /// Where the oldest byte is, once the ring is full.
    next: usize,
}

impl Tail {
    pub(super) const fn new(size: usize) -> Self {
        Self { ring: Vec::new(), size, next: 0 }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        let bytes = &bytes[bytes.len().saturating_sub(self.size)..];
        let (grow, wrap) = bytes.split_at(bytes.len().min(self.size - self.ring.len()));
        self.ring.extend_from_slice(grow);
        let (first, second) = wrap.split_at(wrap.len().min(self.size - self.next));
        self.ring[self.next..self.next + first.len()].copy_from_slice(first);
        self.ring[..second.len()].copy_from_slice(second);
        self.next = (self.next + wrap.len()) % self.size;
    }

    /// At most `count` of them, in order.
    pub(super) fn last(&self, count: usize) -> Vec<u8> {
        let (new, old) = self.ring.split_at(self.next);
        let skip = self.ring.len().saturating_sub(count);
        [old, new].concat().split_off(skip)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_ring_keeps_the_last_bytes(chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..20), size in 1..50_usize) {
            let mut tail = Tail::new(size);
            for chunk in &chunks {
                tail.push(chunk);
            }
            let all = chunks.concat();
            prop_assert_eq!(tail.last(size), &all[all.len().saturating_sub(size)..]);
        }
    }
}
