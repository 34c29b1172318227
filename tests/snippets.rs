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
*title=Ready*) say "ready $book" "{\"state\":\"ready\",\"path\":\"$book\",\"title\":\"Ägypten 5%.epub\",\"content_type\":\"application/epub+zip\",\"size\":6}" 0 ;;
*title=Waits*) say 'queued 3' '{"state":"queued","position":3,"retry_after":7,"message":"<soon>"}' 75 ;;
*title=Fails*) say 'failed_timeout It took too long.' '{"state":"failed_timeout","message":"It took too long."}' 70 ;;
*title=Silent*) echo 'the program says why' >&2; exit 78 ;;
*title=Wrong*) echo 'pressroom: no such exporter' >&2; say '' '{"state":"invalid","reason":"no such exporter"}' 64 ;;
*) say 'invalid no such title' '{"state":"invalid","reason":"no such title"}' 65 ;;
esac
"#;

/// The example with the stand-in in place of the program that it names.
fn example(work: &Work, name: &str) -> PathBuf {
    let example = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("docs/examples").join(name);
    let text = fs::read_to_string(example).unwrap();
    assert!(text.contains("/usr/local/bin/pressroom"), "{text}");
    let copy = work.path(name);
    fs::write(&copy, text.replace("/usr/local/bin/pressroom", work.path("pressroom").to_str().unwrap())).unwrap();
    copy
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
    command.env_clear().env("PATH", PATH).env("HOME", dir).current_dir(work.path("")).output().unwrap()
}

fn shell(work: &Work, title: &str) -> Output {
    run(work, Command::new("sh").arg(example(work, "export.sh")).args([title, "en", "copy.epub"]))
}

fn query(title: &str) -> String {
    form_urlencoded::Serializer::new(String::new()).append_pair("title", title).finish()
}

fn php(work: &Work, title: &str) -> String {
    let code = "parse_str($argv[1], $_GET); require $argv[2]; fwrite(STDERR, (string) http_response_code());";
    let done = run(work, Command::new("php").args(["-r", code, "--", &query(title)]).arg(example(work, "export.php")));
    String::from_utf8(done.stdout).unwrap() + &String::from_utf8(done.stderr).unwrap()
}

fn python(work: &Work, title: &str) -> String {
    let code = "import sys, runpy\n\
                page = runpy.run_path(sys.argv[2])['application']\n\
                query = {'QUERY_STRING': sys.argv[1], 'REMOTE_ADDR': '192.0.2.7'}\n\
                body = page(query, lambda status, headers: print(status, dict(headers)))\n\
                print(b''.join(body).decode())";
    let done =
        run(work, Command::new("/usr/bin/python3").args(["-c", code, &query(title)]).arg(example(work, "export.py")));
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap() + &String::from_utf8(done.stderr).unwrap()
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
    let page = |title: &str, text: &str, status: u16| {
        let again = format!("<p><a href=\"?title={title}\">Ask again</a></p>");
        let said = php(&work, title);
        let whole = format!("<p>{text}</p>\n{again}\n");
        assert!(said.starts_with(&whole) && said.ends_with(&status.to_string()), "{said}");
        said[whole.len()..].to_owned()
    };
    assert_eq!(page("Waits", "&lt;soon&gt;", 202), "202");
    assert_eq!(page("Fails", "It took too long.", 504), "504");
    assert_eq!(page("Other", "invalid", 400), "400");
    // What cannot be used is in the log, and the visitor reads nothing of it.
    let silent = page("Silent", "unavailable", 503);
    assert!(silent.contains("pressroom ended with status 78: the program says why"), "{silent}");
    let wrong = page("Wrong", "unavailable", 503);
    assert!(wrong.contains("pressroom ended with status 64: pressroom: no such exporter"), "{wrong}");
    assert!(php(&work, "a\0b").ends_with("400"));
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
    assert!(waits.starts_with("202 Accepted") && waits.contains("'Refresh': '7; url=?title=Waits&since="), "{waits}");
    let ready = ready.replace('\\', "");
    assert!(ready.contains("filename=\"_gypten 5_.epub\"; filename*=UTF-8\'\'%C3%84gypten%205%25.epub"), "{ready}");
    assert!(python(&work, "Fails").starts_with("504 Gateway Timeout"));
    let silent = python(&work, "Silent");
    assert!(silent.starts_with("503 Service Unavailable"), "{silent}");
    assert!(silent.contains("pressroom ended with status 78: the program says why"), "{silent}");
    assert!(python(&work, "Wrong").contains("status 64: pressroom: no such exporter"));
    let nothing = python(&work, "a\0b");
    assert!(nothing.starts_with("400 Bad Request"), "{nothing}");
    assert!(python(&work, "Other").starts_with("400 Bad Request"));
    fs::remove_file(work.path("pressroom")).unwrap();
    let missing = python(&work, "Ready");
    assert!(missing.starts_with("503 Service Unavailable") && missing.contains("cannot run"), "{missing}");
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
