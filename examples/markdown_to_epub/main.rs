//! Turns Markdown files into one EPUB, as an exporter of Pressroom: `docs/exporters.md` has the contract.
//!
//! `markdown_to_epub --title TITLE --lang LANG --output FILE INPUT.md...`
//!
//! Exit status 65 says that the input is no good, 75 that trying again may help, 1 anything else.

mod book;
mod chapter;
mod links;
mod xml;

use std::{
    env, fs,
    io::{self, Write},
    path::{Path, PathBuf},
    process::ExitCode,
    thread,
    time::Duration,
};

use anyhow::Context;
use clap::Parser;

use book::Book;
use chapter::Source;

/// Makes one EPUB of Markdown files, a chapter of each.
#[derive(Parser)]
struct Cli {
    #[arg(long, allow_hyphen_values = true)]
    title: String,
    /// A language tag, such as `en` or `pt-BR`.
    #[arg(long)]
    lang: String,
    #[arg(long)]
    output: PathBuf,
    /// Waits so long at each chapter, so that somebody can watch the progress.
    #[arg(long, value_parser = humantime::parse_duration, default_value = "0s")]
    pace: Duration,
    #[arg(required = true)]
    inputs: Vec<PathBuf>,
}

/// A failure that says more than "it did not work".
#[derive(Debug)]
enum Trouble {
    /// Asking again will not help.
    BadInput(String),
    /// Asking again may help.
    Temporary(String),
    Other(anyhow::Error),
}

impl From<anyhow::Error> for Trouble {
    fn from(error: anyhow::Error) -> Self {
        Self::Other(error)
    }
}

fn main() -> ExitCode {
    let (code, for_visitor, for_admin) = match run(&Cli::parse()) {
        Ok(()) => return ExitCode::SUCCESS,
        Err(Trouble::BadInput(why)) => (65, "The text of this book cannot be used.", why),
        Err(Trouble::Temporary(why)) => (75, "There is no room for this book at the moment.", why),
        Err(Trouble::Other(error)) => (1, "The book could not be made.", format!("{error:#}")),
    };
    eprintln!("markdown_to_epub: {for_admin}");
    note("PRESSROOM_MESSAGE", for_visitor);
    ExitCode::from(code)
}

fn run(cli: &Cli) -> Result<(), Trouble> {
    check_language(&cli.lang)?;
    let sources = cli.inputs.iter().map(|path| read(path)).collect::<Result<Vec<_>, _>>()?;
    let mut book = Book::new(&cli.title, &cli.lang)?;
    for (index, source) in sources.iter().enumerate() {
        progress(index * 90 / sources.len(), &format!("Chapter {} of {}", index + 1, sources.len()));
        thread::sleep(cli.pace);
        book.add(&chapter::render(source, &sources, &cli.lang))?;
    }
    progress(95, "Binding");
    write(&cli.output, &book.bind()?)
}

/// Readers and `epubcheck` refuse a language that is not a tag of BCP 47.
fn check_language(lang: &str) -> Result<(), Trouble> {
    let mut parts = lang.split('-');
    let primary = parts.next().unwrap_or_default();
    let fits = |part: &str, lengths: std::ops::RangeInclusive<usize>| {
        lengths.contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_alphanumeric())
    };
    let alphabetic = primary.bytes().all(|byte| byte.is_ascii_alphabetic());
    if alphabetic && fits(primary, 2..=3) && parts.all(|part| fits(part, 1..=8)) {
        return Ok(());
    }
    Err(Trouble::BadInput(format!("`{lang}` is not a language tag such as `en`")))
}

fn read(path: &Path) -> Result<Source, Trouble> {
    let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    let text = String::from_utf8(bytes)
        .map_err(|error| Trouble::BadInput(format!("{} is not UTF-8: {error}", path.display())))?;
    Ok(Source::new(path, &text))
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Trouble> {
    fs::write(path, bytes).map_err(|error| match error.kind() {
        io::ErrorKind::StorageFull => Trouble::Temporary(format!("cannot write {}: {error}", path.display())),
        _ => Trouble::Other(anyhow::Error::new(error).context(format!("cannot write {}", path.display()))),
    })
}

fn progress(percent: usize, text: &str) {
    note("PRESSROOM_PROGRESS", &format!("{percent} {text}"));
}

/// Appends a line to the file that a variable names. A book without a progress bar is still a book.
fn note(variable: &str, line: &str) {
    let Some(path) = env::var_os(variable) else { return };
    let file = fs::OpenOptions::new().create(true).append(true).open(path);
    let _ = file.and_then(|mut file| writeln!(file, "{line}"));
}
