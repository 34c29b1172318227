//! From a word to a job: its id, its filename, a unique beginning of that, or the id of one of its attempts.
//!
//! A job that has succeeded has no row any more; its id still names the attempts that it has left in the history.

use crate::{
    exit::{Exit, Failure},
    model::{
        format,
        job::{Attempt, AttemptId, Job},
    },
    store::{View, Whose},
};

/// So many are named when a prefix is ambiguous.
const SHOWN: u32 = 5;

/// What a word names: a file, with its job if there is one, and the attempt if it names that.
pub struct FoundFile {
    pub filename: String,
    pub job: Option<Job>,
    pub attempt: Option<Attempt>,
    /// The newest attempt of the job that the word names by its id, though it has ended.
    pub ended: Option<Attempt>,
}

impl FoundFile {
    /// Whose attempts are meant: those of the job if that has ended, else all at the file.
    pub fn whose(&self) -> Whose<'_> {
        self.ended.as_ref().map_or(Whose::File(&self.filename), |newest| Whose::Job(newest.job))
    }

    /// The newest of them.
    pub fn attempts(&self, view: &View, limit: u32) -> anyhow::Result<Vec<Attempt>> {
        Ok(match self.whose() {
            Whose::Job(id) => view.attempts_of_job(id, limit)?,
            Whose::File(filename) => view.attempts_of(filename, limit)?,
        })
    }
}

/// The job that a word names.
pub fn job(view: &View, word: &str) -> Result<Job, Failure> {
    let subject = subject(view, word)?;
    if let Some(newest) = &subject.ended {
        return Err(Failure::because(Exit::BadValue, format!("{}, there is nothing to do", how_it_ended(newest))));
    }
    subject.job.ok_or_else(|| {
        let advice = "it is neither queued nor started nor failed";
        Failure::because(Exit::Absent, format!("there is no job for {:?}: {advice}", subject.filename))
    })
}

/// In the words of the last attempt of a job that is no more.
pub fn how_it_ended(newest: &Attempt) -> String {
    let record = newest.record.as_ref();
    if let Some(record) = record.filter(|_| newest.is_drop()) {
        let why = record.detail.as_ref().map_or_else(String::new, |why| format!(": {why}"));
        let (job, filename, at) = (newest.job, &newest.filename, format::time(record.ended));
        return format!("job {job} ({filename}) was dropped at {at}{why}");
    }
    let how = record.map_or_else(String::new, |record| {
        format!(" at {}, its last attempt with the result {}", format::time(record.ended), record.outcome.name())
    });
    format!("job {} ({}) has ended{how}", newest.job, newest.filename)
}

/// The job, or the file that there were attempts at, that a word names. Jobs come before files of the past.
pub fn subject(view: &View, word: &str) -> Result<FoundFile, Failure> {
    if word.is_empty() {
        return Err(Failure::because(Exit::Usage, "an empty word names no job"));
    }
    if let Some(attempt) = attempt(view, word)? {
        let job = view.job(&attempt.filename).map_err(anyhow::Error::from)?;
        return Ok(FoundFile { filename: attempt.filename.clone(), job, attempt: Some(attempt), ended: None });
    }
    if let Some(job) = by_id(view, word)? {
        return Ok(of_job(job));
    }
    if let Some(newest) = ended(view, word)? {
        return Ok(FoundFile { filename: newest.filename.clone(), job: None, attempt: None, ended: Some(newest) });
    }
    let jobs = named(view, word)?;
    if let [one] = &jobs[..] {
        return Ok(of_job(one.clone()));
    }
    let files =
        if jobs.is_empty() { files_named(view, word)? } else { jobs.into_iter().map(|job| job.filename).collect() };
    match &files[..] {
        [] => Err(Failure::because(Exit::Absent, format!("there is no job {word:?}"))),
        [one] => Ok(FoundFile { filename: one.clone(), job: None, attempt: None, ended: None }),
        several => Err(ambiguous(word, several)),
    }
}

fn of_job(job: Job) -> FoundFile {
    FoundFile { filename: job.filename.clone(), job: Some(job), attempt: None, ended: None }
}

fn attempt(view: &View, word: &str) -> Result<Option<Attempt>, Failure> {
    match AttemptId::parse(&word.to_ascii_uppercase()) {
        Some(id) => Ok(view.attempt(&id).map_err(anyhow::Error::from)?),
        None => Ok(None),
    }
}

fn by_id(view: &View, word: &str) -> Result<Option<Job>, Failure> {
    match word.parse() {
        Ok(id) => Ok(view.job_by_id(id).map_err(anyhow::Error::from)?),
        Err(_) => Ok(None),
    }
}

/// The newest attempt of a job that had this id.
fn ended(view: &View, word: &str) -> Result<Option<Attempt>, Failure> {
    match word.parse() {
        Ok(id) => Ok(view.attempts_of_job(id, 1).map_err(anyhow::Error::from)?.pop()),
        Err(_) => Ok(None),
    }
}

/// The one of exactly this name, else all that begin so.
fn named(view: &View, word: &str) -> anyhow::Result<Vec<Job>> {
    match view.job(word)? {
        Some(job) => Ok(vec![job]),
        None => Ok(view.jobs_named(word, SHOWN)?),
    }
}

fn files_named(view: &View, word: &str) -> anyhow::Result<Vec<String>> {
    let files = view.files_named(word, SHOWN)?;
    Ok(if files.first().is_some_and(|first| first == word) { vec![word.to_owned()] } else { files })
}

/// Several names begin so.
pub fn ambiguous(word: &str, names: &[String]) -> Failure {
    let more = if names.len() >= SHOWN as usize { ", …" } else { "" };
    Failure::because(Exit::Usage, format!("{word:?} is ambiguous: {}{more}; give a longer prefix", names.join(", ")))
}
