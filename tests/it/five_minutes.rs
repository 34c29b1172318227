//! The five minutes of README.md, with its own blocks, in a directory that stands for the machine.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Child, Command, Stdio},
};

use tempfile::TempDir;

use crate::support::{
    outside::{assert_valid_epub, has},
    site::{Done, kill},
};

const README: &str = include_str!("../../README.md");

/// The machine: its paths are below a directory, and what needs root or the network is a stand-in.
struct Machine(TempDir);

impl Machine {
    fn new() -> Self {
        let machine = Self(TempDir::with_prefix_in("pr", "/tmp").unwrap());
        fs::create_dir_all(machine.0.path().join("etc/pressroom")).unwrap();
        for name in ["apt", "adduser"] {
            machine.stand_in(name, "exit 0");
        }
        machine.stand_in("sudo", "[ \"$1\" != -u ] || shift 2; exec \"$@\"");
        machine.stand_in("crontab", "cp -- \"$3\" \"$MACHINE/crontab\"");
        let built = "for file in pressroom.bash _pressroom pressroom.fish; do : >\"$MACHINE/$file\"; done";
        let install = format!(
            "make() {{ command -p make -s --no-print-directory \"$@\"; }}\n\
             make install-files BINARY={} COMPLETIONS=\"$MACHINE\" PREFIX=\"$MACHINE/usr/local\"",
            env!("CARGO_BIN_EXE_pressroom")
        );
        machine.stand_in("make", &format!("case $1 in build) {built} ;; install)\n{install} ;; esac"));
        // The users of the block are not there, and this one may be root.
        let root = if nix::unistd::Uid::effective().is_root() { "--allow-root" } else { "" };
        let command = format!(
            "case $1 in check) set -- check --create {root} ;; tick) set -- \"$@\" {root} ;; esac\n\
             exec \"$MACHINE/usr/local/bin/pressroom\" \"$@\""
        );
        machine.stand_in("pressroom", &command);
        machine
    }

    fn stand_in(&self, name: &str, script: &str) {
        let path = self.0.path().join("bin").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// The text with this machine's paths.
    fn here(&self, text: &str) -> String {
        let dir = self.0.path().to_str().unwrap();
        let moved = ["/usr/local/", "/etc/pressroom", "/srv/books"];
        let text = moved.iter().fold(text.to_owned(), |text, path| text.replace(path, &format!("{dir}{path}")));
        text.replace("/var/lib/pressroom", &format!("{dir}/s"))
    }

    fn shell(&self, script: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        let path = format!("{}/bin:/usr/local/bin:/usr/bin:/bin", self.0.path().display());
        command.args(["-ec", &self.here(script)]).current_dir(env!("CARGO_MANIFEST_DIR")).env_clear().env("PATH", path);
        command.env("MACHINE", self.0.path()).stdin(Stdio::null());
        command.env("PRESSROOM_CONFIG", self.0.path().join("etc/pressroom/pressroom.toml"));
        command
    }

    fn does(&self, script: &str) {
        Done::of(&mut self.shell(script)).exits(0);
    }

    /// Cron, which starts the crontab's line.
    fn cron(&self) -> Ticking {
        let crontab = fs::read_to_string(self.0.path().join("crontab")).unwrap();
        let line = crontab.lines().find_map(|line| line.strip_prefix("* * * * * ")).expect("a line").to_owned();
        Ticking(Some(self.shell(&format!("exec {line}")).stdout(Stdio::null()).spawn().unwrap()))
    }
}

/// A tick that lingers, until the end of the test.
struct Ticking(Option<Child>);

impl Drop for Ticking {
    fn drop(&mut self) {
        self.0.take().into_iter().for_each(kill);
    }
}

/// The blocks between these words and the next heading, by language.
fn blocks(language: &str) -> Vec<String> {
    let part = README.split("## In five minutes").nth(1).unwrap().split("\n##").next().unwrap();
    let mark = format!("```{language}\n");
    let blocks = part.split(&mark).skip(1);
    blocks.map(|rest| rest.split("```").next().unwrap().to_owned()).collect()
}

#[test]
fn the_five_minutes_of_the_readme_make_a_valid_book() {
    let test = "the_five_minutes_of_the_readme_make_a_valid_book";
    if !has(test, "pandoc") {
        return;
    }
    let machine = Machine::new();
    let [install, text, create, tick] = &blocks("sh")[..] else { panic!("the README has other blocks of commands") };
    machine.does(install);
    machine.does(text);
    let config = machine.here(&blocks("toml")[0]);
    fs::write(machine.0.path().join("etc/pressroom/pressroom.toml"), config).unwrap();
    machine.does(create);
    machine.does(tick);
    let session = machine.here(&blocks("console")[0]);
    let mut cron = None;
    for exchange in session.split("$ ").skip(1) {
        let (command, answer) = exchange.split_once('\n').unwrap();
        let done = Done::of(&mut machine.shell(command));
        assert_eq!(done.out(), answer, "{command}: {}", done.err());
        cron = cron.or_else(|| Some(machine.cron()));
    }
    let answer = session.rsplit("ready ").next().unwrap().trim();
    assert!(Path::new(answer).exists());
    assert_valid_epub(test, Path::new(answer));
}
