//! The configuration file from its bytes on: text, tables, typed values with their defaults. Each read notes what is wrong
//! and goes on, so that all mistakes are told at once.

use std::{
    cell::RefCell,
    fmt::{self, Display},
    fs::{self, File},
    io::{self, Read},
    ops::RangeInclusive,
    os::unix::fs::MetadataExt,
    path::Path,
    time::Duration,
};

use toml::de::{DeTable, DeValue};

use super::{
    ConfigError, problem,
    values::{self, DURATION, DURATION_OR_NONE, SIZE, SIZE_OR_NONE, shown},
};

/// The whole file and what was found wrong so far.
pub(super) struct Reader<'t> {
    pub(super) root: &'t DeTable<'t>,
    /// Byte offset and sentence.
    pub(super) found: RefCell<Vec<(usize, String)>>,
}

impl<'t> Reader<'t> {
    pub(super) fn new(root: &'t DeTable<'t>) -> Self {
        Self { root, found: RefCell::default() }
    }

    pub(super) fn note(&self, at: usize, message: impl Into<String>) {
        self.found.borrow_mut().push((at, message.into()));
    }

    /// Notes a problem at the end of a path such as `["exporter", "epub", "lane", "0"]`, or as near to it as there is
    /// anything.
    pub(super) fn note_in(&self, path: &[&str], message: impl Into<String>) {
        self.note(offset(self.root, path, 0), message);
    }

    pub(super) fn top(&self) -> TableReader<'_> {
        TableReader { reader: self, path: String::new(), at: 0, entries: self.root, asked: RefCell::default() }
    }
}

/// A table's place is its key's, any other value's its own.
fn offset(table: &DeTable<'_>, path: &[&str], at: usize) -> usize {
    let Some((name, rest)) = path.split_first() else { return at };
    let Some((key, value)) = table.get_key_value(*name) else { return at };
    match (value.get_ref(), rest) {
        (DeValue::Table(inner), _) => offset(inner, rest, key.span().start),
        (DeValue::Array(items), [index, rest @ ..]) => {
            let item = index.parse().ok().and_then(|index: usize| items.get(index));
            let inner = item.and_then(|item| Some((item.span().start, item.get_ref().as_table()?)));
            inner.map_or(key.span().start, |(start, inner)| offset(inner, rest, start))
        }
        _ => value.span().start,
    }
}

/// One table. `done` reports the keys that nobody asked for.
pub(super) struct TableReader<'t> {
    reader: &'t Reader<'t>,
    /// `exporter.epub.limits`; empty for the file itself.
    path: String,
    at: usize,
    entries: &'t DeTable<'t>,
    asked: RefCell<Vec<&'static str>>,
}

impl<'t> TableReader<'t> {
    /// What `parse` makes of the value. `None` if there is none, or if it is wrong, which is noted.
    pub(super) fn read<T>(
        &self,
        key: &'static str,
        what: impl Display,
        parse: impl FnOnce(&'t DeValue<'t>) -> Option<T>,
    ) -> Option<T> {
        self.asked.borrow_mut().push(key);
        let value = self.entries.get(key)?;
        let parsed = parse(value.get_ref());
        if parsed.is_none() {
            let (place, shown) = (self.place(), shown(value.get_ref()));
            self.reader.note(value.span().start, format!("{key:?}{place} is {shown}; it must be {what}"));
        }
        parsed
    }

    /// As `read`, but a word such as "none" or "off" is accepted as well and means `None`.
    pub(super) fn read_or<T>(
        &self,
        key: &'static str,
        none: &str,
        what: impl Display,
        default: Option<T>,
        parse: impl FnOnce(&'t DeValue<'t>) -> Option<T>,
    ) -> Option<T> {
        let parse = |value: &'t DeValue<'t>| {
            if value.as_str() == Some(none) { Some(None) } else { parse(value).map(Some) }
        };
        self.read(key, what, parse).unwrap_or(default)
    }

    /// Notes it if the key is not there at all.
    pub(super) fn need(&self, key: &'static str, advice: &str) {
        if !self.has(key) {
            self.reader.note(self.at, format!("[{}] has no {key:?}{advice}", self.path));
        }
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.entries.contains_key(key)
    }

    /// Notes a problem at the key's value, or at the table if there is none.
    pub(super) fn note(&self, key: &str, message: impl Display) {
        let at = self.entries.get(key).map_or(self.at, |value| value.span().start);
        self.note_at(at, key, message);
    }

    /// The same at a byte of the file, such as that where one item of a list begins.
    pub(super) fn note_at(&self, at: usize, key: &str, message: impl Display) {
        self.reader.note(at, format!("{key:?}{} {message}", self.place()));
    }

    pub(super) fn table(&self, key: &'static str) -> Option<TableReader<'t>> {
        let entries = self.read(key, "a table", DeValue::as_table)?;
        Some(self.inner(key, offset(self.entries, &[key], self.at), entries))
    }

    /// The tables of a list, `[[exporter.epub.lane]]`.
    pub(super) fn list(&self, key: &'static str) -> Vec<TableReader<'t>> {
        let what = format_args!("a list of tables: [[{}.{key}]]", self.path);
        let all = |value: &'t DeValue<'t>| {
            let table = |item: &'t toml::Spanned<DeValue<'t>>| Some((item.span().start, item.get_ref().as_table()?));
            value.as_array()?.iter().map(table).collect::<Option<Vec<_>>>()
        };
        let items = self.read(key, what, all).unwrap_or_default();
        items.into_iter().map(|(at, entries)| self.inner(key, at, entries)).collect()
    }

    /// All entries in the order of the file: a table of somebody's own names.
    pub(super) fn entries(&self) -> Vec<(&'t str, &'t DeValue<'t>)> {
        let mut entries: Vec<_> = self.entries.iter().collect();
        entries.sort_unstable_by_key(|(key, _)| key.span().start);
        entries.into_iter().map(|(key, value)| (&**key.get_ref(), value.get_ref())).collect()
    }

    /// The named tables below `key`, in the order of the file: `[queue.default]`, `[queue.express]`.
    pub(super) fn named(&self, key: &'static str) -> Vec<(&'t str, TableReader<'t>)> {
        let Some(table) = self.table(key) else { return Vec::new() };
        table.entries().into_iter().filter_map(|(name, value)| Some((name, table.member(name, value)?))).collect()
    }

    fn member(&self, name: &'t str, value: &'t DeValue<'t>) -> Option<TableReader<'t>> {
        let at = self.entries.get_key_value(name).map_or(self.at, |(key, _)| key.span().start);
        let Some(entries) = value.as_table() else {
            let (path, shown) = (&self.path, shown(value));
            self.reader.note(at, format!("{name:?} in [{path}] is {shown}; it must be a table: [{path}.{name}]"));
            return None;
        };
        Some(self.inner(name, at, entries))
    }

    fn inner(&self, name: &str, at: usize, entries: &'t DeTable<'t>) -> TableReader<'t> {
        let path = if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) };
        TableReader { reader: self.reader, path, at, entries, asked: RefCell::default() }
    }

    /// Refuses a name of this table that is not one of ours.
    pub(super) fn check_name(&self, name: &str, what: &str, is_good: impl FnOnce(&str) -> bool) {
        if !is_good(name) || name.len() > 64 {
            self.reader.note(self.at, format!("{name:?} cannot be the name of {what}"));
        }
    }

    /// The last call: every key that was not asked for is unknown.
    pub(super) fn done(self) {
        let asked = self.asked.borrow();
        let unknown = self.entries.keys().filter(|key| !asked.contains(&&**key.get_ref()));
        for key in unknown {
            let hint = problem::hint(key.get_ref(), asked.iter().copied());
            self.reader.note(key.span().start, format!("unknown key {:?}{}{hint}", key.get_ref(), self.place()));
        }
    }

    fn place(&self) -> String {
        if self.path.is_empty() { String::new() } else { format!(" in [{}]", self.path) }
    }
}

/// Whatever replaces or changes the file changes this, since nobody can set its `ctime`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    device: u64,
    inode: u64,
    size: u64,
    /// Seconds and nanoseconds since 1970.
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Identity {
    /// Of no file.
    pub const fn none() -> Self {
        Self { device: 0, inode: 0, size: 0, modified: (0, 0), changed: (0, 0) }
    }

    /// Of the file that is there now; costs one look.
    pub fn of(path: &Path) -> io::Result<Self> {
        Ok(Self::from(&fs::metadata(path)?))
    }
}

impl From<&fs::Metadata> for Identity {
    fn from(about: &fs::Metadata) -> Self {
        Self {
            device: about.dev(),
            inode: about.ino(),
            size: about.size(),
            modified: (about.mtime(), about.mtime_nsec()),
            changed: (about.ctime(), about.ctime_nsec()),
        }
    }
}

/// The text, and the state that the file had before it was read: what is written meanwhile shows as a change.
///
/// # Errors
/// The file cannot be read, or is not UTF-8.
pub fn read(file: &Path) -> Result<(String, Identity), ConfigError> {
    let (bytes, identity) = bytes(file).map_err(|error| ConfigError::unread(file, unreadable(&error)))?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let good = String::from_utf8_lossy(&error.as_bytes()[..error.utf8_error().valid_up_to()]).into_owned();
        ConfigError::new(file, &good, vec![(good.len(), "this is not valid UTF-8".to_owned())])
    })?;
    Ok((text, identity))
}

fn bytes(path: &Path) -> io::Result<(Vec<u8>, Identity)> {
    let file = File::open(path)?;
    let identity = Identity::from(&file.metadata()?);
    // Every request does this: with its room known and `take` in between nobody asks for the size once more.
    let mut bytes = Vec::with_capacity(usize::try_from(identity.size).unwrap_or(0).saturating_add(1));
    file.take(u64::MAX).read_to_end(&mut bytes)?;
    Ok((bytes, identity))
}

fn unreadable(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "no such file; name one by --config or PRESSROOM_CONFIG".to_owned(),
        _ => format!("cannot read the configuration: {error}"),
    }
}

impl TableReader<'_> {
    pub(super) fn flag(&self, key: &'static str, default: bool) -> bool {
        self.read(key, "true or false", DeValue::as_bool).unwrap_or(default)
    }

    pub(super) fn text(&self, key: &'static str) -> Option<String> {
        self.read(key, "a string that is not empty", values::text).map(str::to_owned)
    }

    pub(super) fn texts(&self, key: &'static str) -> Vec<String> {
        self.words(key, "a list of strings", values::plain).unwrap_or_default()
    }

    pub(super) fn duration(&self, key: &'static str, default: Duration) -> Duration {
        self.read(key, DURATION, values::duration).unwrap_or(default)
    }

    /// Longer than nothing.
    pub(super) fn some_duration(&self, key: &'static str, default: Duration) -> Duration {
        let what = format_args!("{DURATION}, longer than zero");
        self.read(key, what, values::some_duration).unwrap_or(default)
    }

    pub(super) fn duration_or_none(&self, key: &'static str, default: Option<Duration>) -> Option<Duration> {
        self.read_or(key, "none", DURATION_OR_NONE, default, values::duration)
    }

    /// Longer than nothing, or "none".
    pub(super) fn some_duration_or_none(&self, key: &'static str, default: Option<Duration>) -> Option<Duration> {
        let what = format_args!("{DURATION}, longer than zero, or \"none\"");
        self.read_or(key, "none", what, default, values::some_duration)
    }

    pub(super) fn size(&self, key: &'static str, default: u64) -> u64 {
        self.read(key, SIZE, values::size).unwrap_or(default)
    }

    pub(super) fn size_or_none(&self, key: &'static str, default: Option<u64>) -> Option<u64> {
        self.read_or(key, "none", SIZE_OR_NONE, default, values::size)
    }

    pub(super) fn count_or_none(&self, key: &'static str, default: Option<u64>) -> Option<u64> {
        let count = |value: &DeValue<'_>| values::integer(value).and_then(|number| u64::try_from(number).ok());
        self.read_or(key, "none", r#"a number, or "none""#, default, count)
    }

    pub(super) fn count<N>(&self, key: &'static str, range: RangeInclusive<N>, default: N) -> N
    where
        N: TryFrom<i64> + PartialOrd + fmt::Display,
    {
        let what = format_args!("an integer from {} to {}", range.start(), range.end());
        let fitting = |value: &_| N::try_from(values::integer(value)?).ok().filter(|number| range.contains(number));
        self.read(key, what, fitting).unwrap_or(default)
    }

    /// A list of words, each of which `parse` knows. The first one that it does not know is named, at its own place.
    pub(super) fn words<T>(&self, key: &'static str, what: &str, parse: impl Fn(&str) -> Option<T>) -> Option<Vec<T>> {
        let items = self.read(key, what, DeValue::as_array)?;
        let known = |item: &DeValue<'_>| item.as_str().and_then(&parse);
        if let Some(wrong) = items.iter().find(|item| known(item.get_ref()).is_none()) {
            self.note_at(
                wrong.span().start,
                key,
                format_args!("has {}; it must be {what}", values::shown(wrong.get_ref())),
            );
            return None;
        }
        Some(items.iter().filter_map(|item| known(item.get_ref())).collect())
    }

    /// One of a few words.
    pub(super) fn word<T: Copy>(&self, key: &'static str, words: &[(&str, T)], default: T) -> T {
        let find = |word: &str| words.iter().find(|(known, _)| *known == word).map(|(_, meaning)| *meaning);
        self.read(key, OneOf(words), |value| find(value.as_str()?)).unwrap_or(default)
    }
}

/// Prints as `"get" or "post"`.
struct OneOf<'a, T>(&'a [(&'a str, T)]);

impl<T> fmt::Display for OneOf<'_, T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<_> = self.0.iter().map(|(word, _)| format!("{word:?}")).collect();
        out.write_str(&words.join(" or "))
    }
}
