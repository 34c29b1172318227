//! The file as a sheet of tables. Each read notes what is wrong and goes on, so that all mistakes are told at once.

use std::{cell::RefCell, fmt::Display};

use toml::de::{DeTable, DeValue};

use super::{nearest, words::shown};

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
        TableReader { sheet: self, path: String::new(), at: 0, entries: self.root, asked: RefCell::default() }
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
    sheet: &'t Reader<'t>,
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
            self.sheet.note(value.span().start, format!("{key:?}{place} is {shown}; it must be {what}"));
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
            self.sheet.note(self.at, format!("[{}] has no {key:?}{advice}", self.path));
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
        self.sheet.note(at, format!("{key:?}{} {message}", self.place()));
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
            self.sheet.note(at, format!("{name:?} in [{path}] is {shown}; it must be a table: [{path}.{name}]"));
            return None;
        };
        Some(self.inner(name, at, entries))
    }

    fn inner(&self, name: &str, at: usize, entries: &'t DeTable<'t>) -> TableReader<'t> {
        let path = if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) };
        TableReader { sheet: self.sheet, path, at, entries, asked: RefCell::default() }
    }

    /// Refuses a name of this table that is not one of ours.
    pub(super) fn check_name(&self, name: &str, what: &str, is_good: impl FnOnce(&str) -> bool) {
        if !is_good(name) || name.len() > 64 {
            self.sheet.note(self.at, format!("{name:?} cannot be the name of {what}"));
        }
    }

    /// The last call: every key that was not asked for is unknown.
    pub(super) fn done(self) {
        let asked = self.asked.borrow();
        let unknown = self.entries.keys().filter(|key| !asked.contains(&&**key.get_ref()));
        for key in unknown {
            let hint = nearest::hint(key.get_ref(), asked.iter().copied());
            self.sheet.note(key.span().start, format!("unknown key {:?}{}{hint}", key.get_ref(), self.place()));
        }
    }

    fn place(&self) -> String {
        if self.path.is_empty() { String::new() } else { format!(" in [{}]", self.path) }
    }
}
