//! Where a link of one Markdown file leads inside the book.

use std::path::{Component, Path, PathBuf};

use percent_encoding::percent_decode_str;

use crate::chapter::Source;

/// The address to put into the book, or `None` where the link has to go and only its text stays.
pub fn resolve(target: &str, from: &Source, sources: &[Source]) -> Option<String> {
    if is_public(target) {
        return Some(target.to_owned());
    }
    let (path, fragment) = target.split_once('#').unwrap_or((target, ""));
    let wanted = locate(path, from)?;
    let index = sources.iter().position(|source| source.path == wanted)?;
    let file = file_name(index);
    Some(match sources[index].id_of(fragment) {
        Some(id) => format!("{file}#{id}"),
        None => file,
    })
}

/// The name of a chapter's file in the book.
pub fn file_name(index: usize) -> String {
    format!("chapter-{}.xhtml", index + 1)
}

/// An address that means the same outside of this directory, and that is one: `epubcheck` reads them.
fn is_public(target: &str) -> bool {
    let host = target.strip_prefix("https://").or_else(|| target.strip_prefix("http://"));
    let plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_graphic() && !b"<>\"{}|\\^`".contains(&byte));
    host.is_some_and(|host| host.starts_with(|c: char| c.is_ascii_alphanumeric()) && plain(host))
}

fn locate(path: &str, from: &Source) -> Option<PathBuf> {
    if path.is_empty() {
        return Some(from.path.clone());
    }
    let path = percent_decode_str(path).decode_utf8().ok()?;
    Some(normal(&from.path.parent()?.join(&*path)))
}

/// Resolves `.` and `..` by name alone: a link in a text is no reason to look at the file system.
pub fn normal(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir if clean.file_name().is_some() => {
                clean.pop();
            }
            other => clean.push(other),
        }
    }
    clean
}
