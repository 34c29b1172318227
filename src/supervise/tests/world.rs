//! A small world: a directory, an order, and a process of its own.

use std::{
    env,
    ffi::CString,
    fs,
    os::unix::process::CommandExt,
    path::PathBuf,
    process::{Command, Stdio},
    time::Duration,
};

use crate::{
    config::command::PATH,
    model::{limits::Limits, status::Outcome},
    supervise::{
        ExecSpec, Overseer, ProcessResult, Progress, StopOrder, become_trial, classify, environment, proc, resolve,
        spawn::{SpawnError, spawn},
        stage::stop_signals,
        supervise,
    },
};

const ALONE: &str = "PRESSROOM_TEST_ALONE";

/// Runs the body in a process of its own, which is this test executed once more, and checks that it succeeds there.
/// Its main thread only waits for the test, so signals to the process have to find them blocked in both threads.
#[track_caller]
pub(super) fn alone(body: impl FnOnce()) {
    let test = std::thread::current().name().expect("libtest names its threads").to_owned();
    if env::var(ALONE).is_ok_and(|name| name == test) {
        become_trial().expect("a subreaper");
        return body();
    }
    let mut again = Command::new(env::current_exe().expect("our path"));
    again.args(["--exact", &test, "--nocapture", "--test-threads=1"]).env(ALONE, &test).stdin(Stdio::null());
    // SAFETY: blocking signals is async-signal-safe.
    #[expect(unsafe_code, reason = "the mask has to be there before the first thread")]
    unsafe {
        again.pre_exec(|| Ok(stop_signals().thread_block()?));
    }
    let output = again.output().expect("executed");
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("1 passed"), "{test}: {}\n{said}", output.status);
}

/// One attempt to come.
pub(super) struct World {
    dir: tempfile::TempDir,
    pub order: ExecSpec,
    /// What the overseer answers.
    wish: Box<dyn FnMut(&Progress) -> StopOrder>,
    /// Bytes that it wrote.
    pub said: u64,
}

impl World {
    /// Nothing is limited, but a minute of time; the leader is a shell that executes `script`.
    pub(super) fn sh(script: &str) -> Self {
        Self::command(&["sh", "-c", script])
    }

    pub(super) fn python(script: &str) -> Self {
        Self::command(&["python3", "-c", script])
    }

    pub(super) fn command(argv: &[&str]) -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let work = dir.path().join("work");
        fs::create_dir(&work).expect("made");
        let attempt = dir.path().file_name().and_then(|name| name.to_str()).expect("a name").to_owned();
        let own = [("PRESSROOM_ATTEMPT", attempt.as_str()), ("PRESSROOM_OUTPUT", "out")];
        let order = ExecSpec {
            program: resolve(argv[0], &python_path()).unwrap_or_else(|| argv[0].into()),
            argv: argv.iter().map(|argument| CString::new(*argument).expect("no NUL")).collect(),
            env: environment(&work, &[].into(), &own).expect("clean"),
            output: Some(work.join("out")),
            limits: unlimited(),
            log: dir.path().join("log"),
            log_max: 65536,
            attempt,
            progress: work.join("progress"),
            message: work.join("message"),
            work,
        };
        Self { dir, order, wish: Box::new(|_| StopOrder::GoOn), said: 0 }
    }

    pub(super) fn limits(mut self, set: impl FnOnce(&mut Limits)) -> Self {
        set(&mut self.order.limits);
        self
    }

    pub(super) fn wish(mut self, wish: impl FnMut(&Progress) -> StopOrder + 'static) -> Self {
        self.wish = Box::new(wish);
        self
    }

    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.order.work.join(name)
    }

    pub(super) fn log(&self) -> String {
        String::from_utf8_lossy(&fs::read(self.dir.path().join("log")).expect("a log")).into_owned()
    }

    /// Runs it to its end, and checks that nobody is left.
    #[track_caller]
    pub(super) fn run(&mut self) -> ProcessResult {
        let leader = spawn(&self.order, |_| Ok(())).expect("started");
        let order = self.order.clone();
        let ending = supervise(leader, &order, self).expect("supervised");
        assert_eq!(self.left(), Vec::<i32>::new(), "left over: {ending:?}");
        ending
    }

    #[track_caller]
    pub(super) fn ends(&mut self, outcome: Outcome) -> ProcessResult {
        let ending = self.run();
        assert_eq!(classify(&ending, &self.order.limits), outcome, "{ending:?}");
        ending
    }

    pub(super) fn refused(&self) -> SpawnError {
        spawn(&self.order, |_| Ok(())).expect_err("must not start")
    }

    /// Processes that carry the attempt's cookie, and children of ours.
    pub(super) fn left(&self) -> Vec<i32> {
        let me = nix::unistd::getpid().as_raw();
        let is_child = |pid: &i32| proc::stat(*pid).unwrap().is_some_and(|stat| stat.parent == me);
        let has_cookie = |pid: &i32| proc::cookie(*pid).unwrap().as_ref() == Some(&self.order.attempt);
        proc::pids().unwrap().into_iter().filter(|pid| is_child(pid) || has_cookie(pid)).collect()
    }
}

impl Overseer for World {
    fn look(&mut self, progress: &Progress) -> StopOrder {
        (self.wish)(progress)
    }

    fn said(&mut self, bytes: &[u8]) {
        self.said += bytes.len() as u64;
    }
}

/// The system's directories first: a Python that a version manager wraps would be a tree of its own.
fn python_path() -> String {
    format!("{PATH}:{}", env::var("PATH").unwrap_or_default())
}

pub(super) fn unlimited() -> Limits {
    Limits { timeout: Duration::from_mins(1), kill_after: Duration::from_secs(5), ..Limits::default() }
}

/// Waits for a condition, with a limit.
#[track_caller]
pub(super) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = std::time::Instant::now();
    while !is_so() {
        assert!(start.elapsed() < Duration::from_secs(30), "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
