//! Programs that are not built here: whether they are there, and how an exporter is run as Pressroom would run it.
#![allow(dead_code, reason = "each test file uses a part of it")]

use std::{
    ffi::OsStr,
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use tempfile::TempDir;

pub const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Whether a program is in `PATH`; if not, says that the test is skipped, in a line that `make test` collects.
pub fn has(test: &str, program: &str) -> bool {
    let found = PATH.split(':').any(|dir| Path::new(dir).join(program).exists());
    if !found {
        skipped(test, &format!("{program} is not installed"));
    }
    found
}

/// Whether a file or directory of a package is there, likewise.
pub fn has_file(test: &str, path: &str) -> bool {
    let found = Path::new(path).exists();
    if !found {
        skipped(test, &format!("{path} is not installed"));
    }
    found
}

/// Written past the test harness, which swallows what a passing test prints.
pub fn skipped(test: &str, reason: &str) {
    io::stderr().write_all(format!("SKIPPED: {test}: {reason}\n").as_bytes()).unwrap();
}

/// Debian's `epubcheck` is a bare jar, which only a configured kernel can run by its name.
#[track_caller]
pub fn assert_valid_epub(test: &str, book: &Path) {
    const JAR: &str = "/usr/share/java/epubcheck.jar";
    if !has(test, "java") || !has_file(test, JAR) {
        return;
    }
    // A short life is not worth an optimising compiler: this halves the time.
    let checked = Command::new("java")
        .args(["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-jar", JAR])
        .arg(book)
        .output()
        .unwrap();
    assert!(checked.status.success(), "{}: {}", book.display(), String::from_utf8_lossy(&checked.stderr));
}

/// An attempt's work directory, and what an exporter left in it.
pub struct Work {
    dir: TempDir,
}

impl Work {
    pub fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// Runs an exporter that writes `output` in the surroundings that docs/exporters.md promises.
    pub fn run<S: AsRef<OsStr>>(&self, program: &Path, output: &str, args: &[S]) -> Output {
        self.run_with_path(program, output, args, PATH)
    }

    pub fn run_with_path<S: AsRef<OsStr>>(&self, program: &Path, output: &str, args: &[S], path: &str) -> Output {
        let dir = self.dir.path();
        Command::new(program)
            .args(args)
            .env_clear()
            .envs([("PATH", path), ("LANG", "C.UTF-8"), ("TZ", "UTC")])
            .envs([("HOME", dir), ("TMPDIR", dir), ("XDG_CONFIG_HOME", dir), ("XDG_CACHE_HOME", dir)])
            .env("PRESSROOM_OUTPUT", self.path(output))
            .env("PRESSROOM_PROGRESS", self.path("progress"))
            .env("PRESSROOM_MESSAGE", self.path("message"))
            .current_dir(dir)
            .stdin(Stdio::null())
            .output()
            .unwrap()
    }
}

/// The exit status, or a panic with what the exporter said.
#[track_caller]
pub fn assert_exits(output: &Output, status: i32) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(status), "stderr: {said}");
}
