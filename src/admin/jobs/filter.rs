//! From the words of the filters to what they mean.

use crate::{
    cli::{Filters, StatusWord},
    config,
    context::Context,
    exit::{Exit, Failure},
    model::{
        client,
        clock::Stamp,
        moment::{self, Toward},
        status::{Outcome, Status},
    },
    store::{JobFilter, View},
};

/// What the filters say; a client counts by its name and by its hash.
pub fn about(view: &View, filters: &Filters) -> Result<JobFilter, Failure> {
    let now = Stamp::now();
    Ok(JobFilter {
        exporter: filters.which.exporter.clone(),
        queue: filters.queue.clone(),
        clients: filters.client.as_ref().map_or(Ok(Vec::new()), |client| clients(view, client))?,
        params: params(&filters.which.params)?,
        since: filters.which.since.as_deref().map(|text| time(text, now)).transpose()?,
        until: filters.which.until.as_deref().map(|text| time(text, now)).transpose()?,
    })
}

/// Refuses an exporter or a queue that nobody knows: neither is it configured, nor is anything of it left.
pub fn expect_known(
    context: &Context,
    view: &View,
    exporter: Option<&String>,
    queue: Option<&String>,
) -> Result<(), Failure> {
    let config = &context.config;
    if let Some(name) = exporter.filter(|name| !config.exporters.contains_key(*name))
        && !view.knows_exporter(name).map_err(anyhow::Error::from)?
    {
        return Err(unknown("exporter", name, config.exporters.keys()));
    }
    if let Some(name) = queue.filter(|name| !config.queues.contains_key(*name))
        && !view.knows_queue(name).map_err(anyhow::Error::from)?
    {
        return Err(unknown("queue", name, config.queues.keys()));
    }
    Ok(())
}

fn unknown<'a>(what: &str, name: &str, known: impl Iterator<Item = &'a String> + Clone) -> Failure {
    let hint = config::hint(name, known.clone().map(String::as_str));
    let names = || known.map(String::as_str).collect::<Vec<_>>().join(", ");
    let hint = if hint.is_empty() { format!("; there are {}", names()) } else { hint };
    Failure::because(Exit::Usage, format!("there is no {what} {name:?}{hint}"))
}

/// Over HTTP a client is stored as a hash that nobody can make without the key of this database.
fn clients(view: &View, client: &str) -> Result<Vec<String>, Failure> {
    let key = view.client_key().map_err(anyhow::Error::from)?;
    Ok(vec![client.to_owned(), client::hashed(&key, client.as_bytes())])
}

/// Names and values of parameters.
pub fn params(words: &[String]) -> Result<Vec<(String, String)>, Failure> {
    words.iter().map(|word| param(word)).collect()
}

fn param(word: &str) -> Result<(String, String), Failure> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    match word.split_once('=') {
        Some((name, value)) if !name.is_empty() && name.chars().all(plain) => Ok((name.to_owned(), value.to_owned())),
        _ => Err(Failure::because(Exit::Usage, format!("{word:?} is not a parameter; write NAME=VALUE"))),
    }
}

/// A moment, or how long ago.
pub fn time(text: &str, now: Stamp) -> Result<Stamp, Failure> {
    moment::meant(text, now, Toward::Past).map_err(|sentence| Failure::because(Exit::Usage, sentence))
}

/// The statuses that are meant, without repetition.
pub fn statuses(words: &[StatusWord]) -> Vec<Status> {
    let meant = |status: &Status| words.iter().any(|word| means(*word, *status));
    Status::ALL.into_iter().filter(meant).collect()
}

const fn means(word: StatusWord, status: Status) -> bool {
    match word {
        StatusWord::Queued => matches!(status, Status::Queued),
        StatusWord::Started => matches!(status, Status::Started),
        StatusWord::Failed => status.is_failed(),
        StatusWord::FailedTimeout => matches!(status, Status::FailedTimeout),
        StatusWord::FailedUnknown => matches!(status, Status::FailedUnknown),
    }
}

/// The results that are meant: those named, and those that lead to one of the statuses.
///
/// # Errors
/// A status that no past attempt leads to: without this they would all be meant.
pub fn outcomes(results: &[Outcome], words: &[StatusWord]) -> Result<Vec<Outcome>, Failure> {
    let statuses = statuses(words);
    if !statuses.iter().all(|status| status.is_failed()) {
        let sentence = "past attempts are neither queued nor started; `pressroom jobs list` has what is";
        return Err(Failure::because(Exit::Usage, sentence));
    }
    let leads = |outcome: Outcome| outcome.is_failure() && statuses.contains(&outcome.failed_status());
    Ok(Outcome::ALL.into_iter().filter(|outcome| results.contains(outcome) || leads(*outcome)).collect())
}

/// A sort key without its leading minus, and whether it had one.
pub fn order<T: Copy>(word: &str, keys: &[(&str, T)]) -> Result<(T, bool), Failure> {
    let (key, reverse) = word.strip_prefix('-').map_or((word, false), |key| (key, true));
    let found = keys.iter().find(|(name, _)| *name == key);
    let names = || keys.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    found
        .map(|(_, order)| (*order, reverse))
        .ok_or_else(|| Failure::because(Exit::Usage, format!("there is no sort key {key:?}; there are {}", names())))
}

/// 0 stands for all.
pub fn limit(limit: u32) -> Option<u32> {
    (limit > 0).then_some(limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_moments_dates_and_how_long_ago() {
        let now = Stamp(1_772_366_400_000);
        let ok = |text| time(text, now).map_err(|failure| failure.exit).unwrap();
        assert_eq!(ok("2h"), Stamp(now.0 - 7_200_000));
        assert_eq!(ok("2026-03-01T12:00:00Z"), now);
        assert_eq!(time("gestern", now).unwrap_err().exit, Exit::Usage);
    }

    #[test]
    fn failed_means_both_kinds_and_every_result_that_leads_there() {
        assert_eq!(
            statuses(&[StatusWord::Failed, StatusWord::FailedTimeout]),
            [Status::FailedTimeout, Status::FailedUnknown]
        );
        assert_eq!(outcomes(&[], &[StatusWord::FailedTimeout]).unwrap(), [Outcome::Timeout, Outcome::Cpu]);
        assert_eq!(outcomes(&[Outcome::Ok], &[]).unwrap(), [Outcome::Ok]);
        assert!(!outcomes(&[], &[StatusWord::Failed]).unwrap().contains(&Outcome::Cancelled));
        assert!(outcomes(&[], &[StatusWord::Started]).is_err());
    }

    #[test]
    fn a_parameter_has_a_name() {
        assert_eq!(params(&["lang=a=b".into()]).unwrap(), [("lang".into(), "a=b".into())]);
        for word in ["lang", "=fr", "a\"b=c"] {
            assert_eq!(params(&[word.into()]).unwrap_err().exit, Exit::Usage, "{word}");
        }
    }
}
