//! What the exporters have written themselves: their record and their files.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    fs::File,
    io::{Read, Seek, SeekFrom},
};

use super::world::World;

/// One run, as its exporter has noted it.
pub struct Noted {
    pub name: String,
    /// Milliseconds on the site's clock, not before the claim.
    pub start: i64,
}

/// What stands in the record.
#[derive(Default)]
pub struct Records {
    pub runs: HashMap<String, Noted>,
    /// Starts and ends of attempts in the order in which they were noted.
    events: Vec<(bool, String)>,
    /// So many bytes of the record are read.
    read: u64,
}

impl Records {
    /// Reads what has been noted since the last time.
    pub fn read_on(&mut self, world: &World) {
        let Ok(mut file) = File::open(world.site.path("record")) else { return };
        let mut text = String::new();
        file.seek(SeekFrom::Start(self.read)).and_then(|_| file.read_to_string(&mut text)).expect("the record");
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        self.read += whole as u64;
        text[..whole].lines().for_each(|line| self.note(line));
    }

    fn note(&mut self, line: &str) {
        let words: Vec<&str> = line.split(' ').collect();
        let [event, name, attempt, raw, ahead, ..] = words[..] else { panic!("a line of the record: {line}") };
        self.events.push((event == "start", attempt.into()));
        if event == "start" {
            let start = raw.parse::<i64>().expect(line) + milliseconds(ahead);
            let before = self.runs.insert(attempt.into(), Noted { name: name.into(), start });
            assert!(before.is_none(), "the attempt {attempt} was started twice");
        }
    }

    /// The most runs of each queue that were at work at once, of those that came to their own end.
    pub fn most_at_once(&self, queue_of: &HashMap<String, String>) -> BTreeMap<String, usize> {
        let ended: HashSet<_> = self.events.iter().filter(|(starts, _)| !starts).map(|(_, attempt)| attempt).collect();
        let (mut running, mut most) = (BTreeMap::<&str, usize>::new(), BTreeMap::new());
        for (starts, attempt) in self.events.iter().filter(|(_, attempt)| ended.contains(attempt)) {
            let Some(queue) = queue_of.get(attempt) else { continue };
            let now = running.entry(queue).or_default();
            *now = if *starts { *now + 1 } else { now.saturating_sub(1) };
            let highest = most.entry(queue.clone()).or_default();
            *highest = (*now).max(*highest);
        }
        most
    }

    /// Says what is wrong with a file; otherwise when its making began, and that of its source.
    pub fn judge(&self, filename: &str, text: &str) -> Result<i64, String> {
        let name = filename.rsplit_once('.').map_or(filename, |(name, _)| name);
        let mut lines: Vec<&str> = text.lines().collect();
        let parts = if name.starts_with("pdf/") { 2 } else { 1 };
        let is_whole = lines.len() == 2 * parts && lines.split_off(parts).iter().all(|line| *line == "whole");
        if !is_whole || !text.ends_with('\n') {
            return Err(format!("{filename} is not whole: {text:?}"));
        }
        let source = name.replacen("pdf/", "book/", 1);
        let starts = lines.iter().zip([name, &source]).map(|(line, name)| {
            let (of, attempt) = line.split_once(' ').ok_or("no name")?;
            let noted = self.runs.get(attempt).ok_or("by no exporter that we know")?;
            if of == name && noted.name == name { Ok(noted.start) } else { Err("of another name") }
        });
        starts
            .map(|start| start.map_err(|what: &str| format!("{filename} is {what}: {text:?}")))
            .try_fold(i64::MAX, |earliest, start| Ok(earliest.min(start?)))
    }
}

fn milliseconds(seconds: &str) -> i64 {
    let (sign, seconds) = seconds.strip_prefix('-').map_or((1, seconds), |rest| (-1, rest));
    let (whole, part) = seconds.split_once('.').unwrap_or((seconds, ""));
    let number = format!("{whole}{:0<3}", &part[..part.len().min(3)]);
    sign * number.parse::<i64>().expect("a number of seconds")
}
