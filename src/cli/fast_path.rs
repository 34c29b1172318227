//! The command lines of a poll and of a run, read without clap: building clap's table of all commands is most of what a
//! poll costs.
//!
//! Only what is certain is read here. A word that could mean anything else leaves the whole line to clap, which alone
//! decides what is a mistake and says so.

use std::{ffi::OsString, os::unix::ffi::OsStrExt, path::PathBuf};

use super::{Format, Global, RequestArgs, RunArgs};

/// `request EXPORTER [NAME=VALUE]… [--config FILE] [--client ID] [--format FORMAT] [--no-enqueue]`, the words behind
/// the program's name. `None`: clap has to read it.
pub fn request(words: &[OsString]) -> Option<(Global, RequestArgs)> {
    let [command, exporter, words @ ..] = words else { return None };
    if command != "request" || is_option(exporter) {
        return None;
    }
    let mut line = Words { args: plain(exporter), config: None, client: None, format: None };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        line.take(word, &mut words)?;
    }
    Some(line.read())
}

/// `--config FILE run ATTEMPT`, as a tick writes it.
pub fn run(words: &[OsString]) -> Option<(Global, RunArgs)> {
    let [option, file, command, attempt] = words else { return None };
    let certain = option == "--config" && command == "run" && ![file, attempt].into_iter().any(is_doubtful);
    let args = RunArgs { attempt: attempt.to_str()?.to_owned() };
    certain.then(|| (Global { config: Some(file.into()), ..Global::default() }, args))
}

fn plain(exporter: &OsString) -> RequestArgs {
    RequestArgs {
        exporter: exporter.clone(),
        values: Vec::new(),
        client: None,
        priority: 0,
        after: None,
        not_before: None,
        wait: None,
        no_enqueue: false,
        format: Format::default(),
    }
}

struct Words {
    args: RequestArgs,
    config: Option<PathBuf>,
    client: Option<String>,
    format: Option<Format>,
}

impl Words {
    fn take<'a>(&mut self, word: &OsString, rest: &mut impl Iterator<Item = &'a OsString>) -> Option<()> {
        match word.as_bytes() {
            b"--config" => once(&mut self.config, value(rest)?.into()),
            b"--client" => once(&mut self.client, value(rest)?.to_str()?.to_owned()),
            b"--format" => once(&mut self.format, format(value(rest)?.as_bytes())?),
            b"--no-enqueue" if !self.args.no_enqueue => {
                self.args.no_enqueue = true;
                Some(())
            }
            _ if is_option(word) => None,
            _ => {
                self.args.values.push(word.clone());
                Some(())
            }
        }
    }

    fn read(self) -> (Global, RequestArgs) {
        let global = Global { config: self.config, ..Global::default() };
        (global, RequestArgs { client: self.client, format: self.format.unwrap_or_default(), ..self.args })
    }
}

fn is_option(word: &OsString) -> bool {
    word.as_bytes().starts_with(b"-")
}

/// A word that looks like an option may be one, and an empty one a mistake.
fn is_doubtful(word: &OsString) -> bool {
    is_option(word) || word.is_empty()
}

/// An option that is given twice is a mistake.
fn once<T>(place: &mut Option<T>, value: T) -> Option<()> {
    place.replace(value).is_none().then_some(())
}

/// The word behind an option.
fn value<'a>(rest: &mut impl Iterator<Item = &'a OsString>) -> Option<&'a OsString> {
    rest.next().filter(|word| !is_doubtful(word))
}

fn format(word: &[u8]) -> Option<Format> {
    match word {
        b"text" => Some(Format::Text),
        b"json" => Some(Format::Json),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use proptest::prelude::*;

    use super::*;
    use crate::cli::{Cli, Command};

    fn by_clap(words: &[OsString]) -> Option<String> {
        let name = OsString::from("pressroom");
        let cli = Cli::try_parse_from(std::iter::once(&name).chain(words)).ok()?;
        match cli.command {
            Command::Request(args) => Some(format!("{:?} {args:?}", cli.global)),
            Command::Run(args) => Some(format!("{:?} {args:?}", cli.global)),
            _ => None,
        }
    }

    fn quickly(words: &[OsString]) -> Option<String> {
        let run = || run(words).map(|(global, args)| format!("{global:?} {args:?}"));
        request(words).map(|(global, args)| format!("{global:?} {args:?}")).or_else(run)
    }

    #[test]
    fn the_lines_of_web_sites_are_read_here() {
        for line in [
            "request epub title=Emma",
            "request epub title=Emma lang=fr --format json --client 10.0.0.7",
            "request --config",
            "request epub --config /etc/x.toml --no-enqueue title=--",
        ] {
            let words: Vec<_> = line.split(' ').map(OsString::from).collect();
            assert_eq!(quickly(&words).is_some(), line != "request --config", "{line}");
        }
    }

    fn word() -> impl Strategy<Value = OsString> {
        let known = prop::sample::select(vec![
            "request",
            "tick",
            "run",
            "help",
            "epub",
            "--format",
            "--format=json",
            "json",
            "text",
            "JSON",
            "--client",
            "--config",
            "-v",
            "--no-enqueue",
            "--no-enq",
            "--",
            "-",
            "",
            "-1",
            "title=Emma",
            "=",
            "--wait",
            "5s",
            "--help",
            "-h",
            "--cgi",
            "--after",
            "é",
        ]);
        prop_oneof![9 => known.prop_map(OsString::from), 1 => any::<Vec<u8>>().prop_map(std::os::unix::ffi::OsStringExt::from_vec)]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]
        /// Whatever is read here, clap would have read just so.
        #[test]
        fn clap_would_have_read_the_same(mut words in prop::collection::vec(word(), 0..7), request in any::<bool>()) {
            if request {
                words.insert(0, "request".into());
            } else {
                words.splice(0..0, ["--config", "x", "run"].map(OsString::from));
                words.truncate(4);
            }
            if let Some(read) = quickly(&words) {
                prop_assert_eq!(Some(read), by_clap(&words));
            }
        }
    }
}
