//! What visitors, an admin and cron do at random, and who is killed.

use std::{fs::File, os::unix::process::ExitStatusExt, thread, time::Duration};

use jiff::Timestamp;
use nix::{
    sys::signal::{self, Signal},
    unistd::Pid,
};

use super::{
    Random,
    world::{LATE, QUEUES, Wanted},
};
use crate::support::{
    dice::{Dice, tick, victims},
    site::Done,
    together::Beside,
};

/// Where a tick, or each run that it has started, dies.
const POINTS: [&str; 20] = [
    "linger-took-lock",
    "linger-waits",
    "linger-over",
    "tick-before-reap",
    "reap-took-lock",
    "reap-recorded",
    "sweep-removed-work",
    "prune-chose",
    "tick-before-claim",
    "tick-made-lock",
    "tick-before-commit",
    "tick-claimed",
    "tick-launched-one",
    "run-spawned",
    "run-exporter-ended",
    "run-linked",
    "run-before-rename",
    "run-renamed",
    "run-before-commit",
    "run-committed",
];

impl Random {
    /// A visitor asks for one file after the other.
    pub fn visit(&self, mut dice: Dice) {
        while self.goes_on() {
            self.ask(&mut dice);
            thread::sleep(Duration::from_millis(dice.roll(120)));
        }
    }

    fn ask(&self, dice: &mut Dice) {
        if dice.roll(25) == 0 {
            return self.ask_for_later(dice);
        }
        let wanted = Wanted::choose(dice);
        let mut words = vec![format!("--client=c{}", dice.roll(3))];
        words.truncate(usize::from(dice.roll(5) < 2));
        let after =
            (!wanted.is_task() && dice.roll(4) == 0).then(|| self.world.now() - 700 * (dice.roll(4) / 3).cast_signed());
        words.extend(after.map(|after| format!("--after={}", time(after))));
        match dice.roll(12) {
            0 => words.push(format!("--wait={}ms", 20 + dice.roll(400))),
            1 => words.push("--no-enqueue".into()),
            2 => words.push(format!("--priority={}", 10 - dice.roll(20).cast_signed())),
            3 if wanted.exporter == "book" || wanted.exporter == "stuck" => words.push("pages=5".into()),
            _ => {}
        }
        self.request(&wanted, after, words);
    }

    /// Asks for a file that nobody else asks for, not to be made at once.
    fn ask_for_later(&self, dice: &mut Dice) {
        let wanted = Wanted { exporter: "book", title: format!("quick{LATE}{}", dice.roll(1 << 31)) };
        let moment = self.world.now() + dice.roll(2500).cast_signed();
        let name = wanted.name();
        self.model().late.insert(name, moment);
        self.request(&wanted, None, vec![format!("--not-before={}", time(moment))]);
    }

    /// One request; what it answers is checked and remembered.
    pub fn request(&self, wanted: &Wanted, after: Option<i64>, more: Vec<String>) -> Done {
        let only_looks = more.iter().any(|word| word == "--no-enqueue");
        let waits = more.iter().any(|word| word.starts_with("--wait"));
        let mut words = vec!["request".into(), wanted.exporter.into(), format!("title={}", wanted.title)];
        words.extend(more);
        let asked = self.world.now();
        let done = self.act(&words);
        let out = done.out();
        let (state, rest) = out.trim_end().split_once(' ').unwrap_or((out.trim_end(), ""));
        match (done.output.status.code(), state) {
            (Some(0), "ready") => self.is_ready(wanted, asked, after, rest),
            (Some(75), "queued" | "started") if only_looks => {}
            (Some(75), "queued" | "started") => {
                if !wanted.is_late() {
                    self.note_asked(wanted, state == "started");
                }
                let is_started = state == "started";
                // Of a task that runs one more run is noted.
                let after = after.or((wanted.is_task() && is_started).then_some(asked));
                self.model().wish(wanted, asked, after, is_started);
            }
            (Some(66), "absent") if only_looks || waits => {}
            (Some(69), "unavailable" | "limited") | (Some(70), "failed_unknown" | "failed_timeout") => {}
            _ => panic!("{}: {out}{}", done.what, done.err()),
        }
        done
    }

    /// The admin's commands rather name what was asked for of late, above all what is started.
    fn note_asked(&self, wanted: &Wanted, is_started: bool) {
        let mut asked = self.asked.lock().expect("names");
        let place = if is_started { 0 } else { asked.len().min(5) };
        asked.insert(place, wanted.clone());
        asked.truncate(10);
    }

    fn is_ready(&self, wanted: &Wanted, asked: i64, after: Option<i64>, path: &str) {
        let filename = wanted.filename();
        assert!(wanted.is_good(), "{filename} cannot be made and is ready");
        if wanted.is_task() {
            return;
        }
        let file = self.world.site.cached(&filename);
        assert_eq!(path, file.display().to_string());
        self.model().promise(filename.clone(), asked);
        let Ok(text) = std::fs::read_to_string(file) else { return };
        let began = self.records().judge(&filename, &text).unwrap_or_else(|what| panic!("{what}"));
        if let Some(after) = after.filter(|after| self.world.is_comparable(*after)) {
            assert!(began >= after, "{filename} counts for {after} and began at {began}");
        }
    }

    /// An admin uses every command in turn, and sets the clock.
    pub fn administrate(&self, mut dice: Dice) {
        while self.goes_on() {
            let wanted = self.some_wanted(&mut dice);
            let filename = wanted.filename();
            let queue = QUEUES[usize::try_from(dice.roll(4)).expect("fits")].0;
            match dice.roll(24) {
                0..=3 => self.cancel(&wanted, &mut dice),
                4 | 5 => drop(self.admin(&["jobs", "retry", &filename], &[0, 65, 66])),
                6 | 7 => drop(self.admin(&["jobs", "invalidate", &filename], &[0, 66])),
                8 => drop(self.admin(&["queues", "pause", queue], &[0])),
                9 if dice.roll(2) == 0 => drop(self.admin(&["queues", "drain", queue], &[0])),
                10..=15 => drop(self.admin(&["queues", "resume", queue], &[0])),
                16 => drop(self.admin(&["check"], &[0])),
                17 => drop(self.admin(&["status"], &[0, 1, 2])),
                18 => drop(self.admin(&["tick", "--dry-run", "--allow-root"], &[0])),
                19 => drop(self.admin(&["jobs", "show", &filename], &[0, 66])),
                20 | 21 => self.world.move_clock(100 + dice.roll(1500).cast_signed()),
                22 if dice.roll(3) == 0 => self.world.move_clock(-dice.roll(800).cast_signed()),
                _ => drop(self.admin(&["jobs", "list"], &[0])),
            }
            thread::sleep(Duration::from_millis(dice.roll(250)));
        }
    }

    /// One that somebody has just asked for, or any.
    fn some_wanted(&self, dice: &mut Dice) -> Wanted {
        let choice = usize::try_from(dice.roll(12).min(dice.roll(12))).expect("fits");
        let asked = self.asked.lock().expect("names").get(choice).cloned();
        asked.unwrap_or_else(|| Wanted::choose(dice))
    }

    /// Cancels, and perhaps asks again while the run is ending: that request is not forgotten with it.
    fn cancel(&self, wanted: &Wanted, dice: &mut Dice) {
        let filename = wanted.filename();
        self.admin(&["jobs", "cancel", &filename], &[0, 65, 66]);
        let now = self.world.now();
        self.model().cancelled(&filename, now);
        thread::sleep(Duration::from_millis(dice.roll(100)));
        match dice.roll(4) {
            0 | 1 => drop(self.request(wanted, None, Vec::new())),
            2 if !wanted.is_task() => {
                let after = self.world.now();
                self.request(wanted, Some(after), vec![format!("--after={}", time(after))]);
            }
            _ => {}
        }
    }

    /// A command of the admin, which ends with one of these exit codes.
    pub fn admin(&self, words: &[&str], codes: &[i32]) -> Done {
        let done = self.act(words);
        let code = done.output.status.code();
        assert!(
            code.is_some_and(|code| codes.contains(&code)),
            "{} ends with {code:?}: {}{}",
            done.what,
            done.out(),
            done.err()
        );
        done
    }

    fn act<S: AsRef<str>>(&self, words: &[S]) -> Done {
        let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
        let done = self.world.site.run(&words);
        self.operations.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        self.log(&format!(
            "{} -> {:?} {}",
            words.join(" "),
            done.output.status.code(),
            done.out().lines().next().unwrap_or("").chars().take(100).collect::<String>()
        ));
        is_no_fault(&done.err());
        done
    }

    /// Cron: plain ticks, or lingering ones that hand over to each other.
    pub fn tick(&self, mut dice: Dice, lingers: bool) {
        while self.goes_on() {
            let time = format!("{}ms", 300 + dice.roll(1500));
            let words: &[&str] = if lingers {
                &["--for", &time]
            } else if dice.roll(3) == 0 {
                &["--wait"]
            } else {
                &[]
            };
            let said = File::options().append(true).create(true).open(self.world.site.path("said")).expect("a file");
            let mut command = tick(&self.world.site, words);
            if dice.roll(4) == 0 {
                let point = format!("{}=kill", POINTS[usize::try_from(dice.roll(POINTS.len() as u64)).expect("fits")]);
                self.log(&format!("a tick with {point}"));
                command.env("PRESSROOM_FAILPOINT", point);
            }
            self.ended_well(&Beside::start_into(&mut command, said).end());
            self.ticks.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            thread::sleep(Duration::from_millis(dice.roll(if lingers { 40 } else { 400 })));
        }
    }

    /// By itself, or killed, or told to stop before it had begun.
    pub fn ended_well(&self, tick: &Done) {
        let status = tick.output.status;
        let ended = status.signal().or(status.code());
        assert!(matches!(ended, Some(0 | 9 | 15)), "{}: {status:?} {}", tick.what, self.world.read("said"));
    }

    /// Kills runs and ticks, or tells them to stop.
    pub fn kill(&self, mut dice: Dice) {
        while self.goes_on() {
            let victims = victims(&self.world.site);
            if !victims.is_empty() {
                let victim = victims[usize::try_from(dice.roll(victims.len() as u64)).expect("fits")];
                let signal = if dice.roll(5) < 3 { Signal::SIGKILL } else { Signal::SIGTERM };
                // It was ours a moment ago.
                if signal::kill(Pid::from_raw(victim), signal).is_ok() {
                    self.kills.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    self.log(&format!("{signal} to {victim}"));
                }
            }
            thread::sleep(Duration::from_millis(50 + dice.roll(500)));
        }
    }

    /// Looks whether the files that were answered as ready are still there.
    pub fn watch(&self) {
        while self.goes_on() {
            let broken = self.model().broken_promise(&self.world);
            assert_eq!(broken, None);
            thread::sleep(Duration::from_millis(20));
        }
    }
}

pub fn is_no_fault(text: &str) {
    assert!(!text.contains("fault in pressroom") && !text.contains("panicked"), "{text}");
}

fn time(stamp: i64) -> String {
    Timestamp::from_millisecond(stamp).expect("a time").to_string()
}
