//! `docs/examples/book-site`, with stand-ins for the converters and with the real ones.

use std::fs;

use crate::support::{
    classes::{lines, request, run_all, shell},
    outside::has,
    site::{Site, wait_until},
    together::Beside,
};

const STAND_IN: &str = r#"#!/bin/sh
case $PRESSROOM_OUTPUT in
*.epub) kind=epub; { printf 'PK\003\004'; echo whole; printf 'PK\005\006'; } >"$PRESSROOM_OUTPUT" ;;
*.pdf) kind=pdf; printf '%%PDF-1.7\n' >"$PRESSROOM_OUTPUT" ;;
*.azw3) kind=kindle; cp "$PRESSROOM_SOURCE" "$PRESSROOM_OUTPUT" ;;
*.jpg) kind=cover; printf '\377\330\377\340' >"$PRESSROOM_OUTPUT" ;;
esac
echo "$kind $*" >>../../../runs
"#;

fn ready_exporters() -> String {
    format!("{}/bin", env!("CARGO_MANIFEST_DIR"))
}

fn with_stand_ins() -> Site {
    let site = Site::example("book-site");
    let dir = site.path("converters").display().to_string();
    fs::create_dir(&dir).unwrap();
    for name in ["export-pandoc", "export-calibre", "export-thumbnail"] {
        let path = site.path("converters").join(name);
        fs::write(&path, STAND_IN).unwrap();
        fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    }
    site.replacing(&ready_exporters(), &dir).create()
}

/// The kinds in the order of their runs.
fn runs(site: &Site) -> Vec<String> {
    lines(site, "runs").iter().map(|line| line.split(' ').next().unwrap().to_owned()).collect()
}

#[test]
fn the_book_site_makes_each_book_once_and_everything_from_it() {
    let site = with_stand_ins();
    let lingering = Beside::start(&mut site.command(&["tick", "--allow-root", "--for", "10min"]));
    let ask = |kind: &str| shell(&site, &format!("pressroom request {kind} book=emma lang=en --wait 1min"));
    let answers = crate::support::together::at_once(["cover", "kindle", "pdf", "epub", "pdf"].map(ask));
    for answer in answers {
        answer.exits(0).says("emma-en.");
    }
    drop(lingering);
    let mut made = runs(&site);
    assert_eq!(made[0], "epub");
    made.sort();
    assert_eq!(made, ["cover", "epub", "kindle", "pdf"]);
}

#[test]
fn small_books_take_the_express_lane() {
    let site = with_stand_ins();
    for (number, pages) in [900, 800, 700, 12].iter().enumerate() {
        request(&site, &format!("epub book=b{number} pages={pages}")).exits(75);
    }
    site.tick().exits(0).stderr("");
    let mut first: Vec<_> = lines(&site, "runs").iter().map(|line| line.ends_with("b3.md")).collect();
    first.sort_unstable();
    assert_eq!(first, [false, false, true], "two of the big ones, and the small one beside them");
}

#[test]
fn a_book_that_is_a_day_old_is_served_while_a_new_one_is_made() {
    let site = with_stand_ins();
    request(&site, "epub book=emma").exits(75);
    run_all(&site);
    site.clock(90_000.0);
    let answer = request(&site, "epub book=emma --format json").exits(0).json();
    assert_eq!(answer["stale"], true);
    run_all(&site);
    assert_eq!(runs(&site), ["epub", "epub"]);
}

#[test]
fn the_book_site_works_with_the_real_converters() {
    let test = "the_book_site_works_with_the_real_converters";
    let needed = ["pandoc", "ebook-convert"];
    if !needed.into_iter().all(|program| has(test, program)) {
        return;
    }
    let site = Site::example("book-site").create();
    fs::create_dir_all(site.path("srv/books")).unwrap();
    fs::write(site.path("srv/books/emma.md"), "# Volume I\n\nHandsome, clever, and rich.\n").unwrap();
    request(&site, "kindle book=emma title=Emma pages=3").exits(75);
    wait_until("the Kindle book is there", || {
        site.tick().exits(0).stderr("");
        site.cached("kindle/emma-en.azw3").exists()
    });
    let book = fs::read(site.cached("kindle/emma-en.azw3")).unwrap();
    assert!(book[60..].starts_with(b"BOOKMOBI"));
    assert!(fs::read(site.cached("epub/emma-en.epub")).unwrap().starts_with(b"PK"));
}
