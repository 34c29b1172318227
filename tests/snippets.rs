//! The callers of docs/examples, against a `pressroom` that gives each answer in turn.

mod outside;

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::PathBuf,
    process::{Command, Output},
};

use outside::{PATH, Work, has};

/// What the stand-in answers when it is asked with the title of the first column.
const ANSWERS: &str = r#"#!/bin/sh
printf '%s\n' "$@" >>"$HOME/asked"
case $* in *json*) json=1 ;; *) json='' ;; esac
say() { if [ "$json" ]; then printf '%s\n' "$2"; else printf '%s\n' "$1"; fi; exit "$3"; }
book=$HOME/a\ book.epub
case $* in
*title=Ready*) say "ready $book" "{\"state\":\"ready\",\"path\":\"$book\",\"content_type\":\"application/epub+zip\",\"size\":6}" 0 ;;
*title=Waits*) say 'queued 3' '{"state":"queued","position":3,"retry_after":7,"message":"<soon>"}' 75 ;;
*title=Fails*) say 'failed_timeout It took too long.' '{"state":"failed_timeout","message":"It took too long."}' 70 ;;
*title=Silent*) exit 78 ;;
*) say 'invalid no such title' '{"state":"invalid","reason":"no such title"}' 65 ;;
esac
"#;

fn example(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("docs/examples").join(name)
}

fn site() -> Work {
    let work = Work::new();
    fs::write(work.path("pressroom"), ANSWERS).unwrap();
    fs::set_permissions(work.path("pressroom"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(work.path("a book.epub"), "a book").unwrap();
    work
}

fn run(work: &Work, command: &mut Command) -> Output {
    let dir = work.path("");
    let path = format!("{}:{PATH}", dir.display());
    command.env_clear().env("PATH", path).env("HOME", dir).current_dir(work.path("")).output().unwrap()
}

fn shell(work: &Work, title: &str) -> Output {
    run(work, Command::new("sh").arg(example("export.sh")).args([title, "en", "copy.epub"]))
}

fn php(work: &Work, title: &str) -> String {
    let code = "$_GET = ['title' => $argv[1]]; require $argv[2]; fwrite(STDERR, (string) http_response_code());";
    let done = run(work, Command::new("php").args(["-r", code, "--", title]).arg(example("export.php")));
    String::from_utf8(done.stdout).unwrap() + &String::from_utf8(done.stderr).unwrap()
}

fn python(work: &Work, title: &str) -> String {
    let code = "import sys, runpy, urllib.parse\n\
                page = runpy.run_path(sys.argv[2])['application']\n\
                query = {'QUERY_STRING': urllib.parse.urlencode({'title': sys.argv[1]}), 'REMOTE_ADDR': '192.0.2.7'}\n\
                body = page(query, lambda status, headers: print(status, dict(headers)))\n\
                print(b''.join(body).decode())";
    let done = run(work, Command::new("/usr/bin/python3").args(["-c", code, title]).arg(example("export.py")));
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap()
}

#[test]
fn the_shell_caller_copies_a_book_and_passes_the_exit_status_on() {
    let work = site();
    assert_eq!(shell(&work, "Ready").status.code(), Some(0));
    assert_eq!(work.read("copy.epub"), "a book");
    for (title, status) in [("Waits", 75), ("Fails", 70), ("Silent", 78), ("Other", 65)] {
        assert_eq!(shell(&work, title).status.code(), Some(status), "{title}");
    }
}

#[test]
fn the_php_page_answers_each_state() {
    if !has("the_php_page_answers_each_state", "php") {
        return;
    }
    let work = site();
    assert!(php(&work, "Ready").starts_with("a book"));
    assert_eq!(php(&work, "Waits"), "<p>&lt;soon&gt;</p>\n202");
    assert_eq!(php(&work, "Fails"), "<p>It took too long.</p>\n504");
    assert_eq!(php(&work, "Silent"), "<p>unavailable</p>\n503");
    assert_eq!(php(&work, "Other"), "<p>invalid</p>\n400");
}

#[test]
fn the_python_application_answers_each_state() {
    if !has("the_python_application_answers_each_state", "python3") {
        return;
    }
    let work = site();
    let ready = python(&work, "Ready");
    assert!(
        ready.starts_with("200 OK") && ready.contains("'Content-Length': '6'") && ready.contains("a book"),
        "{ready}"
    );
    let waits = python(&work, "Waits");
    assert!(waits.starts_with("202 Accepted") && waits.contains("'Refresh': '7'"), "{waits}");
    assert!(python(&work, "Fails").starts_with("504 Gateway Timeout"));
    assert!(python(&work, "Silent").starts_with("503 Service Unavailable"));
    assert!(python(&work, "Other").starts_with("400 Bad Request"));
}

#[test]
fn no_caller_lets_a_value_become_a_command() {
    let title = "$(touch pwned); `touch pwned` '\" --client=x\\";
    let work = site();
    shell(&work, title);
    if has("no_caller_lets_a_value_become_a_command", "php") {
        php(&work, title);
    }
    if has("no_caller_lets_a_value_become_a_command", "python3") {
        python(&work, title);
    }
    assert!(!work.path("pwned").exists());
    let asked = work.read("asked");
    assert!(
        asked.lines().filter(|line| line.starts_with("title=")).all(|line| line == format!("title={title}")),
        "{asked}"
    );
}
