//! `jobs log`: what an attempt has written, and with `--follow` what it writes.
//!
//! The log of a long-winded exporter is cut in its middle; a follower looks for the end that it has shown and goes on
//! behind it.

use std::{thread::sleep, time::Duration};

use super::find::{self, FoundFile};
use crate::{
    cli::LogArgs,
    context::Context,
    exit::{Exit, Failure},
    logging,
    model::job::{Attempt, AttemptId},
    output::Output,
    store::{Store, View},
    supervise,
};

/// A follower looks so often.
const FOLLOW_INTERVAL: Duration = Duration::from_millis(200);
/// By so many bytes a follower finds the place again.
const OVERLAP: usize = 256;

/// Prints the log of an attempt, or of a job's last one.
pub fn run(context: &Context, args: &LogArgs) -> Result<(), Failure> {
    if args.follow {
        return follow(context, &args.job);
    }
    let store = context.view_store()?;
    let subject = find::subject(&store.view(), &args.job)?;
    let Some(attempt) = last(&store.view(), &subject)? else { return Err(not_started(&store.view(), &subject)?) };
    let mut paper = Output::new();
    match read(context, &attempt.id)? {
        Some(log) => paper.text(&String::from_utf8_lossy(&log)),
        None => kept_end(&attempt, &mut paper)?,
    }
    paper.close()
}

/// Behind so many entries of dropped jobs an attempt is looked for.
const LOOK_BACK: u32 = 20;

/// The attempt that was named, else the newest. What was dropped has no log.
fn last(view: &View, subject: &FoundFile) -> anyhow::Result<Option<Attempt>> {
    let found = match &subject.attempt {
        Some(attempt) => view.attempt(&attempt.id)?.into_iter().collect(),
        None => subject.attempts(view, LOOK_BACK)?,
    };
    Ok(found.into_iter().find(|attempt| !attempt.is_drop()))
}

fn not_started(view: &View, subject: &FoundFile) -> Result<Failure, Failure> {
    let newest = subject.attempts(view, 1)?.pop();
    let why = newest.filter(|newest| subject.job.is_none() && newest.is_drop()).map_or_else(
        || format!("{:?} has not been started yet", subject.filename),
        |newest| format!("{}; it was not started, so there is no log", find::how_it_ended(&newest)),
    );
    Ok(Failure::because(Exit::Absent, why))
}

/// `None`: the log is no longer kept, or there was none.
fn read(context: &Context, attempt: &AttemptId) -> Result<Option<Vec<u8>>, Failure> {
    let failed = |error| Failure::because(Exit::Io, format!("cannot read the log of attempt {attempt}: {error}"));
    Ok(context.site.read_log(attempt).map_err(failed)?.map(supervise::output::in_order))
}

/// The history keeps the end of a log for longer.
fn kept_end(attempt: &Attempt, paper: &mut Output) -> Result<(), Failure> {
    let tail = attempt.record.as_ref().map_or("", |record| &record.log_tail);
    if tail.is_empty() {
        return Err(Failure::because(Exit::Absent, format!("the log of attempt {} is not kept any more", attempt.id)));
    }
    logging::diagnostic_line("the log itself is not kept any more; this is its end");
    paper.text(tail);
    paper.text(if tail.ends_with('\n') { "" } else { "\n" });
    Ok(())
}

fn follow(context: &Context, name: &str) -> Result<(), Failure> {
    let store = context.open_store()?;
    let subject = find::subject(&store.view(), name)?;
    let attempt = wait_for_start(&store, &subject)?;
    let mut paper = Output::new();
    let mut shown = Vec::new();
    loop {
        // Asked before the log is read, so that nothing that was written before the end is missed.
        let now = store.view().attempt(&attempt.id).map_err(anyhow::Error::from)?;
        let ended = now.is_none_or(|attempt| attempt.record.is_some());
        if let Some(log) = read(context, &attempt.id)? {
            show(&mut paper, &mut shown, &log, ended);
        }
        if ended || paper.is_closed() {
            return paper.close();
        }
        sleep(FOLLOW_INTERVAL);
    }
}

/// A queued job's log begins with its next attempt.
fn wait_for_start(store: &Store, subject: &FoundFile) -> Result<Attempt, Failure> {
    loop {
        if let Some(attempt) = last(&store.view(), subject)? {
            return Ok(attempt);
        }
        if store.view().job(&subject.filename).map_err(anyhow::Error::from)?.is_none() {
            return Err(Failure::because(Exit::Absent, format!("{:?} was not started", subject.filename)));
        }
        sleep(FOLLOW_INTERVAL);
    }
}

/// Prints what is new, in whole lines until the end.
fn show(paper: &mut Output, shown: &mut Vec<u8>, log: &[u8], ended: bool) {
    let start = shown_of(shown, log);
    let news = &log[start..];
    let whole = news.iter().rposition(|byte| matches!(byte, b'\n' | b'\r')).map_or(0, |end| end + 1);
    let news = if ended { news } else { &news[..whole] };
    if !news.is_empty() {
        paper.text(&String::from_utf8_lossy(news));
        paper.flush();
        *shown = log[..start + news.len()].to_vec();
    }
}

/// How much of the log was shown.
fn shown_of(shown: &[u8], log: &[u8]) -> usize {
    if log.starts_with(shown) {
        return shown.len();
    }
    let end = &shown[shown.len().saturating_sub(OVERLAP)..];
    log.windows(end.len()).rposition(|window| window == end).map_or(0, |place| place + end.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn news<'a>(shown: &[u8], log: &'a [u8]) -> &'a [u8] {
        &log[shown_of(shown, log)..]
    }

    #[test]
    fn only_what_is_new_is_shown() {
        assert_eq!(news(b"", b"one\n"), b"one\n");
        assert_eq!(news(b"one\n", b"one\ntwo\n"), b"two\n");
        assert_eq!(news(b"one\ntwo\n", b"one\ntwo\n"), b"");
    }

    #[test]
    fn behind_a_cut_the_end_that_was_shown_is_found_again() {
        let lines: Vec<u8> = (0..100).flat_map(|number| format!("line {number}\n").into_bytes()).collect();
        let cut = [&lines[..40], b"\n[\xe2\x80\xa6 left out \xe2\x80\xa6]\n", &lines[500..], b"more\n"].concat();
        assert_eq!(news(&lines, &cut), b"more\n");
        assert_eq!(news(b"something else", b"all new"), b"all new");
    }
}
