//! A thousand jobs that do nothing but make a file, four at a time.

use std::{
    cell::Cell,
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::Stdio,
    time::Instant,
};

use anyhow::{Context, Result, ensure};

use crate::{
    contender::{Contender, in_turns},
    group::{Goal, Group, Unit},
    peers::{Nq, Peer, Tsp, find},
    process::{bare, time, wait_until},
    setup::Setup,
    site::{Site, word},
};

const SEATS: usize = 4;

/// Where the files of one round go, and what makes one.
struct Work<'a> {
    room: &'a Path,
    jobs: usize,
    exporter: PathBuf,
    round: Cell<usize>,
}

pub fn measure(setup: &Setup) -> Result<Vec<Group>> {
    let room = setup.room("thousand")?;
    let exporter = setup.floor("one-byte");
    let site = Site::new(setup, "t", SEATS, &[word(&exporter), "{output}"])?;
    let work = Work { room: &room, jobs: setup.pick(1000, 200), exporter, round: Cell::new(0) };
    let rounds = setup.pick(7, 3);
    let listed = vec![
        Contender::new("pressroom", || work.queued(&site)),
        Contender::new("xargs -P 4", || work.listed("xargs", &["-P", "4", "-n", "1"])),
        Contender::new("GNU parallel -j4", || work.listed("parallel", &["-j4"])),
    ];
    let goals = [("xargs", Goal::AtMost(6.0)), ("GNU", Goal::AtMost(0.5))];
    let what = format!("{} waiting jobs, 4 at a time", work.jobs);
    let listed = Group::among("thousand", &what, Unit::Seconds, in_turns(listed, rounds, 1)?, &goals);
    let asked = vec![
        Contender::new("pressroom", || work.asked(&site)),
        Contender::new("tsp -S 4", || work.tsp()),
        Contender::new("nq, 4 queues", || work.nq()),
    ];
    let what = format!("{} jobs queued one by one and run", work.jobs);
    let asked = Group::among("thousand", &what, Unit::Seconds, in_turns(asked, rounds, 1)?, &[]);
    Ok(listed.into_iter().chain(asked).collect())
}

impl Work<'_> {
    /// A new name and an empty directory for a round.
    fn begin(&self) -> Result<(String, PathBuf)> {
        self.round.set(self.round.get() + 1);
        let name = format!("r{}x", self.round.get());
        let dir = self.room.join(&name);
        fs::create_dir(&dir)?;
        Ok((name, dir))
    }

    fn files(&self, dir: &Path) -> Vec<PathBuf> {
        (0..self.jobs).map(|job| dir.join(job.to_string())).collect()
    }

    /// Every job has really run: there are as many whole files as jobs.
    fn count(&self, dir: &Path) -> Result<()> {
        let whole = self.files(dir).iter().filter(|file| whole(file)).count();
        ensure!(whole == self.jobs, "{whole} of {} jobs have run", self.jobs);
        Ok(())
    }

    fn wait(&self, dir: &Path) -> Result<()> {
        // The last ones first: a look that finds one missing need not look at the others.
        let files = self.files(dir);
        wait_until("every job has run", || files.iter().rev().all(|file| whole(file)))?;
        self.count(dir)
    }

    /// A program that takes the list from its standard input.
    fn listed(&self, program: &str, words: &[&str]) -> Result<f64> {
        let (_, dir) = self.begin()?;
        let list = self.files(&dir).iter().map(|file| word(file)).collect::<Vec<_>>().join("\n") + "\n";
        let begin = Instant::now();
        let mut command = bare(find(program)?);
        command.env("HOME", self.room).args(words).arg(&self.exporter).stdin(Stdio::piped());
        let mut child = command.spawn()?;
        child.stdin.take().context("stdin is piped")?.write_all(list.as_bytes())?;
        ensure!(child.wait()?.success(), "{program} has failed");
        let took = begin.elapsed().as_secs_f64();
        self.count(&dir)?;
        Ok(took)
    }

    /// Pressroom with all jobs in the queue before a tick comes.
    fn queued(&self, site: &Site) -> Result<f64> {
        let (name, _) = self.begin()?;
        self.ask(site, &name)?;
        let begin = Instant::now();
        let _tick = site.linger()?;
        self.finish(site, &name, begin)
    }

    /// Pressroom with a tick at work while the jobs are being queued.
    fn asked(&self, site: &Site) -> Result<f64> {
        let (name, _) = self.begin()?;
        let begin = Instant::now();
        let _tick = site.linger()?;
        self.ask(site, &name)?;
        self.finish(site, &name, begin)
    }

    fn ask(&self, site: &Site, name: &str) -> Result<()> {
        (0..self.jobs).try_for_each(|job| site.queue(&format!("{name}{job}")).map(drop))
    }

    /// Until no job is left; then files and records are counted.
    fn finish(&self, site: &Site, name: &str, begin: Instant) -> Result<f64> {
        site.settle()?;
        let took = begin.elapsed().as_secs_f64();
        let whole = (0..self.jobs).filter(|job| whole(&site.file(&format!("{name}{job}")))).count();
        let made = usize::try_from(site.made(name)?)?;
        ensure!((whole, made) == (self.jobs, self.jobs), "{whole} files, {made} attempts of {} jobs", self.jobs);
        Ok(took)
    }

    fn tsp(&self) -> Result<f64> {
        let (_, dir) = self.begin()?;
        let tsp = Tsp::new(&dir, SEATS)?;
        self.add(&[&tsp], &dir)
    }

    fn nq(&self) -> Result<f64> {
        let (_, dir) = self.begin()?;
        let queues: Vec<Nq> = (0..SEATS).map(|n| Nq::new(&dir, &format!("nq{n}"))).collect::<Result<_>>()?;
        let queues: Vec<&dyn Peer> = queues.iter().map(|queue| queue as &dyn Peer).collect();
        self.add(&queues, &dir)
    }

    /// The jobs go to these queues in turn.
    fn add(&self, queues: &[&dyn Peer], dir: &Path) -> Result<f64> {
        let begin = Instant::now();
        for (file, queue) in self.files(dir).iter().zip(queues.iter().cycle()) {
            time(&mut queue.add(&[word(&self.exporter), word(file)]), &[0])?;
        }
        self.wait(dir)?;
        Ok(begin.elapsed().as_secs_f64())
    }
}

/// The exporter's one byte is in it.
fn whole(file: &Path) -> bool {
    file.metadata().is_ok_and(|file| file.len() == 1)
}
