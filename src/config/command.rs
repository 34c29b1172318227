//! The command of an exporter: an argument vector in which placeholders are replaced once. No shell ever sees a value.

use std::path::Path;

use super::{
    params::{Values, refuse_options},
    reader::TableReader,
    types::Exporter,
    values,
};
use crate::model::template::render;

/// Where programs without a slash in their name are looked for, whoever's cron or web server started us.
pub const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// What `{output}`, `{source}` and, in a wrapper, `{work}` stand for.
#[derive(Clone, Copy, Debug)]
pub struct Places<'a> {
    pub output: &'a str,
    pub source: Option<&'a str>,
    pub work: &'a str,
}

/// The wrapper and the command, ready to be executed.
///
/// # Errors
/// One sentence if an argument would be taken for an option.
pub fn argv(exporter: &Exporter, values: &Values, places: &Places<'_>) -> Result<Vec<String>, String> {
    refuse_options(exporter, values)?;
    let wrapper =
        exporter.wrapper.iter().map(|argument| render(argument, |name| if name == "work" { places.work } else { "" }));
    let (program, arguments) = exporter.command.split_first().ok_or("the command is empty")?;
    let arguments = arguments.iter().map(|argument| render(argument, |name| value_of(name, values, places)));
    Ok(wrapper.chain([program.clone()]).chain(arguments).collect())
}

fn value_of<'a>(name: &str, values: &'a Values, places: &Places<'a>) -> &'a str {
    match name {
        "output" => places.output,
        "source" => places.source.unwrap_or_default(),
        _ => values.get(name).unwrap_or_default(),
    }
}

/// `command`, its program made absolute if it has a slash.
pub(super) fn read(table: &TableReader<'_>, dir: &Path) -> Vec<String> {
    let what = r#"a list of strings, the program first, such as ["bin/make", "{output}"]"#;
    let filled = |value: &_| values::texts(value).filter(|texts| texts.first().is_some_and(|first| !first.is_empty()));
    let command = table.read("command", what, filled).unwrap_or_default();
    with_program(table, "command", command, dir)
}

pub(super) fn read_wrapper(table: &TableReader<'_>, dir: &Path) -> Vec<String> {
    with_program(table, "wrapper", table.texts("wrapper"), dir)
}

fn with_program(table: &TableReader<'_>, key: &str, mut command: Vec<String>, dir: &Path) -> Vec<String> {
    let Some(program) = command.first_mut() else { return command };
    if program.contains(['{', '}']) {
        table.note(key, format_args!("begins with {program:?}, but the program itself cannot be a placeholder"));
    }
    if program.contains('/') {
        *program = super::absolute(dir, program).to_string_lossy().into_owned();
    }
    command
}

#[cfg(test)]
#[path = "command_tests.rs"]
mod tests;
