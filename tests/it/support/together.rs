//! Several processes at once, and processes that stop at a named point until a test lets them go on.

use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use nix::{
    sys::signal::{self, Signal},
    unistd::Pid,
};

use super::site::{Done, Site, wait_until};

/// A program that runs beside the test. Dropped before its end, it is killed.
pub struct Beside {
    what: String,
    child: Option<Child>,
}

impl Beside {
    #[track_caller]
    pub fn start(command: &mut Command) -> Self {
        let what = format!("{command:?}");
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts");
        Self { what, child: Some(child) }
    }

    /// What it says goes into a file: one that says much would wait for a reader.
    #[track_caller]
    pub fn start_into(command: &mut Command, file: fs::File) -> Self {
        let what = format!("{command:?}");
        let child = command.stdout(file.try_clone().expect("a copy")).stderr(file).spawn();
        Self { what, child: Some(child.expect("the program starts")) }
    }

    /// Asks it to end, and waits for that.
    #[track_caller]
    pub fn stop(self) -> Done {
        self.signal(Signal::SIGTERM);
        self.end()
    }

    pub fn signal(&self, signal: Signal) {
        signal::kill(Pid::from_raw(self.id().cast_signed()), signal).expect("it is ours");
    }

    /// Its process number.
    pub fn id(&self) -> u32 {
        self.child.as_ref().expect("it has not ended").id()
    }

    /// Waits for its end.
    #[track_caller]
    pub fn end(mut self) -> Done {
        let child = self.child.take().expect("it is ended once");
        Done { what: self.what.clone(), output: child.wait_with_output().expect("its output") }
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        if let Some(child) = self.child.take() {
            crate::support::site::kill(child);
        }
    }
}

/// Starts all of them, then takes their ends in the same order.
#[track_caller]
pub fn at_once(commands: impl IntoIterator<Item = Command>) -> Vec<Done> {
    let started: Vec<_> = commands.into_iter().map(|mut command| Beside::start(&mut command)).collect();
    started.into_iter().map(Beside::end).collect()
}

/// A program that waits at a named point.
pub struct Paused {
    beside: Beside,
    gate: PathBuf,
}

impl Paused {
    /// Starts it and returns once the point is reached.
    #[track_caller]
    pub fn at<S: AsRef<OsStr>>(site: &Site, point: &str, words: &[S]) -> Self {
        let gate = site.path(&format!("gate-{point}"));
        let reached = site.path(&format!("gate-{point}.reached"));
        let action = format!("{point}=pause:{}", gate.display());
        let beside = Beside::start(site.command(words).env("PRESSROOM_FAILPOINT", action));
        wait_until(&format!("{point} is reached"), || reached.exists());
        Self { beside, gate }
    }

    pub fn pid(&self) -> u32 {
        self.beside.id()
    }

    /// Lets it go on, and takes its end.
    #[track_caller]
    pub fn go_on(self) -> Done {
        fs::write(&self.gate, "").expect("the gate opens");
        self.beside.end()
    }
}

/// The words of a request for a book.
pub fn request(title: &str) -> [String; 3] {
    ["request".into(), "epub".into(), format!("title={title}")]
}

/// What an exporter begins with that ends only after the round that has started it: so a test knows which round hears
/// of it.
pub const AFTER_ITS_ROUND: &str = "until [ -e ../../../go ]; do sleep 0.01; done\n";

/// Asks for books, starts them in one silent round and waits for their ends, of which no tick has heard then.
#[track_caller]
pub fn end_unheard(site: &Site, name: &str, books: usize) {
    let _ = fs::remove_file(site.path("go"));
    at_once((0..books).map(|number| site.command(&request(&format!("{name}{number}")))));
    site.brief_tick().exits(0).stdout("").stderr("");
    fs::write(site.path("go"), "").expect("the sign");
    wait_for_runs(site);
}

/// The words of a tick that stays until its runs have ended.
pub const TICK: [&str; 3] = ["tick", "--allow-root", "--wait"];

/// Waits until no run of this site is left: its locks are free and its rows ended.
#[track_caller]
pub fn wait_for_runs(site: &Site) {
    wait_until("no job is started", || site.count("SELECT count(*) FROM job WHERE status = 1") == 0);
}

/// Waits until the round of a tick is over whose runs go on. Another tick would end at once before that.
#[track_caller]
pub fn wait_for_round(site: &Site) {
    let lock = fs::File::open(site.path("s/tick.lock")).expect("tick.lock");
    wait_until("the round is over", || lock.try_lock().is_ok());
}

/// A copy of the program where every user can reach it. Made by a process of its own: a child that another test starts
/// just then would hold a file that is being written, and the kernel executes no such file.
#[track_caller]
pub fn copy_program(to: &Path) {
    let copied = Command::new("cp").arg(env!("CARGO_BIN_EXE_pressroom")).arg(to).status().expect("cp");
    assert!(copied.success(), "cannot copy the program to {}", to.display());
}
