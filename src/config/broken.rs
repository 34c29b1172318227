//! Exporters of which nothing can be run, whatever is asked for, because the configuration itself is wrong.
//!
//! Loading compiles no pattern, since a hit must stay cheap. Whoever starts jobs asks here first: their jobs wait until
//! the file is put right, and none of them uses up an attempt.

use std::{collections::BTreeMap, iter};

use super::{
    pattern,
    types::{Config, Exporter, Schedule},
};

impl Config {
    /// Each such exporter with the sentence that says why. Patterns are compiled once, by the first caller.
    pub fn broken(&self) -> &BTreeMap<String, String> {
        let problem = |one: &Exporter| Some((one.name.clone(), self.problem(one)?));
        self.broken.get_or_init(|| self.exporters.values().filter_map(problem).collect())
    }

    /// Why the queued jobs of this exporter are held: it is not in the configuration, or broken there. Holding them uses
    /// up no attempt, and when the configuration is put right they go on.
    pub fn holds(&self, exporter: &str) -> Option<String> {
        if !self.exporters.contains_key(exporter) {
            return Some(format!("exporter {exporter} is not in the configuration"));
        }
        self.broken().get(exporter).map(|why| format!("exporter {exporter}: {why}"))
    }

    /// Whether there are exporters, and nothing of any of them can be run.
    pub fn is_wholly_broken(&self) -> bool {
        !self.exporters.is_empty() && self.broken().len() == self.exporters.len()
    }

    /// The schedules whose exporter can be run.
    pub fn sound_schedules(&self) -> impl Iterator<Item = &Schedule> {
        self.schedules.values().filter(|schedule| !self.broken().contains_key(&schedule.exporter))
    }

    /// Of the exporter itself, or of one that it is made from.
    fn problem(&self, exporter: &Exporter) -> Option<String> {
        let next = |one: &&Exporter| self.exporters.get(one.source.as_deref()?);
        let mut chain = iter::successors(Some(exporter), next);
        chain.find_map(|one| {
            let problem = one.params.iter().find_map(pattern::problem)?;
            let own = one.name == exporter.name;
            Some(if own { problem } else { format!("its source {} cannot be used: {problem}", one.name) })
        })
    }
}
