//! Exporters that claim success without an acceptable file, or spoil their own surroundings.

use crate::support::rogue::{ends, ends_at, site};

#[track_caller]
fn is_no_output(script: &str, why: &str) {
    let ended = ends(script, "", "no_output");
    assert!(ended.text("detail").contains(why), "{}", ended.text("detail"));
    assert_eq!(ended.number("exit_code"), 0);
    ended.is_answered("failed_unknown no usable file was made\n");
    assert!(!ended.site.names("s/cache/epub").contains(&"rogue.epub".to_owned()));
}

#[test]
fn no_file() {
    is_no_output("exit 0", "no file");
}

#[test]
fn an_empty_file() {
    is_no_output(": >\"$1\"", "empty");
}

#[test]
fn a_directory() {
    is_no_output("mkdir \"$1\"; echo x >\"$1/x\"", "directory");
}

#[test]
fn a_fifo() {
    is_no_output("mkfifo \"$1\"", "regular file");
}

#[test]
fn a_symbolic_link_to_somebody_elses_file() {
    is_no_output("ln -s /etc/passwd \"$1\"", "regular file");
    is_no_output("echo x >x; ln -s x \"$1\"", "regular file");
}

/// A file that is one of our own already would be changed for both.
#[test]
fn a_second_name_of_another_file_is_published_as_a_copy() {
    let ended = ends("echo x >x; ln x \"$1\"", "", "ok");
    let path = ended.site.cached("epub/rogue.epub");
    assert_eq!(std::fs::read_to_string(path).unwrap(), "x\n");
}

#[test]
fn one_that_removes_its_own_work_directory() {
    is_no_output("echo x >\"$1\"; rm -rf \"$HOME\"", "no file");
    ends("rm -rf \"$HOME\"; exit 7", "", "exit");
    ends("cd /; rm -rf \"$HOME\"; sleep 1000", "timeout = \"500ms\"", "timeout");
}

/// Only for root is mode 000 no obstacle.
#[test]
fn one_that_changes_modes_to_000() {
    for (script, result) in [
        ("mkdir -p a/b; touch a/b/c; chmod 000 a/b a .; exit 7", "exit"),
        ("mkdir -p a/b; echo x >\"$1\"; chmod 000 a/b a \"$1\"", "ok"),
        ("mkdir -p a/b; echo x >\"$1\"; chmod 000 a/b a \"$1\" .", "no_output"),
        ("mkdir -p a/b; echo x >\"$1\"; chmod 000 a/b a", "ok"),
    ] {
        ends_at(site(script, "").by_nobody().create(), result);
    }
}

#[test]
fn one_that_puts_a_link_in_place_of_its_work_directory_harms_nobody() {
    let script = "mkdir ../../../mine; echo x >../../../mine/file; me=$HOME; cd /; rm -rf \"$me\"; ln -s \"$me/../../../mine\" \"$me\"";
    let ended = ends(script, "", "no_output");
    assert!(ended.site.path("mine/file").exists(), "no link was followed");
}
