//! The ready exporters in `bin/`, with the real converters.

mod outside;

use std::{fs, os::unix::fs::symlink, path::PathBuf, process::Command};

use outside::{PATH, Work, assert_exits, assert_valid_epub, has, has_file};

fn exporter(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("bin").join(name)
}

const TITLES: [&str; 7] = [
    "-rf",
    "true",
    "a/b \"c\" 'd' & <e> {f} $(g) `h`",
    "@/etc/passwd",
    "كتاب الأيام",
    "తెలుగు పుస్తకం",
    "\u{1f4da} \u{1f469}\u{200d}\u{1f4bb}",
];

#[test]
fn pandoc_makes_a_book_whatever_its_title_is() {
    let test = "pandoc_makes_a_book_whatever_its_title_is";
    if !has(test, "pandoc") {
        return;
    }
    let long = "ก".repeat(85);
    for title in TITLES.iter().copied().chain([long.as_str()]) {
        let work = Work::new();
        fs::write(work.path("in.md"), "# One\n\nSome *text*.\n").unwrap();
        let args = [format!("--title={title}"), "--lang=en".into(), work.path("in.md").display().to_string()];
        assert_exits(&work.run(&exporter("export-pandoc"), "out.epub", &args), 0);
        assert_eq!(work.read("progress").lines().last(), Some("100 Done"));
        assert!(fs::read(work.path("out.epub")).unwrap().starts_with(b"PK"));
        if title.contains('<') {
            assert_valid_epub(test, &work.path("out.epub")); // one of them: a Java machine takes seconds to start
        }
    }
}

/// Readers' programs and epubcheck refuse a book without `dc:title`.
#[test]
fn a_book_without_a_title_has_its_first_heading_or_its_files_name() {
    let test = "a_book_without_a_title_has_its_first_heading_or_its_files_name";
    if !has(test, "pandoc") {
        return;
    }
    for (name, text, title) in [
        ("in.md", "Some text.\n\n# *Candide* & [others](x.md)\n\n# Two\n", "Candide &amp; others"),
        ("in.md", "---\ntitle: Its own\n---\n\n# One\n", "Its own"),
        ("a <b>.x.md", "No heading.\n", "a &lt;b&gt;.x"),
        ("empty.html", "<title> </title>", "empty"),
    ] {
        let work = Work::new();
        fs::write(work.path(name), text).unwrap();
        let args = ["--title= ".into(), "--lang=en".into(), work.path(name)];
        assert_exits(&work.run(&exporter("export-pandoc"), "out.epub", &args), 0);
        assert_eq!(title_of(&work.path("out.epub")), title);
        assert_valid_epub(test, &work.path("out.epub"));
    }
}

fn title_of(book: &std::path::Path) -> String {
    let opf = Command::new("python3")
        .args(["-c", "import sys, zipfile; print(zipfile.ZipFile(sys.argv[1]).read('EPUB/content.opf').decode())"])
        .arg(book)
        .output()
        .unwrap();
    let opf = String::from_utf8(opf.stdout).unwrap();
    let title = opf.split("<dc:title").nth(1).expect("a title").split('>').nth(1).unwrap();
    title.strip_suffix("</dc:title").unwrap().to_owned()
}

#[test]
fn pandoc_flattens_what_an_epub_cannot_hold() {
    let test = "pandoc_flattens_what_an_epub_cannot_hold";
    if !has(test, "pandoc") {
        return;
    }
    let work = Work::new();
    let markdown = "# A\n\n## \u{a0}\n\n[gone](other.md) [bad](<https://a b>) ![no](no.png) <br> <b>open\n\n<div align=x>\n\n\
                # A {#a}\n\n![far](http://192.0.2.1/x.png)\n\n<table><tr><td width=5%>x</table>\n";
    fs::write(work.path("in.md"), markdown).unwrap();
    assert_exits(&work.run(&exporter("export-pandoc"), "out.epub", &["--title=T".into(), work.path("in.md")]), 0);
    assert_valid_epub(test, &work.path("out.epub"));
}

#[test]
fn pandoc_makes_valid_books_of_debian_packages() {
    let test = "pandoc_makes_valid_books_of_debian_packages";
    let books = [
        "/usr/share/doc/debian-handbook/html/fr-FR/foreword.html",
        "/usr/share/doc/debian-handbook/html/ar-MA/sect.apt-cache.html",
        "/usr/share/doc/anarchism/html/secA1.html",
        "/usr/share/developers-reference/scope.html",
    ];
    for book in books.into_iter().filter(|book| has(test, "pandoc") && has_file(test, book)) {
        let work = Work::new();
        let args = ["--title=A book", "--lang=en", book];
        assert_exits(&work.run(&exporter("export-pandoc"), "out.epub", &args), 0);
        assert_valid_epub(test, &work.path("out.epub"));
    }
}

#[test]
fn plain_text_keeps_its_angle_brackets() {
    let test = "plain_text_keeps_its_angle_brackets";
    if !has(test, "pandoc") {
        return;
    }
    let work = Work::new();
    fs::write(work.path("in.txt"), "---\ntitle: x\n---\n\nWrite to <the list>, & <snip> the rest.\n").unwrap();
    assert_exits(&work.run(&exporter("export-pandoc"), "out.html", &["--title=T".into(), work.path("in.txt")]), 0);
    assert!(work.read("out.html").contains("&lt;snip&gt;"));
}

#[test]
fn damaged_input_is_never_retried_and_the_visitor_is_told_no_path() {
    let test = "damaged_input_is_never_retried_and_the_visitor_is_told_no_path";
    let cases = [
        ("export-pandoc", "pandoc", "in.docx", "out.epub"),
        ("export-calibre", "ebook-convert", "in.epub", "out.azw3"),
        ("export-thumbnail", "convert", "in.jpg", "out.jpg"),
    ];
    for (script, program, input, output) in cases.into_iter().filter(|case| has(test, case.1)) {
        let work = Work::new();
        fs::write(work.path(input), b"\xff\xd8\xff junk").unwrap();
        assert_exits(&work.run(&exporter(script), output, &[work.path(input)]), 65);
        let message = work.read("message");
        assert!(!message.is_empty() && !message.contains('/') && !message.contains(program), "{script}: {message}");
        assert!(!work.path(output).exists(), "{script} left a file");
    }
}

#[test]
fn an_input_that_is_missing_or_climbs_up_is_refused() {
    for (script, what) in [("export-pandoc", "text"), ("export-calibre", "text"), ("export-thumbnail", "picture")] {
        for input in ["/nonexistent/book.md", "/usr/../etc/passwd"] {
            let work = Work::new();
            assert_exits(&work.run(&exporter(script), "out.jpg", &[input]), 65);
            assert_eq!(work.read("message"), format!("There is no such {what}.\n"));
        }
    }
}

#[test]
fn a_missing_converter_is_a_temporary_failure() {
    let tools = Work::new();
    for tool in ["sh", "dirname", "readlink", "od", "tr", "ln", "rm"] {
        let path = PATH.split(':').map(|dir| PathBuf::from(dir).join(tool)).find(|path| path.exists()).unwrap();
        symlink(path, tools.path(tool)).unwrap();
    }
    for (script, output) in
        [("export-pandoc", "out.epub"), ("export-calibre", "out.pdf"), ("export-thumbnail", "out.jpg")]
    {
        let work = Work::new();
        fs::write(work.path("in"), b"\xff\xd8\xff").unwrap();
        let path = tools.path("");
        let ended = work.run_with_path(&exporter(script), output, &[work.path("in")], path.to_str().unwrap());
        assert_exits(&ended, 75);
        assert_eq!(work.read("message"), "The converter is not available at the moment.\n");
    }
}

#[test]
fn calibre_reports_its_progress() {
    let test = "calibre_reports_its_progress";
    if !has(test, "pandoc") || !has(test, "ebook-convert") {
        return;
    }
    let work = Work::new();
    fs::write(work.path("in.md"), "# One\n\nText.\n").unwrap();
    assert_exits(&work.run(&exporter("export-pandoc"), "book.epub", &[work.path("in.md")]), 0);
    fs::remove_file(work.path("progress")).unwrap();
    let args = ["--title=-x".into(), "--lang=fr".into(), work.path("book.epub")];
    assert_exits(&work.run(&exporter("export-calibre"), "out.azw3", &args), 0);
    assert!(fs::read(work.path("out.azw3")).unwrap()[60..].starts_with(b"BOOKMOBI"));
    let percents: Vec<u8> =
        work.read("progress").lines().map(|line| line.split(' ').next().unwrap().parse().unwrap()).collect();
    assert!(percents.len() > 2 && percents.is_sorted() && percents.last() == Some(&100), "{percents:?}");
}

#[test]
fn a_thumbnail_fits_into_its_box() {
    let test = "a_thumbnail_fits_into_its_box";
    if !has(test, "convert") {
        return;
    }
    let work = Work::new();
    let input = work.path("in [1]%d.png");
    let drawn =
        Command::new("convert").args(["-size", "800x600", "xc:red"]).arg(work.path("big.png")).output().unwrap();
    assert!(drawn.status.success(), "{}", String::from_utf8_lossy(&drawn.stderr));
    fs::rename(work.path("big.png"), &input).unwrap();
    for output in ["out.jpg", "out.png"] {
        assert_exits(&work.run(&exporter("export-thumbnail"), output, &["--size=200x90".into(), input.clone()]), 0);
        assert_eq!(size(&work.path(output)), "120x90");
    }
}

#[test]
fn the_first_page_of_a_pdf_becomes_a_thumbnail() {
    let test = "the_first_page_of_a_pdf_becomes_a_thumbnail";
    let book = "/usr/share/developers-reference/developers-reference.pdf";
    if !has(test, "convert") || !has(test, "pdftoppm") || !has_file(test, book) {
        return;
    }
    let work = Work::new();
    assert_exits(&work.run(&exporter("export-thumbnail"), "out.jpg", &["--size=300x200", book]), 0);
    assert!(size(&work.path("out.jpg")).ends_with("x200"));
}

#[test]
fn a_thumbnail_is_made_of_pictures_only_and_of_sane_sizes() {
    let work = Work::new();
    fs::write(work.path("in.jpg"), "push graphic-context\nimage over 0,0 0,0 'text:/etc/passwd'\n").unwrap();
    assert_exits(&work.run(&exporter("export-thumbnail"), "out.jpg", &[work.path("in.jpg")]), 65);
    for size in ["0x5", "10x", "x5", "5x5x5", "axb", "99999x1", "100", "5x05", "1x1!"] {
        let args = [format!("--size={size}").into(), work.path("in.jpg")];
        assert_exits(&work.run(&exporter("export-thumbnail"), "out.jpg", &args), 65);
        assert_eq!(work.read("message"), "There is no such size.\n", "{size}");
    }
}

fn size(picture: &std::path::Path) -> String {
    let seen = Command::new("identify").args(["-format", "%wx%h"]).arg(picture).output().unwrap();
    String::from_utf8(seen.stdout).unwrap()
}
