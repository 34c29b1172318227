use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use super::deep_problems;
use crate::config::{load, warnings};

/// The problems of a file whose exporter runs `program`, with `rest` behind it.
fn problems(dir: &Path, program: &str, rest: &str) -> Vec<String> {
    let file = dir.join("pressroom.toml");
    let text =
        format!("state_dir = '/s'\n[exporter.x]\ncommand = ['{program}', '{{t}}']\nfilename = '{{t}}.x'\n{rest}\n");
    let params = if rest.contains("params.t") { "" } else { "[exporter.x.params.t]\n" };
    fs::write(&file, format!("{text}{params}")).unwrap();
    deep_problems(&load(&file).unwrap())
}

fn script(dir: &Path, name: &str, text: &str, mode: u32) {
    fs::write(dir.join(name), text).unwrap();
    fs::set_permissions(dir.join(name), fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_program_is_found_beside_the_file_or_in_the_path() {
    let dir = tempfile::tempdir().unwrap();
    script(dir.path(), "make", "#!/bin/sh\n", 0o755);
    assert_eq!(problems(dir.path(), "./make", ""), [""; 0]);
    assert_eq!(problems(dir.path(), "sh", ""), [""; 0]);
    let env = format!("env = {{ PATH = '{}' }}", dir.path().display());
    assert_eq!(problems(dir.path(), "make", &env), [""; 0]);
}

#[test]
fn a_program_that_cannot_be_executed_is_named_with_the_reason() {
    let dir = tempfile::tempdir().unwrap();
    let found = |program: &str| problems(dir.path(), program, "").join("|");
    script(dir.path(), "plain", "#!/bin/sh\n", 0o644);
    script(dir.path(), "bare", "echo\n", 0o755);
    script(dir.path(), "lost", "#!/no/such/shell -e\n", 0o755);
    assert!(found("./none").contains("/none does not exist; install it"));
    assert!(found("./plain").contains("/plain is not executable for this user; look at its mode"));
    assert!(found("./bare").contains("has no #! line and is not a binary, so it cannot be executed"));
    assert!(found("./lost").contains("needs \"/no/such/shell\", which does not exist; install it"));
    assert!(found("no-such-program").starts_with("exporter x: the program no-such-program is not in /usr/local/sbin"));
}

#[test]
fn patterns_and_their_defaults_are_tried() {
    let dir = tempfile::tempdir().unwrap();
    let found = |param: &str| problems(dir.path(), "true", &format!("[exporter.x.params.t]\n{param}")).join("|");
    assert!(found("pattern = '['").contains("the pattern \"[\" of parameter t is not a regular expression: unclosed"));
    assert!(found("pattern = 'a)|(b'").contains("is not a regular expression"));
    assert!(found("pattern = 'a'\ndefault = 'b'").contains("the default \"b\" breaks the parameter's own rules"));
    assert_eq!(found("pattern = 'a'\ndefault = 'a'"), "");
}

#[test]
fn numbers_and_schedules_that_do_not_fit_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let rest = "[exporter.x.params.t]\npattern = 'a'\n[schedule.s]\nexporter = 'x'\nevery = '1m'\nparams.t = 'b'";
    assert_eq!(problems(dir.path(), "true", rest), ["schedule s: parameter t does not match a"]);
}

#[test]
fn a_script_that_would_run_a_value_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("pressroom.toml");
    let found = |command: &str| {
        let text = "filename = '{t}.x'\nparams = { t = {} }\n";
        fs::write(&file, format!("state_dir = '/s'\n[exporter.x]\ncommand = {command}\n{text}")).unwrap();
        deep_problems(&load(&file).unwrap())
    };
    assert!(found("['sh', '-ec', 'echo {t} > {output}']")[0].contains("the sh script contains {t}"));
    assert_eq!(found("['sh', '-c', 'echo \"$1\" > {output}', 'sh', '{t}']"), [""; 0]);
}

#[test]
fn a_directory_of_templates_must_be_there() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("pressroom.toml");
    fs::write(&file, "[http]\ntemplates = 'pages'\n").unwrap();
    assert!(deep_problems(&load(&file).unwrap())[0].ends_with("pages does not exist"));
}

#[test]
fn a_long_state_directory_is_worth_a_warning() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("pressroom.toml");
    let found = |length| {
        fs::write(&file, format!("state_dir = '/{}'\n", "s".repeat(length))).unwrap();
        let config = load(&file).unwrap();
        assert_eq!(deep_problems(&config), [""; 0]);
        warnings(&config)
    };
    assert_eq!(found(29), [""; 0]);
    assert!(found(30)[0].contains("63 bytes"));
}
