//! The example that turns Markdown into EPUB: its pages, and the whole program as an exporter.

mod outside;

#[path = "../examples/markdown_to_epub/chapter.rs"]
#[allow(dead_code, reason = "the example uses the rest")]
mod chapter;
#[path = "../examples/markdown_to_epub/links.rs"]
mod links;
#[path = "../examples/markdown_to_epub/xml.rs"]
mod xml;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::Once,
};

use chapter::Source;
use outside::{Work, assert_exits, assert_valid_epub};

/// `cargo test` builds the examples first; `cargo test --test demo_epub` does not.
fn program() -> PathBuf {
    static BUILT: Once = Once::new();
    let program = std::env::current_exe().unwrap().ancestors().nth(2).unwrap().join("examples/markdown_to_epub");
    BUILT.call_once(|| {
        if !program.exists() {
            let cargo = Command::new(env!("CARGO")).args(["build", "--example", "markdown_to_epub"]).status();
            assert!(cargo.unwrap().success(), "the example cannot be built");
        }
    });
    program
}

fn docs() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let found = fs::read_dir(root.join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let mut docs: Vec<_> = found.filter(|path| path.extension().is_some_and(|extension| extension == "md")).collect();
    docs.sort();
    docs.insert(0, root.join("README.md"));
    docs
}

fn page(text: &str) -> String {
    let sources =
        [Source::new(Path::new("a/one.md"), text), Source::new(Path::new("a/b/two.md"), "# Two\n\n## Part\n")];
    chapter::render(&sources[0], &sources, "en").xhtml
}

#[test]
fn links_between_the_files_lead_to_their_chapters() {
    assert!(page("[x](b/two.md)").contains("<a href=\"chapter-2.xhtml\">x</a>"));
    assert!(page("[x](./c/../b/two.md#part)").contains("<a href=\"chapter-2.xhtml#section-2\">x</a>"));
    assert!(page("[x](b/two.md#nowhere)").contains("<a href=\"chapter-2.xhtml\">x</a>"));
    assert!(page("# Here\n\n[x](#here)").contains("<a href=\"chapter-1.xhtml#section-1\">x</a>"));
}

#[test]
fn links_that_lead_nowhere_leave_their_text() {
    for target in ["three.md", "../LICENSE", "javascript:alert(1)", "mailto:a@example.org", "https://"] {
        let page = page(&format!("see [the *text*]({target})."));
        assert!(page.contains("<p>see the <em>text</em>.</p>"), "{target}: {page}");
    }
    assert!(page("[x](https://example.org/?a&b)").contains("href=\"https://example.org/?a&amp;b\""));
}

#[test]
fn html_and_pictures_become_text() {
    assert!(page("a<br>b <!-- c --><i>d</i>").contains("a<br />\nb &lt;i&gt;d&lt;/i&gt;"));
    assert!(page("<script>x & y</script>").contains("&lt;script&gt;x &amp; y&lt;/script&gt;"));
    assert!(page("![a <picture>](x.png)").contains("<p>a &lt;picture&gt;</p>"));
}

#[test]
fn characters_that_xml_forbids_are_dropped() {
    assert!(page("a\u{1b}b\u{c}c\u{ffff}d").contains("<p>abcd</p>"));
}

#[test]
fn the_projects_documentation_becomes_a_valid_book() {
    let work = Work::new();
    let mut args: Vec<PathBuf> = vec!["--title=Pressroom".into(), "--lang=en".into(), "--output".into()];
    args.push(work.path("out.epub"));
    args.extend(docs());
    assert_exits(&work.run(&program(), "out.epub", &args), 0);
    assert_eq!(work.read("progress").lines().last(), Some("95 Binding"));
    assert_valid_epub("the_projects_documentation_becomes_a_valid_book", &work.path("out.epub"));
}

#[test]
fn the_ugliest_input_becomes_a_valid_book() {
    let text = "# <b>&amp; \"q\"\n\n# <b>&amp; \"q\"\n\n##\n\n[a]( x y ) [b](<https://a b>) <c@example.org>\n\n- [x] d\n\n\
                | a | b |\n|---|--:|\n| `<` | ~~e~~ |\n\n<div align=x>\n<p>\n\n[![f](g.svg)](https://example.org)\n\u{1b}";
    let work = Work::new();
    fs::write(work.path("in.md"), text).unwrap();
    fs::write(work.path("empty.md"), "").unwrap();
    let title = "-<t>&\"\u{1}\u{5e9}\u{1f600}".to_owned();
    let mut args: Vec<PathBuf> = vec!["--title".into(), title.into(), "--lang=pt-BR".into(), "--output".into()];
    args.extend(["out.epub", "in.md", "empty.md", "in.md"].map(|name| work.path(name)));
    assert_exits(&work.run(&program(), "out.epub", &args), 0);
    assert_valid_epub("the_ugliest_input_becomes_a_valid_book", &work.path("out.epub"));
}

#[test]
fn bad_input_exits_65_and_tells_the_visitor_no_path() {
    let work = Work::new();
    fs::write(work.path("latin1.md"), b"caf\xe9").unwrap();
    fs::write(work.path("good.md"), "good").unwrap();
    for (lang, input) in [("en", "latin1.md"), ("e<n", "good.md"), ("", "good.md")] {
        let args = ["--title=T", &format!("--lang={lang}"), "--output=out.epub", input];
        assert_exits(&work.run(&program(), "out.epub", &args), 65);
        assert_eq!(work.read("message").lines().last(), Some("The text of this book cannot be used."));
    }
}

#[test]
fn a_full_disk_exits_75() {
    let work = Work::new();
    fs::write(work.path("in.md"), "text").unwrap();
    let args = ["--title=T", "--lang=en", "--output=/dev/full", "in.md"];
    assert_exits(&work.run(&program(), "out.epub", &args), 75);
}

#[test]
fn the_demo_makes_a_valid_book_and_needs_no_warning() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut demo = Command::new(root.join("demo/run"));
    let done = demo.arg(env!("CARGO_BIN_EXE_pressroom")).current_dir(root).output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    assert!(done.status.success(), "{out}\n{err}");
    assert!(!out.contains("warning") && !err.contains("no tick") && !err.contains("warning"), "{out}\n{err}");
    assert!(out.contains("or ? while the exporter has told none yet"), "{out}");
    let book = out.split("\nready ").nth(1).unwrap().lines().next().unwrap();
    assert_valid_epub("the_demo_makes_a_valid_book_and_needs_no_warning", Path::new(book));
}
