//! A site of Pressroom's to measure.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use anyhow::{Context, Result};
use nix::unistd::geteuid;
use rusqlite::{Connection, config::DbConfig};

use crate::{
    process::{Beside, bare, time, wait_until},
    setup::Setup,
};

/// Nothing is held back but by the seats, whatever the machine has left.
const HEAD: &str = r#"
state_dir = "s"
[cache]
ttl = "1d"
min_free = "0B"
[host]
min_free_memory = "0B"
max_running = SEATS
[queue.default]
max_running = SEATS
max_queued = 100000000
[exporter.book]
command = [COMMAND]
filename = "{title}.bin"
web = true
[exporter.book.params.title]
required = true
"#;

pub struct Site {
    pub dir: PathBuf,
    pressroom: PathBuf,
}

impl Site {
    /// A site with the exporter `book`, of which so many run at a time. `words`: its command.
    pub fn new(setup: &Setup, name: &str, seats: usize, words: &[&str]) -> Result<Self> {
        Self::create(setup, name, seats, words, &["check", "--create"])
    }

    /// One that a web server's user may use as well.
    pub fn shared(setup: &Setup, name: &str, words: &[&str]) -> Result<Self> {
        let group: &[&str] = if geteuid().is_root() { &["--group", "www-data"] } else { &[] };
        Self::create(setup, name, 1, words, &[&["check", "--create"], group].concat())
    }

    fn create(setup: &Setup, name: &str, seats: usize, words: &[&str], check: &[&str]) -> Result<Self> {
        let site = Self { dir: setup.room(name)?, pressroom: setup.pressroom.clone() };
        let command: Vec<String> = words.iter().map(|word| format!("{word:?}")).collect();
        let text = HEAD.replace("SEATS", &seats.to_string()).replace("COMMAND", &command.join(", "));
        fs::write(site.config(), text).context("cannot write the configuration")?;
        time(&mut site.as_owner(check), &[0])?;
        Ok(site)
    }

    pub fn config(&self) -> PathBuf {
        self.dir.join("pressroom.toml")
    }

    pub fn state(&self) -> PathBuf {
        self.dir.join("s")
    }

    /// The finished file of a title.
    pub fn file(&self, title: &str) -> PathBuf {
        self.state().join("cache/book").join(format!("{title}.bin"))
    }

    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = bare(&self.pressroom);
        command.env("PRESSROOM_CONFIG", self.config()).args(words);
        command
    }

    /// The commands of the owner are refused to root unless it insists.
    pub fn as_owner(&self, words: &[&str]) -> Command {
        let mut command = self.command(words);
        if geteuid().is_root() {
            command.arg("--allow-root");
        }
        command
    }

    pub fn request(&self, title: &str) -> Command {
        self.command(&["request", "book", &format!("title={title}")])
    }

    /// Milliseconds of a request that queues a job.
    pub fn queue(&self, title: &str) -> Result<f64> {
        time(&mut self.request(title), &[75])
    }

    /// A tick that lingers until this is dropped.
    pub fn linger(&self) -> Result<Beside> {
        Beside::start(&mut self.as_owner(&["tick", "--for", "30m"]))
    }

    /// Makes the file of a title, as a visitor and cron would.
    pub fn make(&self, title: &str) -> Result<PathBuf> {
        self.queue(title)?;
        time(&mut self.as_owner(&["tick", "--wait"]), &[0])?;
        time(&mut self.request(title), &[0]).context("the file has not been made")?;
        Ok(self.file(title))
    }

    /// Waits until no job is queued or started.
    pub fn settle(&self) -> Result<()> {
        let conn = self.database()?;
        let mut pending = conn.prepare("SELECT 1 FROM job WHERE status <= 1 LIMIT 1")?;
        wait_until("no job is pending", || pending.exists([]).is_ok_and(|pending| !pending))
    }

    pub fn database(&self) -> Result<Connection> {
        let path = self.state().join("queue/pressroom.db");
        let conn = Connection::open(&path).with_context(|| format!("cannot open {}", path.display()))?;
        conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?; // leave it as it is found
        conn.busy_timeout(Duration::from_mins(1))?;
        Ok(conn)
    }

    /// How many attempts have made a file whose name begins so.
    pub fn made(&self, beginning: &str) -> Result<u32> {
        const COUNT: &str = "SELECT count(*) FROM attempt WHERE result = 'ok' AND filename LIKE ? || '%'";
        Ok(self.database()?.query_row(COUNT, [format!("book/{beginning}")], |row| row.get(0))?)
    }
}

/// The path as a word of a configuration.
pub fn word(path: &Path) -> &str {
    path.to_str().expect("our own paths are text")
}
