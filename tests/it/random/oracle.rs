//! What has to hold after each burst, and once all is quiet.

use std::{
    collections::{BTreeMap, HashMap},
    fs,
    sync::atomic::Ordering,
};

use serde_json::Value;

use super::{
    Random,
    acts::is_no_fault,
    model::Ended,
    world::{HOST, QUEUES, Wanted},
};
use crate::support::{dice::tick, site::wait_until, strays::nobody_is_left, together::Beside};

impl Random {
    /// Runs may be at work meanwhile.
    pub fn judge(&self) {
        assert_eq!(self.world.read("faults"), "");
        is_no_fault(&self.world.read("said"));
        self.judge_wishes();
        self.judge_seats();
        self.judge_files();
        self.admin(&["check"], &[0]);
        let status = self.admin(&["status", "--format", "json"], &[0, 1, 2]).json();
        assert!(status["running"].as_u64() <= Some(HOST as u64), "{status}");
    }

    /// Wishes first, then rows, then the history: what is no row any more has its end in the history.
    fn judge_wishes(&self) {
        let wishes = self.model().wishes.clone();
        let rows = self.lines(&["jobs", "list", "--limit", "0", "--format", "json"]);
        self.read_history();
        let lost = self.model().lost(&wishes, &rows, &self.world);
        assert!(lost.is_empty(), "{lost:#?}");
        let early = self.model().early(&self.records(), &self.world);
        assert!(early.is_empty(), "{early:#?}");
    }

    fn read_history(&self) {
        let since = format!("{}s", 5 + self.since_history().as_secs() + 10);
        let rows = self.lines(&["jobs", "history", "--limit", "0", "--format", "json", "--since", &since]);
        self.model().history(rows);
    }

    fn judge_seats(&self) {
        let queue_of = |(id, attempt): (&String, &Ended)| Some((id.clone(), attempt.row["queue"].as_str()?.to_owned()));
        let queues: HashMap<_, _> = self.model().ended.iter().filter_map(queue_of).collect();
        let most = self.records().most_at_once(&queues);
        for (queue, seats) in QUEUES {
            assert!(most.get(queue).is_none_or(|most| *most <= seats), "more than {seats} at once in {queue}");
        }
        for queue in self.lines(&["queues", "list", "--format", "json"]) {
            assert!(queue["running"].as_u64() <= queue["max_running"].as_u64(), "{queue}");
        }
    }

    /// Files of the cache are whole and those of their names.
    fn judge_files(&self) {
        for exporter in ["book", "pdf", "slides", "stuck"] {
            for name in self.world.site.names(&format!("s/cache/{exporter}")) {
                let filename = format!("{exporter}/{name}");
                // What is gone by now was pruned.
                let Ok(text) = fs::read_to_string(self.world.site.cached(&filename)) else { continue };
                if !name.starts_with('.') {
                    assert_eq!(self.records().judge(&filename, &text).err(), None);
                }
            }
        }
    }

    fn lines(&self, words: &[&str]) -> Vec<Value> {
        let done = self.admin(words, &[0, 66]);
        done.out().lines().map(|line| serde_json::from_str(line).expect(line)).collect()
    }

    /// All queues go on and nobody is killed any more: everything comes to an end, and all that can be made can be made.
    pub fn settle(&self, asked_again: &[Wanted]) {
        for (queue, _) in QUEUES {
            self.admin(&["queues", "resume", queue], &[0]);
        }
        let said = fs::File::options().append(true).create(true).open(self.world.site.path("said")).expect("a file");
        let stays = Beside::start_into(&mut tick(&self.world.site, &["--for", "1h"]), said);
        self.all_end();
        self.world.move_clock(1500); // failures are no answer any more
        std::thread::scope(|scope| {
            for some in asked_again.chunks(asked_again.len().div_ceil(4).max(1)) {
                scope.spawn(|| some.iter().for_each(|wanted| self.is_made(wanted)));
            }
        });
        self.all_end();
        self.ended_well(&stays.stop());
        self.is_quiet();
        self.judge();
    }

    fn is_made(&self, wanted: &Wanted) {
        let code = if wanted.is_good() { 0 } else { 70 };
        // The breaker may hold an exporter back for a moment, and a failure may be the answer for another one.
        wait_until(&format!("{} has ended as it has to", wanted.filename()), || {
            let done = self.request(wanted, None, vec!["--wait=1min".into()]);
            done.output.status.code() == Some(code)
        });
    }

    fn all_end(&self) {
        let pending =
            || self.lines(&["jobs", "list", "--status", "queued,started", "--limit", "0", "--format", "json"]).len();
        let mut last = pending();
        while last > 0 {
            let mut now = last;
            wait_until("the queue becomes shorter", || {
                now = pending();
                now < last
            });
            last = now;
        }
    }

    /// No seat, no process and nothing unfinished is left.
    fn is_quiet(&self) {
        let site = &self.world.site;
        wait_until("all is swept", || {
            let done = self.admin(&["tick", "--allow-root", "--wait"], &[0]);
            done.err().is_empty() && site.names("s/work").is_empty()
        });
        nobody_is_left(site);
        for queue in self.lines(&["queues", "list", "--format", "json"]) {
            let all: Vec<_> = ["queued", "delayed", "running"].iter().map(|key| queue[key].as_u64()).collect();
            assert_eq!(all, [Some(0); 3], "{queue}");
        }
        for exporter in ["book", "pdf", "slides", "stuck"] {
            let names = site.names(&format!("s/cache/{exporter}"));
            assert!(names.iter().all(|name| !name.starts_with('.')), "{names:?}");
        }
        for name in site.logs() {
            is_no_fault(&self.world.read(&format!("s/log/{name}")));
        }
    }

    /// Files that were published, and all attempts.
    pub fn figures(&self) -> String {
        let model = self.model();
        let made = model.ended.values().filter(|attempt| attempt.row["result"] == "ok").count();
        let mut results = BTreeMap::<&str, usize>::new();
        for attempt in model.ended.values() {
            *results.entry(attempt.row["result"].as_str().unwrap_or("none")).or_default() += 1;
        }
        format!(
            "{} operations, {} ticks, {} kills, {} attempts, {made} made {results:?}",
            self.operations.load(Ordering::Relaxed),
            self.ticks.load(Ordering::Relaxed),
            self.kills.load(Ordering::Relaxed),
            model.ended.len(),
        )
    }
}
