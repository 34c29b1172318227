//! One ask for one file: the words of the command line or of a query, checked against the configuration.

use std::{ffi::OsStr, os::unix::ffi::OsStrExt};

use anyhow::{Context as _, anyhow};

use crate::{
    cache::Cached,
    cli::RequestArgs,
    config::{
        Config, Exporter,
        params::{self, Unfit, Values},
    },
    context::Context,
    exit::{Exit, Failure},
    model::{
        age::{Freshness, freshness},
        answer::{Answer, State},
        client::{self, ClientNames},
        clock::Stamp,
        misfit::Misfit,
        moment::{self, Toward},
    },
    store::View,
};

/// How far ahead `--after` may lie: clocks of a web tier and of this host differ a little.
const AHEAD_MS: i64 = 5_000;

/// A request whose values have been parsed; [`Ask::validate`] does the rest before anything is queued.
#[derive(Clone)]
pub struct Ask<'a> {
    pub exporter: &'a Exporter,
    pub values: Values,
    pub filename: String,
    /// When the request came.
    pub asked: Stamp,
    /// Who asks, as it is stored: [`Ask::named`] makes it of an address or a name.
    pub client: Option<String>,
    pub priority: i64,
    /// Only an attempt that started at or after this moment counts.
    pub after: Option<Stamp>,
    pub not_before: Option<Stamp>,
    pub no_enqueue: bool,
    /// Nobody waits for the answer, so asking does not keep a queued job from being given up.
    pub speculative: bool,
}

/// Why there is nothing to look for.
#[derive(Debug)]
pub enum AskError {
    /// The answer to a request that names what does not exist or does not fit.
    Refused(Answer),
    /// Wrong words, or a configuration that is wrong.
    Failed(Failure),
}

impl AskError {
    /// A refusal is an answer as well.
    pub fn answer(self) -> Result<Answer, Failure> {
        match self {
            Self::Refused(answer) => Ok(answer),
            Self::Failed(failure) => Err(failure),
        }
    }
}

impl From<Answer> for AskError {
    fn from(answer: Answer) -> Self {
        Self::Refused(answer)
    }
}

impl From<Misfit> for AskError {
    fn from(misfit: Misfit) -> Self {
        Self::Refused(Answer::unfit(misfit))
    }
}

impl From<Unfit> for AskError {
    fn from(unfit: Unfit) -> Self {
        match unfit {
            Unfit::Pattern(problem) => Self::Failed(Failure::because(Exit::Config, problem)),
            Unfit::Value(misfit) => misfit.into(),
        }
    }
}

impl<'a> Ask<'a> {
    /// The words of the command line, parsed.
    pub fn read(config: &'a Config, args: &RequestArgs) -> Result<Self, AskError> {
        let now = Stamp::now();
        let after = args.after.as_deref().map(|text| moment::meant_rounded_up(text, now)).transpose().map_err(usage)?;
        let exact = args.after.as_deref().map(|text| moment::meant(text, now, Toward::Past));
        let exact = exact.transpose().map_err(usage)?;
        let not_before = args.not_before.as_deref().map(|text| moment::meant(text, now, Toward::Future));
        let not_before = not_before.transpose().map_err(usage)?;
        let pairs = args.values.iter().map(|word| pair(word)).collect::<Result<Vec<_>, _>>().map_err(usage)?;
        if exact.is_some_and(|exact| exact > now.plus_ms(AHEAD_MS)) {
            return Err(Answer::because(State::Invalid, "the time given with --after lies ahead").into());
        }
        let ask = Self::parse(config, args.exporter.as_bytes(), &pairs)?;
        Ok(Self { priority: args.priority, after, not_before, no_enqueue: args.no_enqueue, ..ask })
    }

    /// An ask with nothing but an exporter and its values, good enough to look for the file: patterns are dear, and no file
    /// is there whose name was not made of values that match. Whoever queues something calls [`Ask::validate`] first.
    ///
    /// # Errors
    /// The answer to a request that names no exporter, or whose values do not fit it.
    pub fn parse(config: &'a Config, exporter: &[u8], pairs: &[(Vec<u8>, Vec<u8>)]) -> Result<Self, Answer> {
        let name = String::from_utf8_lossy(exporter);
        let exporter = config.exporters.get(name.as_ref()).ok_or_else(|| {
            Answer::because(State::Unknown, format!("there is no exporter \"{}\"", name.escape_debug()))
        })?;
        let values = params::check_for_a_look(exporter, pairs).map_err(Answer::unfit)?;
        Ok(Self::of(exporter, values))
    }

    /// Both at once, for whoever does not look for the file first.
    pub fn check(config: &'a Config, exporter: &[u8], pairs: &[(Vec<u8>, Vec<u8>)]) -> Result<Self, AskError> {
        let ask = Self::parse(config, exporter, pairs)?;
        ask.validate(config)?;
        Ok(ask)
    }

    /// The rest of the checks: patterns, and whether the values suit the sources of a derived file.
    pub fn validate(&self, config: &Config) -> Result<(), AskError> {
        params::check_patterns(self.exporter, &self.values)?;
        Ok(self.check_sources(config)?)
    }

    /// Whether the values suit the sources that a derived file is made from.
    pub fn check_sources(&self, config: &Config) -> Result<(), Misfit> {
        check_sources(config, self.exporter, &self.values)
    }

    /// An ask with values that were checked already.
    pub fn of(exporter: &'a Exporter, values: Values) -> Self {
        let filename = params::filename(exporter, &values);
        Self {
            exporter,
            values,
            filename,
            asked: Stamp::now(),
            client: None,
            priority: 0,
            after: None,
            not_before: None,
            no_enqueue: false,
            speculative: false,
        }
    }

    /// An answer with nothing but its state.
    pub(super) fn answer(&self, state: State) -> Answer {
        Answer { filename: Some(self.filename.clone()), ..Answer::new(state) }
    }

    /// The file, however old; a task has none.
    pub(super) fn cached(&self, context: &Context) -> anyhow::Result<Option<Cached>> {
        if self.exporter.is_task() {
            return Ok(None);
        }
        context.cache.look(&self.filename).with_context(|| format!("cannot look at {}", self.filename))
    }

    pub(super) fn age(&self, cached: &Cached, now: Stamp) -> Freshness {
        freshness(cached.made, now, self.exporter.ttl, self.exporter.stale)
    }

    /// When the job may start.
    pub(super) fn run_after(&self, now: Stamp) -> Stamp {
        self.after.max(self.not_before).unwrap_or(now)
    }

    /// Whether that is not at once.
    pub(super) fn is_for_later(&self, now: Stamp) -> bool {
        self.run_after(now) > now
    }

    /// With the client as it is stored, for a row that is to be written; the key of the hash is in the database.
    pub(super) fn named(&self, view: &View, client: super::Client, names: ClientNames) -> anyhow::Result<Self> {
        let name = client().filter(|name| !name.is_empty());
        let stored = name.map(|name| anyhow::Ok(client::stored(&view.client_key()?, &name, names))).transpose()?;
        Ok(Self { client: stored, ..self.clone() })
    }
}

/// The request for the source of a derived file: its exporter, for those of the parameters that it has. Whoever checked
/// the one has checked the patterns of the other, too: this is called under the write lock, and to compile them is dear.
pub fn source_of<'a>(config: &'a Config, ask: &Ask) -> anyhow::Result<Option<Ask<'a>>> {
    let exporter = ask.exporter.source.as_ref().and_then(|source| config.exporters.get(source));
    let Some(exporter) = exporter else { return Ok(None) };
    let values = params::check_without_patterns(exporter, &shared(exporter, &ask.values));
    let values = values.map_err(|misfit| anyhow!(misfit))?;
    let (client, priority, after) = (ask.client.clone(), ask.priority, ask.after);
    Ok(Some(Ask { client, priority, after, ..Ask::of(exporter, values) }))
}

/// Those of the values that the source has.
fn shared(source: &Exporter, values: &Values) -> Vec<(Vec<u8>, Vec<u8>)> {
    let has = |name: &str| source.params.iter().any(|param| param.name == name);
    values.iter().filter(|(name, _)| has(name)).map(|(name, value)| (name.into(), value.into())).collect()
}

/// A derived file's values have to suit the source that it is made from, too.
fn check_sources(config: &Config, exporter: &Exporter, values: &Values) -> Result<(), Misfit> {
    let source = exporter.source.as_ref().and_then(|source| config.exporters.get(source));
    let Some(source) = source else { return Ok(()) };
    check_sources(config, source, &params::check(source, &shared(source, values))?)
}

fn usage(sentence: String) -> AskError {
    AskError::Failed(Failure::because(Exit::Usage, sentence))
}

/// `NAME=VALUE` as bytes.
pub fn pair(word: &OsStr) -> Result<(Vec<u8>, Vec<u8>), String> {
    let bytes = word.as_bytes();
    let Some(at) = bytes.iter().position(|byte| *byte == b'=') else {
        return Err(format!("\"{}\" is not a parameter; write NAME=VALUE", word.display().to_string().escape_debug()));
    };
    Ok((bytes[..at].to_vec(), bytes[at + 1..].to_vec()))
}
