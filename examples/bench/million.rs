//! The same with a million rows queued and a million attempts in the history as with next to none.

use anyhow::{Context, Result};

use crate::{
    contender::{Contender, in_turns},
    fill,
    group::{Goal, Group, Unit},
    memory,
    process::time,
    queueing::Counter,
    setup::Setup,
    site::{Site, word},
    stats::Sample,
};

/// As much as a visitor or a tick waits for.
const FLAT: Goal = Goal::AtMost(1.15);

struct Pair {
    full: Site,
    empty: Site,
    rows: String,
}

pub fn measure(setup: &Setup) -> Result<Vec<Group>> {
    let exporter = setup.floor("one-byte");
    let words = [word(&exporter), "{output}"];
    let (full, empty) = (Site::new(setup, "f", 1, &words)?, Site::new(setup, "e", 1, &words)?);
    let count = setup.pick(1_000_000, 100_000);
    [&full, &empty].iter().try_for_each(|site| site.make("Emma").map(drop))?;
    fill::fill(&full, &fill::Rows { jobs: count, attempts: count, of_jobs: &[], of_attempts: &[] })?;
    let pair =
        Pair { full, empty, rows: if count == 1_000_000 { "a million rows".into() } else { format!("{count} rows") } };
    let mut groups = pair.visitors(setup)?;
    groups.extend(pair.admins(setup)?);
    groups.extend(pair.tick_memory(setup)?);
    Ok(groups)
}

impl Pair {
    fn visitors(&self, setup: &Setup) -> Result<Vec<Group>> {
        let rounds = setup.pick(20, 5);
        let count = Counter::default();
        let enqueue = |site: &Site| site.queue(&count.next());
        let mut groups = vec![self.flat(("enqueue", FLAT), rounds, 10, &enqueue)?];
        let poll = |site: &Site| time(&mut site.request("t1"), &[75]);
        groups.push(self.flat(("poll", FLAT), rounds, 10, &poll)?);
        let claim = |site: &Site| {
            let took = time(&mut site.as_owner(&["tick"]), &[0])?;
            idle(site)?;
            Ok(took)
        };
        groups.push(self.flat(("claim: a tick that starts one job", FLAT), rounds, 2, &claim)?);
        Ok(groups)
    }

    fn admins(&self, setup: &Setup) -> Result<Vec<Group>> {
        let commands: [&[&str]; 5] = [
            &["jobs", "list", "--limit", "50"],
            &["jobs", "show", "book/t1.bin"],
            &["jobs", "history", "--limit", "50"],
            &["queues", "list"],
            &["status"],
        ];
        let once = |words: &&[&str]| {
            // 1 and 2 are status's warning and alarm.
            let run = |site: &Site| time(&mut site.command(words), &[0, 1, 2]);
            let mut group = self.flat((&words.join(" "), FLAT), setup.pick(10, 3), 1, &run)?;
            group.lines.iter_mut().for_each(|line| line.goal = None);
            Ok(group)
        };
        commands.iter().map(once).collect()
    }

    fn tick_memory(&self, setup: &Setup) -> Result<Option<Group>> {
        let peak = |site: &Site| {
            let peak = memory::peak(setup, &site.as_owner(&["tick"]), &[0])?;
            idle(site)?;
            Ok::<_, anyhow::Error>(Sample::one(peak))
        };
        let samples = vec![("full".to_owned(), peak(&self.full)?), ("empty".to_owned(), peak(&self.empty)?)];
        let what = format!("tick, {}: peak memory", self.rows);
        let mut group = Group::among("", &what, Unit::Megabytes, samples, &[]);
        if let Some(line) = group.as_mut().and_then(|group| group.lines.first_mut()) {
            line.goal = Some(Goal::Below(16.0));
        }
        Ok(group)
    }

    fn flat(
        &self,
        (what, goal): (&str, Goal),
        rounds: usize,
        batch: usize,
        once: &dyn Fn(&Site) -> Result<f64>,
    ) -> Result<Group> {
        let contenders =
            vec![Contender::new("full", || once(&self.full)), Contender::new("empty", || once(&self.empty))];
        let samples = in_turns(contenders, rounds, batch)?;
        let what = format!("{}: {what}", self.rows);
        Group::among("million", &what, Unit::Milliseconds, samples, &[("empty", goal)]).context("nothing measured")
    }
}

/// Waits until the one job that was started has ended.
fn idle(site: &Site) -> Result<()> {
    let conn = site.database()?;
    let mut started = conn.prepare("SELECT 1 FROM job WHERE status = 1")?;
    crate::process::wait_until("no job runs", || started.exists([]).is_ok_and(|started| !started))
}
