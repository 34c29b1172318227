//! A small world: a temporary directory with a configuration and a state directory, an empty environment, a clock
//! that a test can set, and the real program to run in it.

use std::{
    ffi::OsStr,
    fs,
    os::unix::process::{CommandExt, ExitStatusExt},
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    sync::{
        Mutex,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, Instant},
};

use tempfile::TempDir;

/// Longer than anything takes on a busy machine; a test that waits so long has failed.
const PATIENCE: Duration = Duration::from_mins(1);

/// Limits as a row has them, for tests that write rows of past attempts.
pub const LIMITS: &str = r#"{"timeout":300.0,"kill_after":5.0,"memory_limit":null,"cpu_time_limit":null,"file_size":null,
    "work_size":null,"open_files":null,"data":null,"address_space":null,"processes":null}"#;

const HEAD: &str = r#"
state_dir = "s"
[cache]
min_free = "0B"
[host]
min_free_memory = "0B"
"#;

/// The exporter that most tests use: `$1` is the output, `$2` the title.
const EPUB: &str = r#"
[exporter.epub]
command = ["/bin/sh", "-c", '''SCRIPT''', "sh", "{output}", "{title}"]
filename = "{title}.epub"
EXTRA
[exporter.epub.params.title]
required = true
"#;

/// One site. Dropped, it is gone with all that is in it.
pub struct Site {
    dir: TempDir,
    head: String,
    exporter: String,
    more: String,
    user: Option<u32>,
    /// What the ticks have written on stderr, which cron would have mailed.
    mail: Mutex<Vec<u8>>,
}

impl Site {
    /// A site whose exporter `epub` writes its title into its output.
    pub fn new() -> Self {
        let dir = tempfile::Builder::new().prefix("pr").tempdir_in("/tmp").expect("a directory in /tmp");
        let (exporter, more, mail) = (String::new(), String::new(), Mutex::default());
        let site = Self { dir, head: HEAD.into(), exporter, more, user: None, mail };
        site.exporter(r#"printf "%s\n" "$2" >"$1""#)
    }

    /// A site with the configuration and the programs of an example in `docs/examples`. Where it says `/srv`, there is
    /// `srv` beside the configuration, and the ready exporters are those of this repository.
    pub fn example(name: &str) -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let example = root.join("docs/examples").join(name);
        let text = fs::read_to_string(example.join("pressroom.toml")).expect("the example");
        let mut site = Self::new();
        std::os::unix::fs::symlink(example.join("bin"), site.path("bin")).expect("a link");
        site.exporter = String::new();
        let text = text.replace("state_dir = \"/var/lib/pressroom\"", "");
        let text = text.replace("/usr/local/libexec/pressroom", root.join("bin").to_str().expect("UTF-8"));
        let srv = site.path("srv").display().to_string();
        site.more(&text.replace("/srv", &srv))
    }

    /// Changes the configuration as it is written.
    pub fn replacing(self, from: &str, to: &str) -> Self {
        assert!(self.more.contains(from), "no {from:?} in the configuration");
        let more = self.more.replace(from, to);
        self.more(&more)
    }

    /// Another script for the exporter `epub`.
    pub fn exporter(self, script: &str) -> Self {
        self.exporter_with(script, "")
    }

    /// The same with more settings in `[exporter.epub]`.
    pub fn exporter_with(mut self, script: &str, extra: &str) -> Self {
        self.exporter = EPUB.replace("SCRIPT", script).replace("EXTRA", extra);
        self.write();
        self
    }

    /// Settings that stand above all others, and in `[cache]` and `[host]`, in place of the usual ones.
    pub fn head(mut self, text: &str) -> Self {
        self.head = text.into();
        self.write();
        self
    }

    /// More configuration at the end of the file.
    pub fn more(mut self, text: &str) -> Self {
        self.more = text.into();
        self.write();
        self
    }

    fn write(&self) {
        fs::write(self.config(), format!("{}{}{}", self.head, self.exporter, self.more)).expect("pressroom.toml");
    }

    /// Everything runs as a user of its own that has no rights; for a root to whom most limits do not apply. A user
    /// who is not root stays as it is.
    pub fn by_nobody(mut self) -> Self {
        static USERS: AtomicU32 = AtomicU32::new(54_400);
        if nix::unistd::geteuid().is_root() {
            let user = USERS.fetch_add(1, Ordering::Relaxed);
            std::os::unix::fs::chown(self.dir(), Some(user), Some(user)).expect("root may");
            self.user = Some(user);
        }
        self
    }

    /// The user that everything runs as.
    pub fn user(&self) -> u32 {
        self.user.unwrap_or_else(|| nix::unistd::geteuid().as_raw())
    }

    /// Makes the state directory.
    #[track_caller]
    pub fn create(self) -> Self {
        self.run(&["check", "--create", "--allow-root"]).exits(0);
        self
    }

    /// The same where `check` has something to say about the configuration.
    #[track_caller]
    pub fn create_despite_problems(self) -> Self {
        self.run(&["check", "--create", "--allow-root"]).exits(78);
        self
    }

    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    pub fn path(&self, below: &str) -> PathBuf {
        self.dir().join(below)
    }

    pub fn config(&self) -> PathBuf {
        self.path("pressroom.toml")
    }

    /// A file of the cache.
    pub fn cached(&self, filename: &str) -> PathBuf {
        self.path("s/cache").join(filename)
    }

    /// The program with these words, ready to be changed and started.
    pub fn command<S: AsRef<OsStr>>(&self, words: &[S]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pressroom"));
        command.args(words).current_dir(self.dir()).env_clear().stdin(Stdio::null());
        command.env("PATH", "/usr/local/bin:/usr/bin:/bin").env("TZ", "UTC").env("PRESSROOM_CONFIG", self.config());
        command.env("PRESSROOM_TEST_CLOCK", self.path("clock"));
        if let Some(user) = self.user {
            command.uid(user).gid(user);
        }
        command
    }

    #[track_caller]
    pub fn run<S: AsRef<OsStr>>(&self, words: &[S]) -> Done {
        Done::of(&mut self.command(words))
    }

    /// Runs with a named point set; see `model::failpoint`.
    #[track_caller]
    pub fn run_at<S: AsRef<OsStr>>(&self, point: &str, words: &[S]) -> Done {
        Done::of(self.command(words).env("PRESSROOM_FAILPOINT", point))
    }

    /// Asks for a book by its title.
    #[track_caller]
    pub fn ask(&self, title: &str) -> Done {
        self.run(&["request", "epub", &format!("title={title}")])
    }

    /// One tick that stays until its runs have ended.
    #[track_caller]
    pub fn tick(&self) -> Done {
        self.mailing(&["tick", "--allow-root", "--wait"])
    }

    /// One tick that leaves its runs to themselves.
    #[track_caller]
    pub fn brief_tick(&self) -> Done {
        self.mailing(&["tick", "--allow-root"])
    }

    #[track_caller]
    fn mailing(&self, words: &[&str]) -> Done {
        let done = self.run(words);
        self.mail.lock().expect("the mail").extend(&done.output.stderr);
        done
    }

    /// One more tick; on its stderr stands what all ticks have written since the last look. A job that fails at once
    /// is reported by the tick that started it or by the next, whichever sees it first.
    #[track_caller]
    pub fn mailed(&self) -> Done {
        let mut done = self.tick();
        done.output.stderr = std::mem::take(&mut *self.mail.lock().expect("the mail"));
        done
    }

    /// Sets the wall clock so many seconds ahead.
    pub fn clock(&self, seconds: f64) {
        fs::write(self.path("clock.new"), seconds.to_string()).expect("clock");
        fs::rename(self.path("clock.new"), self.path("clock")).expect("clock");
    }

    /// The database, as the test's own connection.
    pub fn database(&self) -> rusqlite::Connection {
        let database = rusqlite::Connection::open(self.path("s/queue/pressroom.db")).expect("the database");
        database.busy_timeout(PATIENCE).expect("a time-out");
        // As the program does it: the log stays when a connection closes.
        let keep = rusqlite::config::DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE;
        database.set_db_config(keep, true).expect("a setting");
        database
    }

    /// After a test has written rows itself: what is counted with them is counted anew.
    #[track_caller]
    pub fn recount(&self) {
        self.run(&["check", "--create", "--allow-root"]).exits(0);
    }

    /// One number from the database.
    #[track_caller]
    pub fn count(&self, sql: &str) -> i64 {
        self.database().query_row(sql, [], |row| row.get(0)).expect(sql)
    }

    /// One text from the database.
    #[track_caller]
    pub fn text(&self, sql: &str) -> String {
        self.database().query_row(sql, [], |row| row.get(0)).expect(sql)
    }

    /// The logs of attempts, sorted.
    pub fn logs(&self) -> Vec<String> {
        let mut names = self.names("s/log");
        names.retain(|name| !name.starts_with("activity."));
        names
    }

    /// Names in a directory of the site, sorted.
    pub fn names(&self, below: &str) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.path(below)) else { return Vec::new() };
        let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

/// A program that has ended.
pub struct Done {
    pub what: String,
    pub output: Output,
}

impl Done {
    #[track_caller]
    pub fn of(command: &mut Command) -> Self {
        let output = command.output().expect("the program starts");
        Self { what: format!("{command:?}"), output }
    }

    pub fn out(&self) -> String {
        String::from_utf8_lossy(&self.output.stdout).into_owned()
    }

    pub fn err(&self) -> String {
        String::from_utf8_lossy(&self.output.stderr).into_owned()
    }

    fn said(&self) -> String {
        format!("{}\nstatus {:?}\nstdout: {}stderr: {}", self.what, self.output.status, self.out(), self.err())
    }

    #[track_caller]
    pub fn exits(&self, code: i32) -> &Self {
        assert_eq!(self.output.status.code(), Some(code), "{}", self.said());
        self
    }

    #[track_caller]
    pub fn dies_of(&self, signal: i32) -> &Self {
        assert_eq!(self.output.status.signal(), Some(signal), "{}", self.said());
        self
    }

    #[track_caller]
    pub fn stdout(&self, text: &str) -> &Self {
        assert_eq!(self.out(), text, "{}", self.said());
        self
    }

    #[track_caller]
    pub fn stderr(&self, text: &str) -> &Self {
        assert_eq!(self.err(), text, "{}", self.said());
        self
    }

    #[track_caller]
    pub fn says(&self, part: &str) -> &Self {
        assert!(self.out().contains(part), "no {part:?} in the output of {}", self.said());
        self
    }

    #[track_caller]
    pub fn warns(&self, part: &str) -> &Self {
        assert!(self.err().contains(part), "no {part:?} in the errors of {}", self.said());
        self
    }

    #[track_caller]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.output.stdout).unwrap_or_else(|error| panic!("{error}: {}", self.said()))
    }
}

/// Waits until it holds; a minute at most.
#[track_caller]
pub fn wait_until(what: &str, holds: impl FnMut() -> bool) {
    wait(what, PATIENCE, holds);
}

/// The same for what only cron's next minute brings; three minutes at most.
#[track_caller]
pub fn wait_long_until(what: &str, holds: impl FnMut() -> bool) {
    wait(what, PATIENCE * 3, holds);
}

#[track_caller]
fn wait(what: &str, limit: Duration, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + limit;
    while !holds() {
        assert!(Instant::now() < end, "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Kills a child of ours and takes its end.
pub fn kill(mut child: Child) {
    let _ = child.kill();
    let _ = child.wait();
}
