//! The log of an attempt: head and tail of what the exporter wrote, within `log_max`, whatever it writes.
//!
//! Every byte goes to the file as it comes. Up to the limit the file is what was written. Beyond it the file has three
//! parts: the head, a line of fixed length that tells how much is missing, and a ring with the tail, in which the newest
//! bytes take the place of the oldest. At the end the ring is put in order; until then [`in_order`] and [`last_words`] do so for
//! whoever looks, since the number in the line tells where the newest byte is. A log that cannot be written is reported by
//! nobody: it must not end an attempt. The last bytes are kept in memory as well, for the row.

use std::{
    fs::{File, OpenOptions},
    io,
    os::unix::fs::{FileExt, OpenOptionsExt},
    path::Path,
};

use crate::site::dir::open_regular;

/// Bytes of the tail that go to the row.
const ROW: usize = 4096;
/// Length of the line between head and tail.
const MARK: u64 = 64;
/// Characters of one line that are shown.
const LINE: usize = 1000;
/// Bytes that are moved at once when the ring is put in order.
const BLOCK: u64 = 1 << 16;
/// Stands in the line as long as the tail is a ring.
const SO_FAR: &str = "left out so far";

/// A log being written.
pub(super) struct Capture {
    file: Option<File>,
    parts: LogParts,
    /// Bytes that the exporter has written.
    seen: u64,
    tail: Tail,
}

impl Capture {
    /// Creates the file. Without one only the tail for the row is kept.
    pub(super) fn create(path: &Path, max: u64) -> Self {
        Self { file: create(path).ok(), parts: LogParts::of(max), seen: 0, tail: Tail::new(ROW) }
    }

    /// Takes what the exporter wrote.
    pub(super) fn take(&mut self, bytes: &[u8]) {
        let whole = self.parts.max.saturating_sub(self.seen).min(bytes.len() as u64);
        let (whole, beyond) = bytes.split_at(usize::try_from(whole).unwrap_or(bytes.len()));
        self.write(self.seen, whole);
        self.write_around(self.seen + whole.len() as u64, beyond);
        self.seen += bytes.len() as u64;
        self.tail.push(bytes);
        if !beyond.is_empty() && self.parts.ring > 0 {
            // Behind the bytes: whoever looks in between finds the tail of a moment ago.
            self.write(self.parts.head, &self.parts.mark(self.seen, SO_FAR));
        }
    }

    /// Puts the file in its final order.
    pub(super) fn close(&mut self) {
        if self.seen <= self.parts.max || self.parts.ring == 0 {
            return;
        }
        self.write(self.parts.head, &self.parts.mark(self.seen, "left out"));
        if let Some(file) = &self.file {
            let next = self.parts.next(self.seen);
            // A full disk costs the log, not the attempt.
            let _ = rotate(file, self.parts.start(), next - self.parts.start(), self.parts.max - next);
        }
    }

    /// The end of the log, fit to be shown: at most 4 KiB.
    pub(super) fn tail_text(&self) -> String {
        fitting(&self.tail.last(ROW))
    }

    /// Into the ring, where `offset` is that of the exporter's output.
    fn write_around(&self, mut offset: u64, bytes: &[u8]) {
        let kept = bytes.len().min(usize::try_from(self.parts.ring).unwrap_or(usize::MAX));
        let (passed_over, mut bytes) = bytes.split_at(bytes.len() - kept);
        offset += passed_over.len() as u64;
        while !bytes.is_empty() {
            let place = self.parts.next(offset);
            let room = usize::try_from(self.parts.max - place).unwrap_or(usize::MAX);
            let (now, later) = bytes.split_at(room.min(bytes.len()));
            self.write(place, now);
            offset += now.len() as u64;
            bytes = later;
        }
    }

    fn write(&self, offset: u64, bytes: &[u8]) {
        let _ = self.file.as_ref().map(|file| file.write_all_at(bytes, offset));
    }
}

/// How a log of so many bytes is divided once something has to be left out.
#[derive(Clone, Copy)]
struct LogParts {
    max: u64,
    head: u64,
    /// Half of the room; none, if that is too little for three parts: then the beginning is all there is.
    ring: u64,
}

impl LogParts {
    const fn of(max: u64) -> Self {
        let ring = if max < 4 * MARK { 0 } else { max / 2 };
        Self { max, head: if ring == 0 { max } else { max - ring - MARK }, ring }
    }

    /// Of the ring in the file. The first byte beyond the limit goes here, where the oldest one of the tail is.
    const fn start(self) -> u64 {
        self.max - self.ring
    }

    /// The place of the byte at `offset` in the output, which is beyond the head.
    const fn next(self, offset: u64) -> u64 {
        self.start() + (offset - self.start()) % self.ring
    }

    fn mark(self, seen: u64, words: &str) -> Vec<u8> {
        let missing = seen - self.head - self.ring;
        let text = format!("[… {missing} bytes {words} …]");
        let width = usize::try_from(MARK).unwrap_or(0) - 2 - (text.len() - text.chars().count());
        format!("\n{text:<width$}\n").into_bytes()
    }

    /// Bytes that were written, if this is such a line in a file whose tail is a ring.
    fn seen(self, mark: &[u8]) -> Option<u64> {
        let text = std::str::from_utf8(mark).ok()?.strip_prefix("\n[… ")?;
        let (missing, rest) = text.split_once(" bytes ")?;
        let seen = missing.parse::<u64>().ok()?.checked_add(self.head + self.ring)?;
        (rest.starts_with(SO_FAR) && self.mark(seen, SO_FAR) == mark).then_some(seen)
    }
}

/// Makes `[first][second]` of these lengths at `start` into `[second][first]`, with little memory: equal parts change
/// places until one of the two is small enough to be held.
fn rotate(file: &File, mut start: u64, mut first: u64, mut second: u64) -> io::Result<()> {
    while first.min(second) > BLOCK {
        let length = first.min(second);
        swap(file, start, start + first, length)?;
        start += length;
        if first <= second { second -= length } else { first -= length }
    }
    if first <= second {
        let held = block(file, start, first)?;
        for (place, size) in blocks(second) {
            file.write_all_at(&block(file, start + first + place, size)?, start + place)?;
        }
        file.write_all_at(&held, start + second)
    } else {
        let held = block(file, start + first, second)?;
        for (place, size) in blocks(first).rev() {
            file.write_all_at(&block(file, start + place, size)?, start + second + place)?;
        }
        file.write_all_at(&held, start)
    }
}

fn swap(file: &File, one: u64, other: u64, length: u64) -> io::Result<()> {
    for (place, size) in blocks(length) {
        let (left, right) = (block(file, one + place, size)?, block(file, other + place, size)?);
        file.write_all_at(&right, one + place)?;
        file.write_all_at(&left, other + place)?;
    }
    Ok(())
}

/// Places and sizes of the blocks that make up so many bytes.
fn blocks(length: u64) -> impl DoubleEndedIterator<Item = (u64, u64)> {
    (0..length.div_ceil(BLOCK)).map(move |number| (number * BLOCK, BLOCK.min(length - number * BLOCK)))
}

fn block(file: &File, place: u64, size: u64) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(size).unwrap_or(0)];
    file.read_exact_at(&mut bytes, place)?;
    Ok(bytes)
}

/// A log in its order, also while it is being written.
pub fn in_order(mut log: Vec<u8>) -> Vec<u8> {
    let parts = LogParts::of(log.len() as u64);
    let at = |place: u64| usize::try_from(place).unwrap_or(usize::MAX);
    if parts.ring > 0
        && let Some(seen) = parts.seen(&log[at(parts.head)..at(parts.start())])
    {
        log[at(parts.start())..].rotate_left(at(parts.next(seen) - parts.start()));
    }
    log
}

/// The end of a log whose run has died, as [`Capture::tail_text`] gives it; empty if there is none.
pub fn last_words(path: &Path) -> String {
    read_end(path).map_or_else(|_| String::new(), |bytes| fitting(&bytes))
}

fn read_end(path: &Path) -> io::Result<Vec<u8>> {
    let file = open_regular(path, OpenOptions::new().read(true))?;
    let length = file.metadata()?.len();
    let parts = LogParts::of(length);
    let mut mark = [0; 64];
    let seen =
        if parts.ring > 0 && file.read_exact_at(&mut mark, parts.head).is_ok() { parts.seen(&mark) } else { None };
    let Some(seen) = seen else { return read_before(&file, 0, length, ROW as u64) };
    let next = parts.next(seen);
    let newest = read_before(&file, parts.start(), next, ROW as u64)?;
    let older = read_before(&file, next, length, ROW as u64 - newest.len() as u64)?;
    Ok([older, newest].concat())
}

/// At most so many bytes between two places, the last ones.
fn read_before(file: &File, start: u64, end: u64, most: u64) -> io::Result<Vec<u8>> {
    let length = (end - start).min(most);
    let mut bytes = vec![0; usize::try_from(length).unwrap_or(0)];
    let read = file.read_at(&mut bytes, end - length)?;
    bytes.truncate(read);
    Ok(bytes)
}

/// Made showable, which can make it longer, and cut at its beginning.
fn fitting(bytes: &[u8]) -> String {
    let mut text = shown(bytes);
    while text.len() > ROW {
        let cut = text.ceil_char_boundary(text.len() - ROW);
        text.drain(..cut);
    }
    text
}

fn create(path: &Path) -> io::Result<File> {
    open_regular(path, OpenOptions::new().read(true).write(true).create(true).truncate(true).mode(0o600))
}

/// Text that is safe to show: valid UTF-8, no controls but newline and tab, long lines cut.
pub fn shown(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        out.extend(line.trim_end_matches('\n').chars().filter(|c| !c.is_control() || *c == '\t').take(LINE));
        if line.chars().nth(LINE + 1).is_some() {
            out.push('…');
        }
        if line.ends_with('\n') {
            out.push('\n');
        }
    }
    out
}

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
    use std::fs;

    use proptest::prelude::*;

    use super::*;

    fn kept(max: u64, chunks: &[&[u8]]) -> (Vec<u8>, String) {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("log");
        let mut capture = Capture::create(&path, max);
        for chunk in chunks {
            capture.take(chunk);
        }
        capture.close();
        (fs::read(path).expect("a log"), capture.tail_text())
    }

    /// What a log of this output is to look like.
    fn right(max: u64, output: &[u8], words: &str) -> Vec<u8> {
        let parts = LogParts::of(max);
        let [max, head, ring] = [max, parts.head, parts.ring].map(|size| usize::try_from(size).expect("fits"));
        if output.len() <= max || ring == 0 {
            return output[..output.len().min(max)].to_vec();
        }
        let mark = parts.mark(output.len() as u64, words);
        [&output[..head], &mark, &output[output.len() - ring..]].concat()
    }

    #[test]
    fn a_short_log_is_whole() {
        let (file, tail) = kept(1024, &[b"one\n", b"two\n"]);
        assert_eq!((file.as_slice(), tail.as_str()), (&b"one\ntwo\n"[..], "one\ntwo\n"));
    }

    #[test]
    fn of_a_long_log_head_and_tail_are_kept() {
        let lines: Vec<String> = (0..10_000).map(|number| format!("line {number}\n")).collect();
        let chunks: Vec<&[u8]> = lines.iter().map(String::as_bytes).collect();
        let (file, tail) = kept(1024, &chunks);
        let text = String::from_utf8(file).expect("text");
        assert!(text.len() <= 1024);
        assert!(text.starts_with("line 0\nline 1\n") && text.ends_with("line 9998\nline 9999\n"));
        assert!(text.contains("bytes left out"));
        assert!(tail.len() <= 4096 && tail.ends_with("line 9999\n"));
    }

    #[test]
    fn a_log_without_room_is_empty_but_its_tail_is_known() {
        let (file, tail) = kept(0, &[b"why it failed\n"]);
        assert_eq!((file.len(), tail.as_str()), (0, "why it failed\n"));
    }

    #[test]
    fn what_is_shown_is_text() {
        assert_eq!(shown(b"a\x1b[31mb\0\r\n\tc\xff"), "a[31mb\n\tc\u{fffd}");
        let shown = shown(&[b'x'; 5000]);
        assert_eq!(shown.chars().count(), 1001);
        assert!(shown.ends_with('…'));
    }

    #[test]
    fn a_ring_of_many_blocks_is_put_in_order() {
        for (first, second) in
            [(0, 5), (5, 0), (3, 1_000_003), (1_000_003, 3), (200_001, 1_000_000), (999_999, 131_073)]
        {
            let file = tempfile::tempfile().expect("a file");
            let (one, other) = (vec![1; first], (0..=250).cycle().take(second).collect::<Vec<u8>>());
            file.write_all_at(&[b"ab".as_slice(), &one, &other].concat(), 0).expect("written");
            rotate(&file, 2, first as u64, second as u64).expect("rotated");
            let all = block(&file, 0, 2 + (first + second) as u64).expect("read");
            assert!(all == [b"ab".as_slice(), &other, &one].concat(), "{first} {second}");
        }
    }

    proptest! {
        #[test]
        fn head_and_tail_are_there_at_every_moment(max in 0..20_000_u64, sizes in prop::collection::vec(0..7000_usize, 0..20)) {
            let dir = tempfile::tempdir().expect("a directory");
            let path = dir.path().join("log");
            let mut capture = Capture::create(&path, max);
            let mut output = Vec::new();
            for size in sizes {
                let chunk: Vec<u8> = (b'a'..=b'w').cycle().skip(output.len() % 23).take(size).collect();
                capture.take(&chunk);
                output.extend(chunk);
                prop_assert_eq!(in_order(fs::read(&path).expect("a log")), right(max, &output, SO_FAR));
                prop_assert!(max < 4 * ROW as u64 || last_words(&path) == capture.tail_text());
            }
            capture.close();
            prop_assert_eq!(fs::read(&path).expect("a log"), right(max, &output, "left out"));
        }
    }
}

#[cfg(test)]
mod tail_tests {
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
