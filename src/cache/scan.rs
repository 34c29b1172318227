//! Reading the whole cache. One directory or file that cannot be read does not stop the rest.

use std::{ffi::OsStr, io};

use super::{Cache, CacheEntry, grammar};
use crate::{model::attempt::AttemptId, site::dir::Dir};

/// A name that an attempt has left while it published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Temp {
    pub exporter: String,
    pub attempt: AttemptId,
}

impl Cache {
    /// Every finished file. What cannot be read becomes a sentence in `problems` and does not stop the rest.
    pub fn scan(&self, problems: &mut Vec<String>) -> Vec<CacheEntry> {
        let mut entries = Vec::new();
        self.each_name(problems, |dir, exporter, name| {
            if grammar::is_ours(name)
                && let Some(about) = dir.about(OsStr::new(name))?
                && about.is_file()
            {
                entries.push(CacheEntry::of(format!("{exporter}/{name}"), &about));
            }
            Ok(())
        });
        entries
    }

    /// Names that attempts have left while publishing; whose attempt is gone can be removed.
    pub fn temps(&self, problems: &mut Vec<String>) -> Vec<Temp> {
        let mut temps = Vec::new();
        self.each_name(problems, |_, exporter, name| {
            if let Some(attempt) = name.strip_prefix('.').and_then(AttemptId::parse) {
                temps.push(Temp { exporter: exporter.to_owned(), attempt });
            }
            Ok(())
        });
        temps
    }

    fn each_name(&self, problems: &mut Vec<String>, mut visit: impl FnMut(&Dir, &str, &str) -> io::Result<()>) {
        for exporter in self.exporters(problems) {
            let Some((dir, names)) = note(problems, &exporter, self.names(&exporter)).flatten() else { continue };
            for name in names {
                note(problems, &format!("{exporter}/{name}"), visit(&dir, &exporter, &name));
            }
        }
    }

    fn exporters(&self, problems: &mut Vec<String>) -> Vec<String> {
        let names = Dir::open_real(self.dir()).and_then(|cache| cache.names(usize::MAX));
        let names = note(problems, "", names).unwrap_or_default();
        names.into_iter().filter_map(|name| name.into_string().ok()).filter(|name| grammar::is_exporter(name)).collect()
    }

    fn names(&self, exporter: &str) -> io::Result<Option<(Dir, Vec<String>)>> {
        let Some(dir) = self.exporter_dir(exporter)? else { return Ok(None) };
        let names = dir.names(usize::MAX)?.into_iter().filter_map(|name| name.into_string().ok()).collect();
        Ok(Some((dir, names)))
    }
}

fn note<T>(problems: &mut Vec<String>, what: &str, result: io::Result<T>) -> Option<T> {
    result.map_err(|error| problems.push(format!("cannot read cache/{what}: {error}"))).ok()
}
