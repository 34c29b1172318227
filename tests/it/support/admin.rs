//! What the tests of the admin commands share: an exporter with several ways to end, and readers of answers.

use std::{fs, io::Write, process::Stdio};

use serde_json::Value;

use super::site::{Done, Site, wait_until};

/// Books named Bad fail; books named Slow write a line, start a child, note its number, and wait for the file `go`.
const SCRIPT: &str = r#"
echo "making $2"
case $2 in
Bad*) echo "no such book" >&2; exit 3 ;;
Slow*)
    sleep 1000 &
    echo $! >../../../child
    until [ -e ../../../go ]; do sleep 0.02; done
    kill $!
    echo "went on" ;;
esac
printf "%s\n" "$2" >"$1""#;

/// A site with that exporter and one of its settings changed.
pub fn site_with(extra: &str, more: &str) -> Site {
    Site::new().exporter_with(SCRIPT, extra).more(more).create()
}

pub fn site() -> Site {
    site_with("", "")
}

impl Site {
    /// Asks for these books; what is answered does not matter.
    pub fn ask_for(&self, titles: &[&str]) {
        for title in titles {
            self.ask(title);
        }
    }

    /// Lets slow books go on.
    pub fn go(&self) {
        fs::write(self.path("go"), "").unwrap();
    }

    /// Starts a slow book and waits until its exporter is at work; the number of that one's child.
    #[track_caller]
    pub fn start_slow(&self, title: &str) -> i32 {
        self.ask(title);
        self.brief_tick();
        wait_until("the exporter is at work", || {
            fs::read_to_string(self.path("child")).is_ok_and(|pid| pid.ends_with('\n'))
        });
        fs::read_to_string(self.path("child")).unwrap().trim().parse().unwrap()
    }

    /// Runs the words, with an answer on stdin, on a terminal of its own. `None`: there is no script(1) here.
    pub fn on_terminal(&self, words: &str, answer: &str) -> Option<Done> {
        let program = self.command::<&str>(&[]).get_program().to_owned();
        let line = format!("{} {words}", program.display());
        let mut script = std::process::Command::new("script");
        script.args(["-qec", &line, "/dev/null"]).current_dir(self.dir()).env("PRESSROOM_CONFIG", self.config());
        let mut child = script.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().ok()?;
        child.stdin.take().unwrap().write_all(answer.as_bytes()).unwrap();
        Some(Done { what: line, output: child.wait_with_output().unwrap() })
    }
}

impl Done {
    /// The objects of an answer, one a line.
    #[track_caller]
    pub fn objects(&self) -> Vec<Value> {
        let parse = |line: &str| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        self.out().lines().map(parse).collect()
    }

    /// One field of each object.
    #[track_caller]
    pub fn each(&self, field: &str) -> Vec<String> {
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        self.objects().iter().map(|object| text(&object[field])).collect()
    }

    /// Nothing that could act on a terminal.
    #[track_caller]
    pub fn is_safe(&self) -> &Self {
        let bad = |c: &char| (c.is_control() && !matches!(c, '\n' | '\t')) || matches!(c, '\u{202a}'..='\u{202e}');
        let found = self.out().chars().chain(self.err().chars()).find(bad);
        assert_eq!(found, None, "{}\n{}\n{}", self.what, self.out().escape_debug(), self.err().escape_debug());
        self
    }
}

/// Whether a process is there and has not ended.
pub fn is_alive(pid: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| !rest.is_empty() && !rest.trim_start().starts_with(['Z', 'X']))
}
