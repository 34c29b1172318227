//! The files by which an exporter speaks: progress for the row, a message for the visitor. The supervisor reads them
//! about once a second and hands them on.
//!
//! The exporter may put anything there: a link to a secret, a FIFO that nobody writes to, gigabytes, half a line.

use std::{
    borrow::Cow,
    fs::{File, OpenOptions},
    os::unix::fs::FileExt,
    path::Path,
    time::Duration,
};

use super::process_tree::Stuck;
use crate::{model::safe::is_unsafe, site::dir::open_regular};

/// Bytes that are looked at.
const WINDOW: usize = 4096;
/// Characters of a text.
const TEXT: usize = 300;

/// The last progress that was written: per cent, and the text beside it.
pub fn read_progress(path: &Path) -> Option<(u8, Option<String>)> {
    let (file, size) = open(path)?;
    let bytes = read_at(&file, size.saturating_sub(WINDOW as u64))?;
    let text = String::from_utf8_lossy(&bytes);
    whole_lines(&text).lines().rev().find_map(parse)
}

/// The first line of the message file, made safe.
pub fn read_message(path: &Path) -> Option<String> {
    let (file, _) = open(path)?;
    let bytes = read_at(&file, 0)?;
    safe(String::from_utf8_lossy(&bytes).lines().next()?)
}

fn open(path: &Path) -> Option<(File, u64)> {
    let file = open_regular(path, OpenOptions::new().read(true)).ok()?;
    let size = file.metadata().ok()?.len();
    Some((file, size))
}

fn read_at(file: &File, offset: u64) -> Option<Vec<u8>> {
    let mut bytes = vec![0; WINDOW];
    let length = file.read_at(&mut bytes, offset).ok()?;
    bytes.truncate(length);
    Some(bytes)
}

/// Without the last line as long as it is being written, unless it is the only one.
fn whole_lines(text: &str) -> &str {
    text.rfind('\n').map_or(text, |end| &text[..end])
}

/// `40 Fetching images`; a per cent sign, a fraction or no text will do.
fn parse(line: &str) -> Option<(u8, Option<String>)> {
    let line = line.trim();
    let end = line.find(|c: char| !c.is_ascii_digit()).unwrap_or(line.len());
    let percent = line[..end].parse::<u32>().ok()?.min(100);
    let rest = line[end..].trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let rest = rest.strip_prefix('%').unwrap_or(rest);
    Some((u8::try_from(percent).ok()?, safe(rest)))
}

/// No controls, nothing that turns the direction of what follows, no paths, and not long; `None` if nothing is left.
fn safe(text: &str) -> Option<String> {
    let kept: String = text.chars().filter(|c| !is_unsafe(*c)).collect();
    let kept: Vec<_> = kept.split(' ').map(without_path).collect();
    let kept = kept.join(" ");
    let short: String = kept.trim().chars().take(TEXT).collect();
    Some(short.trim_end().to_owned()).filter(|text| !text.is_empty())
}

/// Visitors are told no paths of the server, whatever the exporter has written. `3/4`, `and/or` and addresses of the web
/// are none.
fn without_path(word: &str) -> Cow<'_, str> {
    let begins = |at: usize| {
        let before = word[..at].chars().next_back();
        let after = word[at + 1..].chars().next();
        before.is_none_or(|c| !c.is_alphanumeric() && c != '<')
            && after.is_some_and(|c| c.is_alphanumeric() || "._~".contains(c))
    };
    match word.match_indices('/').find(|(at, _)| begins(*at)) {
        Some((at, _)) if !word.contains("://") => Cow::Owned(format!("{}…", &word[..at])),
        _ => Cow::Borrowed(word),
    }
}

/// What is known of a running exporter.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Progress {
    /// From 0 to 100, as the exporter last said.
    pub percent: Option<u8>,
    /// What it said beside the number, made safe.
    pub text: Option<String>,
    pub elapsed: Duration,
    /// Bytes of the whole tree now.
    pub memory: u64,
    /// CPU time of the whole tree so far.
    pub cpu: Duration,
    /// Processes of the tree now.
    pub processes: usize,
    /// What is left although it was killed; empty unless the attempt cannot be ended.
    pub stuck: Vec<Stuck>,
}

/// What the caller wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopOrder {
    GoOn,
    /// The admin asked to end it.
    Cancel,
    /// The attempt was taken from us: end the tree and touch neither row nor cache.
    Taken,
}

/// The caller of the supervisor. Both are called from its loop and should return soon.
pub trait Overseer {
    /// About once a second, also while the tree is being ended (then the wish is not heeded).
    fn look(&mut self, progress: &Progress) -> StopOrder;

    /// What the exporter wrote, as it comes.
    fn said(&mut self, _bytes: &[u8]) {}
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn progress(text: &[u8]) -> Option<(u8, Option<String>)> {
        let dir = tempfile::tempdir().expect("a directory");
        fs::write(dir.path().join("progress"), text).expect("written");
        read_progress(&dir.path().join("progress"))
    }

    #[test]
    fn the_last_whole_line_counts() {
        assert_eq!(progress(b"10 a\n40 Fetching images\n"), Some((40, Some("Fetching images".into()))));
        assert_eq!(progress(b"10 a\n4"), Some((10, Some("a".into()))));
        assert_eq!(progress(b"55"), Some((55, None)));
        assert_eq!(progress(b"55.5% half\nnonsense\n"), Some((55, Some("half".into()))));
        assert_eq!(progress(b"900 much\n"), Some((100, Some("much".into()))));
        assert_eq!(progress(b"nonsense\n"), None);
    }

    #[test]
    fn a_text_is_made_safe() {
        let long = format!("7 \u{1b}[31m\u{202e}{}\n", "é".repeat(1000));
        let (_, text) = progress(long.as_bytes()).expect("a line");
        let text = text.expect("a text");
        assert_eq!(text.chars().count(), 300);
        assert!(text.starts_with("[31mé"));
        assert!(progress(b"7 \xff\xfe\n").is_some());
    }

    #[test]
    fn a_long_file_is_read_from_its_end_and_a_message_from_its_beginning() {
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("file");
        fs::write(&file, format!("1 first\n{}\n99 last\n", "x".repeat(100_000))).expect("written");
        assert_eq!(read_progress(&file), Some((99, Some("last".into()))));
        assert_eq!(read_message(&file), Some("1 first".into()));
    }

    #[test]
    fn links_fifos_and_directories_are_not_read() {
        let dir = tempfile::tempdir().expect("a directory");
        let link = dir.path().join("link");
        std::os::unix::fs::symlink("/etc/passwd", &link).expect("linked");
        let fifo = dir.path().join("fifo");
        nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).expect("made");
        for path in [&link, &fifo, &dir.path().to_path_buf(), &dir.path().join("missing")] {
            assert_eq!(read_message(path), None, "{}", path.display());
            assert_eq!(read_progress(path), None, "{}", path.display());
        }
    }

    #[test]
    fn paths_of_the_server_are_not_told() {
        for (text, shown) in [
            ("no file /srv/books/x.md", "no file …"),
            ("cannot open '/etc/secret': denied", "cannot open '… denied"),
            ("--out=/var/lib/x", "--out=…"),
            ("see https://example.org/help and/or page 3/4", "see https://example.org/help and/or page 3/4"),
            ("5 km/h / 3", "5 km/h / 3"),
            ("<i>no such book</i>", "<i>no such book</i>"),
            ("~/book", "~…"),
        ] {
            assert_eq!(safe(text).as_deref(), Some(shown));
        }
    }
}
