//! The name of a wanted file: readable, never longer than a file system takes, and different for different parameters.
//!
//! An escaped value holds no `-` and no `~`, and literal text holds no `~`. So a name without `~` can be taken apart
//! into its values again, and a name with `~` tells its parameters apart by the hash behind it.

use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};

use super::template::{Piece, names, pieces};

/// Bytes of a name below `cache/<exporter>/`.
pub const MAX_BYTES: usize = 200;
/// Bytes of an extension, so that a cut name still says something.
pub const MAX_EXTENSION: usize = 40;
const HASH_DIGITS: usize = 32;

/// `epub/Candide-fr-serif.epub`: the identity of a job.
///
/// `values` are all parameters of the exporter in the order of the configuration: name, value (empty for one that is
/// absent) and whether it changes the file. Without a template those that do are joined by `-`.
pub fn filename<S: AsRef<str>>(exporter: &str, template: Option<&str>, values: &[(S, S, bool)]) -> String {
    let made = joined(template, values);
    let template = made.as_deref().or(template).unwrap_or(exporter);
    let extension = extension(template);
    let stem = &template[..template.len() - extension.len()];
    let mut name = NameBuilder::new(exporter, MAX_BYTES - extension.len());
    let whole = name.fill(stem, values);
    if !whole || !tells_apart(template, values) {
        name = NameBuilder::new(exporter, MAX_BYTES - extension.len() - 1 - HASH_DIGITS);
        name.fill(stem, values);
        name.text.push('~');
        name.text.push_str(&hash(exporter, values));
    }
    name.text.push_str(extension);
    name.text
}

/// The template of a task that has none.
fn joined<S: AsRef<str>>(template: Option<&str>, values: &[(S, S, bool)]) -> Option<String> {
    let keys: Vec<_> =
        values.iter().filter(|(_, _, key)| *key).map(|(name, ..)| format!("{{{}}}", name.as_ref())).collect();
    (template.is_none() && !keys.is_empty()).then(|| keys.join("-"))
}

/// What follows the template's last placeholder, from its first dot on: `.epub`, `.tar.gz`, or nothing.
pub fn extension(template: &str) -> &str {
    let last = pieces(template).filter(|(piece, _)| matches!(piece, Piece::Name(_))).last();
    let tail = &template[last.map_or(0, |(_, end)| end)..];
    tail.find('.').map_or("", |dot| &tail[dot..])
}

/// A value as it stands in a name: percent-escaped, except for what is readable and harmless in every file system,
/// shell and URL path.
#[cfg(test)]
pub fn escape(value: &str) -> String {
    let mut escaped = String::with_capacity(value.len());
    units(value, |unit| {
        escaped.push_str(unit);
        true
    });
    escaped
}

/// Whether `name`, found below `cache/<exporter>/`, can be one of ours: prune touches nothing else.
pub fn is_ours(name: &str) -> bool {
    let (stem, hashed) = name.split_once('~').unwrap_or((name, ""));
    let hash_fits = stem.len() == name.len() || is_hash_and_extension(hashed);
    (1..=MAX_BYTES).contains(&name.len()) && !name.starts_with(['.', '-']) && name.chars().all(is_allowed) && hash_fits
}

/// Whether `text` can be the filename of a job: `<exporter>/<name>`, each of our grammar.
pub fn is_filename(text: &str) -> bool {
    text.split_once('/').is_some_and(|(exporter, name)| is_name(exporter) && is_ours(name))
}

/// Whether `text` can be the name of an exporter or a queue, and of a directory.
pub fn is_name(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    text.len() <= 255
        && text.bytes().next().is_some_and(plain)
        && text.bytes().all(|byte| plain(byte) || byte == b'_' || byte == b'-')
}

/// What is wrong with a piece of literal text in a template, as the end of a sentence that begins with "it".
pub fn literal_problem(text: &str) -> Option<String> {
    let bad = text.chars().find(|c| !is_allowed(*c) || matches!(c, '~' | '%'))?;
    Some(format!("contains {bad:?}, which has a special meaning in file names"))
}

fn is_hash_and_extension(text: &str) -> bool {
    let is_digit = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    text.split_at_checked(HASH_DIGITS).is_some_and(|(hash, rest)| {
        hash.as_bytes().iter().all(is_digit) && !rest.contains('~') && (rest.is_empty() || rest.starts_with('.'))
    })
}

fn is_allowed(c: char) -> bool {
    if c.is_ascii() { !c.is_ascii_control() && c != '/' } else { is_visible(c) }
}

fn is_visible(c: char) -> bool {
    use GeneralCategory as Is;
    !matches!(
        c.general_category(),
        Is::Control
            | Is::Format
            | Is::LineSeparator
            | Is::ParagraphSeparator
            | Is::SpaceSeparator
            | Is::PrivateUse
            | Is::Surrogate
            | Is::Unassigned
    )
}

fn is_kept(c: char) -> bool {
    if c.is_ascii() { c.is_ascii_alphanumeric() || "_.,!()'@+=".contains(c) } else { is_visible(c) }
}

/// Gives `take` the escaped characters one by one, each whole, until it refuses one; `false` if it did.
fn units(value: &str, mut take: impl FnMut(&str) -> bool) -> bool {
    if value.is_empty() {
        return take("%");
    }
    value.char_indices().all(|(at, c)| {
        let plain = &value[at..at + c.len_utf8()];
        if is_kept(c) && !(at == 0 && c == '.') { take(plain) } else { take(&percent(plain)) }
    })
}

fn percent(text: &str) -> String {
    let digit = |nibble: u8| char::from(b"0123456789ABCDEF"[usize::from(nibble)]);
    text.bytes().flat_map(|byte| ['%', digit(byte >> 4), digit(byte & 15)]).collect()
}

/// A name under construction, with room for so many bytes more.
struct NameBuilder {
    text: String,
    room: usize,
}

impl NameBuilder {
    fn new(exporter: &str, room: usize) -> Self {
        let mut text = String::with_capacity(exporter.len() + 1 + MAX_BYTES);
        text.push_str(exporter);
        text.push('/');
        Self { text, room }
    }

    /// `false` if it did not fit; what was taken is whole characters and whole escapes.
    fn fill<S: AsRef<str>>(&mut self, stem: &str, values: &[(S, S, bool)]) -> bool {
        pieces(stem).all(|(piece, _)| match piece {
            Piece::Name(name) => units(value_of(name, values), |unit| self.take(unit)),
            Piece::Text(text) | Piece::Stray(text) => {
                text.char_indices().all(|(at, c)| self.take(&text[at..at + c.len_utf8()]))
            }
        })
    }

    fn take(&mut self, unit: &str) -> bool {
        let fits = unit.len() <= self.room;
        if fits {
            self.text.push_str(unit);
            self.room -= unit.len();
        }
        fits
    }
}

fn value_of<'a, S: AsRef<str>>(name: &str, values: &'a [(S, S, bool)]) -> &'a str {
    values.iter().find(|(known, ..)| known.as_ref() == name).map_or("", |(_, value, _)| value.as_ref())
}

/// Whether the template alone makes different names of different parameters.
fn tells_apart<S: AsRef<str>>(template: &str, values: &[(S, S, bool)]) -> bool {
    let complete = values.iter().all(|(name, _, key)| !key || names(template).any(|used| used == name.as_ref()));
    complete && placeholders_are_apart(template)
}

/// Between two placeholders stands at least one `-`.
fn placeholders_are_apart(template: &str) -> bool {
    let mut apart = true;
    pieces(template).all(|(piece, _)| match piece {
        Piece::Name(_) => std::mem::replace(&mut apart, false),
        Piece::Text(text) | Piece::Stray(text) => {
            apart |= text.contains('-');
            true
        }
    })
}

/// Over a list in which each text follows its length, so that no two lists run together into one.
fn hash<S: AsRef<str>>(exporter: &str, values: &[(S, S, bool)]) -> String {
    let mut hasher = blake3::Hasher::new();
    let mut add = |text: &str| {
        hasher.update(&(text.len() as u64).to_le_bytes());
        hasher.update(text.as_bytes());
    };
    add(exporter);
    for (name, value, _) in values.iter().filter(|(_, _, key)| *key) {
        add(name.as_ref());
        add(value.as_ref());
    }
    hasher.finalize().to_hex()[..HASH_DIGITS].to_owned()
}

#[cfg(test)]
#[path = "filename_tests.rs"]
mod tests;
