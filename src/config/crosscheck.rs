//! What can only be judged when the whole file is known: names that lead to other sections, and templates. With them
//! the exporters of which nothing can be run, whatever is asked for, because the configuration itself is wrong.
//!
//! Loading compiles no pattern, since a hit must stay cheap. Whoever starts jobs asks here first: their jobs wait until
//! the file is put right, and none of them uses up an attempt.

use std::{collections::BTreeMap, iter};

use super::{
    param_rules::is_free,
    params, problem,
    reader::Reader,
    types::{Condition, Config, Exporter, Param, ParamKind, QueueRules, Schedule},
};
use crate::model::{
    filename::{MAX_EXTENSION, extension, literal_problem},
    template::{Piece, pieces},
};

type Queues = BTreeMap<String, QueueRules>;

pub(super) fn exporter(one: &Exporter, queues: &Queues, reader: &Reader<'_>) {
    let note = |key: &str, problem: String| {
        reader.note_in(&["exporter", &one.name, key], format!("{key:?} in [exporter.{}] {problem}", one.name));
    };
    let all = [
        ("queue", Vec::from_iter(queue_problem(&one.queue, queues))),
        ("filename", filename_problems(one)),
        ("command", command_problems(one)),
        ("wrapper", wrapper_problems(one)),
    ];
    for (key, problem) in all.into_iter().flat_map(|(key, problems)| problems.into_iter().map(move |one| (key, one))) {
        note(key, problem);
    }
    lanes(one, queues, reader);
}

fn lanes(one: &Exporter, queues: &Queues, reader: &Reader<'_>) {
    for (number, lane) in one.lanes.iter().enumerate() {
        let note = |key: &str, problem: String| {
            let path = ["exporter", &one.name, "lane", &number.to_string(), key];
            reader.note_in(&path, format!("{key:?} in [[exporter.{}.lane]] {problem}", one.name));
        };
        if let Some(problem) = queue_problem(&lane.queue, queues).filter(|_| !lane.queue.is_empty()) {
            note("queue", problem);
        }
        for problem in lane.when.iter().filter_map(|(name, condition)| condition_problem(one, name, condition)) {
            note("when", problem);
        }
    }
}

fn queue_problem(name: &str, queues: &Queues) -> Option<String> {
    let hint = || problem::hint(name, queues.keys().map(|name| &**name));
    (!queues.contains_key(name)).then(|| format!("is {name:?}, but there is no [queue.{name}]{}", hint()))
}

fn condition_problem(one: &Exporter, name: &str, condition: &Condition) -> Option<String> {
    let Some(param) = one.params.iter().find(|param| param.name == name) else {
        let hint = problem::hint(name, one.params.iter().map(|param| &*param.name));
        return Some(format!("asks for {name:?}, which is not a parameter{hint}"));
    };
    let misfit = matches!(condition, Condition::Range(..)) && !matches!(param.kind, ParamKind::Integer(..));
    misfit.then(|| format!("asks for a range of {name:?}, which is not an integer"))
}

fn filename_problems(one: &Exporter) -> Vec<String> {
    let Some(template) = one.filename.as_deref() else {
        let advice = r#"is missing; give one such as "{title}.epub", or output = "none" if there is no file"#;
        return if one.is_task() { Vec::new() } else { vec![advice.to_owned()] };
    };
    let names: Vec<_> = one.params.iter().map(|param| &*param.name).collect();
    let mut problems = placeholder_problems(template, &names, &|name| parameter_advice(one, name));
    problems.extend(one.params.iter().filter_map(|param| not_key(template, param)));
    problems.extend(pieces(template).filter_map(|(piece, _)| text_problem(piece)));
    if template.starts_with(['.', '-']) {
        problems.push("begins with a dot or a dash".to_owned());
    }
    problems.extend(extension_problem(one, extension(template)));
    problems
}

fn not_key(template: &str, param: &Param) -> Option<String> {
    let used = pieces(template).any(|(piece, _)| piece == Piece::Name(&param.name));
    (used && !param.key)
        .then(|| format!("uses {{{}}}, which has key = false and so must not change the name", param.name))
}

fn text_problem(piece: Piece<'_>) -> Option<String> {
    match piece {
        Piece::Text(text) => literal_problem(text),
        Piece::Name(_) | Piece::Stray(_) => None,
    }
}

fn extension_problem(one: &Exporter, extension: &str) -> Option<String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._+-".contains(c);
    if extension.is_empty() && one.is_task() {
        None
    } else if extension.len() < 2 || extension.ends_with('.') {
        Some(r#"does not end in a literal extension such as ".epub""#.to_owned())
    } else if extension.len() > MAX_EXTENSION || !extension.chars().all(plain) {
        Some(format!("ends in {extension:?}; an extension has at most {MAX_EXTENSION} letters, digits and \"._+-\""))
    } else {
        None
    }
}

fn command_problems(one: &Exporter) -> Vec<String> {
    let mut names: Vec<_> = one.params.iter().map(|param| &*param.name).collect();
    names.extend(one.file().map(|_| "output"));
    names.extend(one.source.as_ref().map(|_| "source"));
    one.command
        .iter()
        .skip(1)
        .flat_map(|argument| placeholder_problems(argument, &names, &|name| parameter_advice(one, name)))
        .collect()
}

fn wrapper_problems(one: &Exporter) -> Vec<String> {
    one.wrapper.iter().skip(1).flat_map(|argument| placeholder_problems(argument, &["work"], &|_| None)).collect()
}

/// What would make it a known one.
fn parameter_advice(one: &Exporter, name: &str) -> Option<String> {
    match name {
        "output" => Some("a task makes no file".to_owned()),
        "source" => Some("set \"source\" to the exporter whose file it is made from".to_owned()),
        _ => is_free(name).then(|| format!("add [exporter.{}.params.{name}]", one.name)),
    }
}

fn placeholder_problems(template: &str, known: &[&str], advice: &dyn Fn(&str) -> Option<String>) -> Vec<String> {
    let problem = |piece| match piece {
        Piece::Name(name) if !known.contains(&name) => {
            let hint = problem::hint(name, known.iter().copied());
            let advice = advice(name).map_or_else(String::new, |advice| {
                if hint.is_empty() { format!("; {advice}") } else { format!(" If not, {advice}") }
            });
            Some(format!("has the unknown placeholder {{{name}}}{hint}{advice}"))
        }
        Piece::Stray(brace) => Some(format!("has a lone {brace:?} in {template:?}; write {brace}{brace} for a brace")),
        Piece::Name(_) | Piece::Text(_) => None,
    };
    pieces(template).filter_map(|(piece, _)| problem(piece)).collect()
}

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
            let problem = one.params.iter().find_map(params::problem)?;
            let own = one.name == exporter.name;
            Some(if own { problem } else { format!("its source {} cannot be used: {problem}", one.name) })
        })
    }
}
