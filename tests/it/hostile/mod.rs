//! The web user writes whatever it likes into `queue/`. Ticks, runs and the admin's commands belong to another user, and
//! must not be made to read, write, execute, end or publish anything by that.

mod files;
mod mutants;
mod oracle;
mod rows;

use std::{
    fs,
    os::unix::process::CommandExt,
    path::PathBuf,
    process::{Child, Command, Stdio},
};

use nix::unistd::Uid;

use super::support::{
    accounts::{CRON, WEB, become_and_run, shared_site, two_users},
    site::{Done, Site},
};

/// Beside `epub`, whose output says under which limits it ran: a format made from it, and an exporter whose files no
/// visitor may have.
const EXPORTERS: &str = r#"
[exporter.pdf]
source = "epub"
command = ["/bin/cp", "{source}", "{output}"]
filename = "{title}.pdf"
[exporter.pdf.params.title]
required = true

[exporter.private]
command = ["/bin/sh", "-c", 'echo payroll >"$1"', "sh", "{output}"]
filename = "payroll.txt"
queue = "narrow"

[queue.narrow]
max_running = 1
"#;

/// What the configuration allows an attempt at `epub`; retries may raise it to four times that.
const LIMITS: &str = r#"
timeout = "60s"
limits.cpu = "50s"
limits.file_size = "10MB"
limits.open_files = 100
limits.memory = "500MB"
breaker.failures = 1000
"#;

/// Writes the title and the limits that it runs under.
const SCRIPT: &str = r#"(echo "$2"; ulimit -t; ulimit -f; ulimit -n) >"$1""#;

/// What `SCRIPT` writes of the title `Emma` when nothing has raised a limit.
const EMMA: &str = "Emma\n51\n19531\n100\n";

/// A site of two users, or of one where the test's user is not root.
struct World {
    site: Site,
    program: Option<PathBuf>,
}

impl World {
    fn new() -> Self {
        Self::with(SCRIPT)
    }

    fn with(script: &str) -> Self {
        let set_up = |site: Site| site.exporter_with(script, LIMITS).more(EXPORTERS);
        if two_users("hostile") {
            let (site, program) = shared_site(script);
            return Self { site: set_up(site), program: Some(program) };
        }
        Self { site: set_up(Site::new()).create(), program: None }
    }

    /// The program, run by the user of the crontab.
    #[track_caller]
    fn cron(&self, words: &str) -> Done {
        self.by(CRON, words)
    }

    /// The program, run by the web server's user.
    #[track_caller]
    fn web(&self, words: &str) -> Done {
        self.by(WEB, words)
    }

    #[track_caller]
    fn by(&self, user: &str, words: &str) -> Done {
        match &self.program {
            Some(program) => become_and_run(&self.site, program, user, "022", words),
            None => self.site.run(&words.split(' ').collect::<Vec<_>>()),
        }
    }

    /// Any program, run by the web user below the site's directory, or by another of the two.
    fn command(&self, user: &str, program: &str, words: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(words).current_dir(self.site.dir()).stdin(Stdio::null());
        if let (true, Some(user)) = (self.program.is_some(), number_of("passwd", user)) {
            command.uid(user).gid(number_of("group", "prtest").expect("their group"));
        }
        command
    }

    /// Statements of the web user's, which is held by no CHECK.
    #[track_caller]
    fn sql(&self, sql: &str) {
        let done = self.try_sql(sql);
        assert!(done.output.status.success(), "{sql}: {}", done.err());
    }

    fn try_sql(&self, sql: &str) -> Done {
        let text = format!("PRAGMA ignore_check_constraints = ON; {sql}");
        let keep = [".timeout 20000", ".dbconfig no_ckpt_on_close on"];
        let words = ["-batch", "-cmd", keep[0], "-cmd", keep[1], "s/queue/pressroom.db", &text];
        Done::of(&mut self.command(WEB, "sqlite3", &words))
    }

    /// Something done in `queue/` by the web user's shell.
    #[track_caller]
    fn shell(&self, line: &str) {
        let done = Done::of(self.command(WEB, "sh", &["-c", line]).current_dir(self.site.path("s/queue")));
        assert!(done.output.status.success(), "{line}: {}", done.err());
    }

    /// Ticks until nothing is queued or started any more.
    #[track_caller]
    fn settle(&self) -> String {
        let mut mail = String::new();
        crate::support::site::wait_until("nothing is pending", || {
            mail.push_str(&self.cron("tick --wait").exits(0).err());
            self.site.count("SELECT count(*) FROM job WHERE status <= 1") == 0
        });
        mail
    }

    fn text(&self, below: &str) -> String {
        fs::read_to_string(self.site.path(below)).unwrap_or_default()
    }

    /// A process of the crontab's user that has nothing to do with us.
    fn bystander(&self, variables: &[(&str, &str)]) -> Bystander {
        let mut command = self.command(CRON, "sleep", &["600"]);
        Bystander(command.envs(variables.iter().copied()).spawn().expect("a sleep"))
    }
}

struct Bystander(Child);

impl Bystander {
    /// Its note, as a lock file would hold it.
    fn note(&self) -> String {
        let pid = self.0.id();
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).expect("its stat");
        let start = stat.rsplit_once(") ").expect("a stat").1.split(' ').nth(19).expect("its start").to_owned();
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").expect("a boot id");
        format!("boot {}\nsince_boot_ms 1\nrun {pid} {start}\nleader {pid} {start}\nsession {pid}\n", boot.trim())
    }

    #[track_caller]
    fn lives(&mut self) {
        assert!(self.0.try_wait().expect("a look").is_none(), "somebody else's process was ended");
    }
}

impl Drop for Bystander {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A queued row, with some columns set otherwise. Values are SQL.
fn queued(filename: &str, others: &[(&str, &str)]) -> String {
    let (exporter, name) = filename.split_once('/').unwrap_or(("epub", filename));
    let title = name.split('.').next().unwrap_or_default();
    let params = if exporter == "private" { "{}".to_owned() } else { format!(r#"{{"title":"{title}"}}"#) };
    let now = jiff::Timestamp::now().as_millisecond();
    let rank = now / 600_000;
    let queue = if exporter == "private" { "narrow" } else { "default" };
    let mut columns: Vec<(&str, String)> = vec![
        ("filename", format!("'{filename}'")),
        ("exporter", format!("'{exporter}'")),
        ("params", format!("'{params}'")),
        ("queue", format!("'{queue}'")),
        ("rank", rank.to_string()),
    ];
    columns.extend(["submitted", "run_after", "queued_since", "last_asked"].map(|name| (name, now.to_string())));
    for (name, value) in others {
        columns.retain(|(known, _)| known != name);
        columns.push((*name, (*value).to_owned()));
    }
    let (names, values): (Vec<_>, Vec<_>) = columns.into_iter().unzip();
    format!("INSERT INTO job ({}) VALUES ({});", names.join(", "), values.join(", "))
}

/// A started row whose attempt is this; values are SQL.
fn started(filename: &str, attempt: &str) -> String {
    let now = jiff::Timestamp::now().as_millisecond().to_string();
    queued(filename, &[("status", "1"), ("started", &now), ("attempts", "1"), ("attempt", attempt)])
}

/// The number of a user or a group.
fn number_of(database: &str, name: &str) -> Option<u32> {
    let line = Command::new("getent").args([database, name]).output().ok()?.stdout;
    String::from_utf8_lossy(&line).split(':').nth(2)?.parse().ok()
}

/// The number of the crontab's user, if it is another one than the test's.
fn cron_number() -> Option<u32> {
    number_of("passwd", CRON).filter(|_| Uid::effective().is_root())
}
