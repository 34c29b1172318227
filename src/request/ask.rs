//! One ask for one file: the words of the command line or of a query, checked against the configuration.

use std::{ffi::OsStr, os::unix::ffi::OsStrExt};

use super::chain;
use crate::{
    cli::RequestArgs,
    config::{
        Config, Exporter,
        params::{self, Unfit, Values},
    },
    exit::{Exit, Failure},
    model::{
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

/// A request whose values have been checked: by [`Ask::check`] wholly, by [`Ask::glance`] but for their patterns.
#[derive(Clone)]
pub struct Ask<'a> {
    pub exporter: &'a Exporter,
    pub values: Values,
    pub filename: String,
    /// When the request came.
    pub asked: Stamp,
    /// Who asks, as given: an address or a name. Only what [`Ask::named`] makes of it is stored.
    pub name: Option<Vec<u8>>,
    /// Who asks, as it is stored.
    pub client: Option<String>,
    pub priority: i64,
    /// Only an attempt that started at or after this moment counts.
    pub after: Option<Stamp>,
    pub not_before: Option<Stamp>,
    pub no_enqueue: bool,
    /// Nobody waits for the answer, so asking does not keep a queued job from being given up.
    pub speculative: bool,
}

impl<'a> Ask<'a> {
    /// The words of the command line, patterns not looked at. The inner `Err` is the answer to a request that names
    /// what does not exist or does not fit.
    pub fn read(config: &'a Config, args: &RequestArgs) -> Result<Result<Self, Answer>, Failure> {
        let now = Stamp::now();
        let after = args.after.as_deref().map(|text| moment::meant_rounded_up(text, now)).transpose().map_err(usage)?;
        let exact = args.after.as_deref().map(|text| moment::meant(text, now, Toward::Past));
        let exact = exact.transpose().map_err(usage)?;
        let not_before = args.not_before.as_deref().map(|text| moment::meant(text, now, Toward::Future));
        let not_before = not_before.transpose().map_err(usage)?;
        let pairs = args.values.iter().map(|word| pair(word)).collect::<Result<Vec<_>, _>>().map_err(usage)?;
        if exact.is_some_and(|exact| exact > now.plus_ms(AHEAD_MS)) {
            return Ok(Err(Answer::because(State::Invalid, "the time given with --after lies ahead")));
        }
        let seen = Self::glance(config, args.exporter.as_bytes(), &pairs);
        Ok(seen.map(|ask| Self {
            name: args.client.clone().map(String::into_bytes),
            priority: args.priority,
            after,
            not_before,
            no_enqueue: args.no_enqueue,
            ..ask
        }))
    }

    /// An ask with nothing but an exporter and its values.
    /// The inner `Err` is the answer to values that do not fit.
    ///
    /// # Errors
    /// A pattern of the configuration is none.
    pub fn check(
        config: &'a Config,
        exporter: &[u8],
        pairs: &[(Vec<u8>, Vec<u8>)],
    ) -> Result<Result<Self, Answer>, Failure> {
        let ask = match Self::glance(config, exporter, pairs) {
            Ok(ask) => ask,
            refused => return Ok(refused),
        };
        Ok(ask.vet(config)?.map(|()| ask))
    }

    /// The same, good enough to look for the file: patterns are dear, and no file is there whose name was not made of
    /// values that match. Whoever queues something calls [`Ask::vet`] first.
    pub fn glance(config: &'a Config, exporter: &[u8], pairs: &[(Vec<u8>, Vec<u8>)]) -> Result<Self, Answer> {
        let name = String::from_utf8_lossy(exporter);
        let exporter = config.exporters.get(name.as_ref()).ok_or_else(|| {
            Answer::because(State::Unknown, format!("there is no exporter \"{}\"", name.escape_debug()))
        })?;
        let values = params::check_for_a_look(exporter, pairs).map_err(Answer::unfit)?;
        Ok(Self::of(exporter, values))
    }

    /// The rest of [`Ask::check`].
    pub fn vet(&self, config: &Config) -> Result<Result<(), Answer>, Failure> {
        let invalid = |misfit| Ok(Err(Answer::unfit(misfit)));
        match params::check_patterns(self.exporter, &self.values) {
            Err(Unfit::Pattern(problem)) => Err(Failure::because(Exit::Config, problem)),
            Err(Unfit::Value(misfit)) => invalid(misfit),
            Ok(()) => self.check_sources(config).map_or_else(invalid, |()| Ok(Ok(()))),
        }
    }

    /// Whether the values suit the sources that a derived file is made from.
    pub fn check_sources(&self, config: &Config) -> Result<(), Misfit> {
        check_sources(config, self.exporter, &self.values)
    }

    /// An ask with values that were checked already.
    pub fn of(exporter: &'a Exporter, values: Values) -> Self {
        let filename = params::filename(exporter, &values);
        let (name, client, after, not_before) = (None, None, None, None);
        let asked = Stamp::now();
        let (no_enqueue, speculative) = (false, false);
        Self {
            exporter,
            values,
            filename,
            asked,
            name,
            client,
            priority: 0,
            after,
            not_before,
            no_enqueue,
            speculative,
        }
    }

    /// With the client as it is stored; the key of the hash is in the database.
    pub(super) fn named(&self, view: &View, names: ClientNames) -> anyhow::Result<Self> {
        let Some(name) = self.name.as_ref().filter(|name| !name.is_empty()) else { return Ok(self.clone()) };
        Ok(Self { client: Some(client::stored(&view.client_key()?, name, names)), ..self.clone() })
    }
}

/// A derived file's values have to suit the source that it is made from, too.
fn check_sources(config: &Config, exporter: &Exporter, values: &Values) -> Result<(), Misfit> {
    let source = exporter.source.as_ref().and_then(|source| config.exporters.get(source));
    let Some(source) = source else { return Ok(()) };
    check_sources(config, source, &chain::source_values(source, values)?)
}

fn usage(sentence: String) -> Failure {
    Failure::because(Exit::Usage, sentence)
}

/// `NAME=VALUE` as bytes.
pub fn pair(word: &OsStr) -> Result<(Vec<u8>, Vec<u8>), String> {
    let bytes = word.as_bytes();
    let Some(at) = bytes.iter().position(|byte| *byte == b'=') else {
        return Err(format!("\"{}\" is not a parameter; write NAME=VALUE", word.display().to_string().escape_debug()));
    };
    Ok((bytes[..at].to_vec(), bytes[at + 1..].to_vec()))
}
