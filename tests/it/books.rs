//! Real books through the queue: Debian's packages, pandoc, and titles of every kind.

use std::{fs, path::Path};

use crate::support::{
    outside::{assert_valid_epub, has, has_file},
    site::Site,
};

const HANDBOOK: &str = "/usr/share/doc/debian-handbook/html/en-US";

fn book_site() -> Site {
    let pandoc = Path::new(env!("CARGO_MANIFEST_DIR")).join("bin/export-pandoc");
    let more = format!(
        r#"
[exporter.book]
command = ["{}", "--title={{title}}", "--lang={{lang}}", "--output={{output}}", "{HANDBOOK}/{{chapter}}.html"]
filename = "{{title}}-{{lang}}-{{chapter}}.epub"
magic = "504b0304"
ends_with = "504b0506"
[exporter.book.limits]
memory = "1GB"
[exporter.book.params.title]
required = true
[exporter.book.params.lang]
pattern = "[a-z-]+"
default = "en"
[exporter.book.params.chapter]
pattern = "[a-z0-9.-]+"
default = "foreword"
"#,
        pandoc.display()
    );
    Site::new().more(&more).create()
}

fn ready_path(answer: &str) -> String {
    answer.strip_prefix("ready ").expect(answer).trim_end().to_owned()
}

#[test]
fn real_books_come_out_of_the_queue_whatever_their_titles_are() {
    let test = "real_books_come_out_of_the_queue_whatever_their_titles_are";
    if !has(test, "pandoc") || !has_file(test, &format!("{HANDBOOK}/foreword.html")) {
        return;
    }
    let site = book_site();
    let long = "ఆ".repeat(85);
    let titles = ["a/b", "\"c\" & 'd'", "-rf", "كتاب الأيام", "తెలుగు పుస్తకం", "\u{1f4da}", &long];
    for title in titles {
        site.run(&["request", "book", &format!("title={title}")]).exits(75);
    }
    for _ in 0..titles.len() {
        site.tick().exits(0).stderr("");
    }
    for title in titles {
        let done = site.run(&["request", "book", &format!("title={title}")]);
        let path = ready_path(&done.exits(0).out());
        assert!(fs::read(&path).unwrap().starts_with(b"PK"), "{path}");
        if title.contains('&') || title == long {
            assert_valid_epub(test, Path::new(&path));
        }
    }
}

#[test]
fn a_long_chapter_becomes_a_valid_book_with_its_use_recorded() {
    let test = "a_long_chapter_becomes_a_valid_book_with_its_use_recorded";
    if !has(test, "pandoc") || !has_file(test, &format!("{HANDBOOK}/sect.apt-get.html")) {
        return;
    }
    let site = book_site();
    let words = ["request", "book", "title=APT", "chapter=sect.apt-get"];
    site.run(&words).exits(75);
    site.tick().exits(0).stderr("");
    let path = ready_path(&site.run(&words).exits(0).out());
    assert_valid_epub(test, Path::new(&path));
    assert_eq!(site.text("SELECT result FROM attempt"), "ok");
    assert!(site.count("SELECT peak_memory FROM attempt") > 10_000_000);
    assert!(site.count("SELECT cpu_used FROM attempt") > 0);
    assert_eq!(
        site.count("SELECT output_size FROM attempt"),
        i64::try_from(fs::metadata(path).unwrap().len()).unwrap()
    );
}
