//! A host where there is a home directory, a crontab and CGI: as docs/shared-host.md tells, with its own snippets.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Command, Stdio},
};

use tempfile::TempDir;

use crate::support::site::Done;

const GUIDE: &str = include_str!("../../docs/shared-host.md");

/// The one block of that language, with another home.
fn block(language: &str, with: &str, home: &Path) -> String {
    let marks = format!("```{language}\n");
    let blocks = GUIDE.split(marks.as_str()).skip(1).filter_map(|rest| rest.split("```").next());
    blocks.into_iter().find(|text| text.contains(with)).expect(with).replace("/home/me", home.to_str().unwrap())
}

fn executable(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// What sh does with the line, in cron's environment.
fn shell(line: &str, variables: &[(&str, &str)]) -> Done {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", line]).env_clear().env("PATH", "/usr/bin:/bin").envs(variables.iter().copied());
    Done::of(command.stdin(Stdio::null()))
}

#[test]
fn a_home_directory_a_crontab_and_cgi_are_enough() {
    let home = TempDir::with_prefix_in("pr", "/tmp").unwrap();
    let place = home.path().join("pressroom");
    executable(&place.join("bin/export-text"), &block("sh", "export-text", home.path()));
    fs::copy(env!("CARGO_BIN_EXE_pressroom"), place.join("bin/pressroom")).unwrap();
    let config = place.join("pressroom.toml");
    fs::write(&config, block("toml", "state_dir", home.path())).unwrap();
    let root = if nix::unistd::Uid::effective().is_root() { " --allow-root" } else { "" };
    let create = block("sh", "check --create", home.path()).trim().to_owned() + root;
    shell(&create, &[("HOME", home.path().to_str().unwrap())]).exits(0).says("ok: ");

    let script = home.path().join("cgi-bin/export.cgi");
    executable(&script, &block("sh", "request --cgi", home.path()));
    let form = format!("printf title=Candide | {}", script.display());
    let ask = |method: &str, query: &str, line: &str| {
        let variables = [
            ("GATEWAY_INTERFACE", "CGI/1.1"),
            ("REQUEST_METHOD", method),
            ("SCRIPT_NAME", "/cgi-bin/export.cgi"),
            ("PATH_INFO", "/text"),
            ("QUERY_STRING", query),
            ("SERVER_NAME", "example.org"),
            ("SERVER_PROTOCOL", "HTTP/1.1"),
            ("CONTENT_LENGTH", "13"),
            ("CONTENT_TYPE", "application/x-www-form-urlencoded"),
            ("REMOTE_ADDR", "192.0.2.1"),
        ];
        shell(line, &variables)
    };
    ask("POST", "", &form).exits(0).says("Status: 303");

    let crontab = block("crontab", "PRESSROOM_CONFIG", home.path());
    let line = crontab.lines().find_map(|line| line.strip_prefix("* * * * * ")).unwrap();
    // The test need not stay for a minute.
    let line = line.replace("--for 55s", "--wait") + root;
    shell(&line, &[("PRESSROOM_CONFIG", config.to_str().unwrap())]).exits(0).stdout("").stderr("");
    ask("GET", "title=Candide", script.to_str().unwrap())
        .exits(0)
        .says("Content-Disposition")
        .says("the text of Candide.\n");
}
