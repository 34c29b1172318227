//! The log of an attempt: head and tail of what the exporter wrote, within `log_max`, whatever it writes.
//!
//! Up to the limit every byte goes to the file as it comes. Beyond it the file is head, a line that tells how much
//! is missing, and the tail, which is kept in memory and written again from time to time. A log that cannot be written
//! is reported by nobody: it must not end an attempt.

use std::{
    fs::{File, OpenOptions},
    io,
    os::unix::fs::{FileExt, OpenOptionsExt},
    path::Path,
};

use super::tail::Tail;

/// Bytes of the tail that go to the row.
const ROW: usize = 4096;
/// Room for the line between head and tail.
const MARK: u64 = 64;
/// Characters of one line that are shown.
const LINE: usize = 1000;

/// A log being written.
pub(super) struct Capture {
    file: Option<File>,
    max: u64,
    /// Bytes that the exporter has written.
    seen: u64,
    tail: Tail,
    /// The tail in the file is not the newest.
    behind: bool,
}

impl Capture {
    /// Creates the file. Without one only the tail for the row is kept.
    pub(super) fn create(path: &Path, max: u64) -> Self {
        let keep = usize::try_from(tail_size(max)).unwrap_or(ROW).max(ROW);
        Self { file: create(path).ok(), max, seen: 0, tail: Tail::new(keep), behind: false }
    }

    /// Takes what the exporter wrote.
    pub(super) fn take(&mut self, bytes: &[u8]) {
        let room = usize::try_from(self.max.saturating_sub(self.seen)).unwrap_or(usize::MAX);
        let whole = &bytes[..room.min(bytes.len())];
        self.write(self.seen, whole);
        self.seen += bytes.len() as u64;
        self.tail.push(bytes);
        self.behind |= whole.len() < bytes.len();
    }

    /// Brings the tail in the file up to date.
    pub(super) fn flush(&mut self) {
        if !std::mem::take(&mut self.behind) {
            return;
        }
        let keep = tail_size(self.max);
        if keep == 0 {
            return; // Too little room for three parts: the beginning is there.
        }
        let head = self.max - keep - MARK;
        let missing = self.seen - head - keep;
        let mark = format!("\n[… {missing} bytes left out …]\n");
        let tail = self.tail.last(usize::try_from(keep).unwrap_or(0));
        let text = [mark.as_bytes(), &tail].concat();
        self.write(head, &text);
        let _ = self.file.as_ref().map(|file| file.set_len(head + text.len() as u64));
    }

    /// The end of the log, fit to be shown: at most 4 KiB.
    pub(super) fn tail_text(&self) -> String {
        fitting(&self.tail.last(ROW))
    }

    fn write(&mut self, offset: u64, bytes: &[u8]) {
        // A full disk costs the log, not the attempt.
        let _ = self.file.as_ref().map(|file| file.write_all_at(bytes, offset));
    }
}

/// The end of a log whose run has died, as [`Capture::tail_text`] gives it; empty if there is none.
pub fn last_words(path: &Path) -> String {
    read_end(path).map_or_else(|_| String::new(), |bytes| fitting(&bytes))
}

fn read_end(path: &Path) -> io::Result<Vec<u8>> {
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let mut bytes = vec![0; ROW];
    let length = file.read_at(&mut bytes, file.metadata()?.len().saturating_sub(ROW as u64))?;
    bytes.truncate(length);
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
    OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).custom_flags(libc::O_NOFOLLOW).open(path)
}

/// Half of the room, once something has to be left out.
const fn tail_size(max: u64) -> u64 {
    if max < 4 * MARK { 0 } else { max / 2 }
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
            capture.flush();
        }
        (fs::read(path).expect("a log"), capture.tail_text())
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

    proptest! {
        #[test]
        fn a_log_never_outgrows_its_room(max in 0..2000_u64, sizes in prop::collection::vec(0..700_usize, 0..20)) {
            let chunks: Vec<Vec<u8>> = sizes.iter().map(|size| vec![b'x'; *size]).collect();
            let (file, _) = kept(max, &chunks.iter().map(Vec::as_slice).collect::<Vec<_>>());
            prop_assert!(file.len() as u64 <= max);
        }
    }
}
