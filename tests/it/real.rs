//! Real programs under the limits that the documentation recommends for them.

use std::{fs, path::Path};

use crate::support::{site::Site, strays::nobody_is_left};

/// A site whose exporter runs this program; `None` where it is not installed.
fn site(test: &str, program: &str, script: &str, settings: &str) -> Option<Site> {
    let dirs = ["/usr/local/bin", "/usr/bin", "/bin"];
    if !dirs.iter().any(|dir| Path::new(dir).join(program).exists()) {
        crate::support::outside::skipped(test, &format!("{program} is not installed"));
        return None;
    }
    Some(Site::new().exporter_with(script, &format!("max_attempts = 1\n{settings}")).by_nobody().create())
}

/// Makes the book, and returns the beginning of the file.
#[track_caller]
fn makes(site: &Site) -> Vec<u8> {
    site.ask("Emma").exits(75);
    site.tick().exits(0);
    nobody_is_left(site);
    let why =
        || site.text("SELECT result || ' ' || coalesce(detail, '') || ' ' || coalesce(log_tail, '') FROM attempt");
    assert_eq!(site.text("SELECT result FROM attempt"), "ok", "{}", why());
    site.tick().exits(0).stderr("");
    assert_eq!(site.names("s/work"), [""; 0]);
    fs::read(site.cached("epub/Emma.epub")).expect("the file")
}

const PAGE: &str = r#"printf '<!DOCTYPE html><title>%s</title><h1>Chapter</h1><p>It is a truth universally acknowledged.' "$2" >page.html
"#;

#[test]
fn pandoc_makes_a_book_under_its_limits() {
    let script = format!("{PAGE}exec pandoc -f html -t epub3 --metadata title=\"$2\" -o \"$1\" page.html");
    let settings = "timeout = \"2m\"\nlimits = { memory = \"1GB\", cpu = \"1m\", file_size = \"50MB\", work_size = \"100MB\", open_files = 64 }";
    let Some(site) = site("pandoc_makes_a_book_under_its_limits", "pandoc", &script, settings) else { return };
    assert!(makes(&site).starts_with(b"PK\x03\x04"));
    assert!(site.count("SELECT peak_memory FROM attempt") > 10 << 20);
}

#[test]
fn imagemagick_makes_a_picture_under_its_limits_and_is_stopped_by_them() {
    let test = "imagemagick_makes_a_picture_under_its_limits_and_is_stopped_by_them";
    let small = "timeout = \"1m\"\nlimits = { memory = \"256MB\", cpu = \"20s\", file_size = \"10MB\", work_size = \"50MB\", open_files = 64 }";
    let Some(site) = self::site(test, "convert", "exec convert -size 300x200 gradient:red-blue png:\"$1\"", small)
    else {
        return;
    };
    assert!(makes(&site).starts_with(b"\x89PNG"));

    let huge = "exec convert -size 2000x2000 plasma: rgb:\"$1\"";
    let tight = "timeout = \"1m\"\nlimits = { file_size = \"1MB\" }";
    let Some(site) = self::site(test, "convert", huge, tight) else { return };
    site.ask("Emma").exits(75);
    site.tick().exits(0);
    assert_eq!(site.text("SELECT result FROM attempt"), "file_size");
}

const CHROMIUM: &str = "exec chromium --headless --no-sandbox --disable-gpu --user-data-dir=\"$HOME/profile\" \
    --no-pdf-header-footer --print-to-pdf=\"$1\" \"file://$HOME/page.html\"";

/// The watched limits do not break it.
#[test]
fn chromium_prints_a_pdf_under_watched_limits() {
    let settings = "timeout = \"2m\"\nlimits = { memory = \"1GB\", cpu = \"1m\", file_size = \"100MB\", work_size = \"200MB\", open_files = 1024 }";
    let script = format!("{PAGE}{CHROMIUM}");
    let Some(site) = site("chromium_prints_a_pdf_under_watched_limits", "chromium", &script, settings) else { return };
    assert!(makes(&site).starts_with(b"%PDF"));
}

/// It reserves hundreds of gigabytes and uses a few hundred megabytes: address space says nothing about it.
#[test]
fn chromium_does_not_work_within_an_address_space_that_is_ample() {
    let settings = "timeout = \"8s\"\nkill_after = \"1s\"\nlimits = { address_space = \"16GB\" }";
    let script = format!("{PAGE}{CHROMIUM}");
    let name = "chromium_does_not_work_within_an_address_space_that_is_ample";
    let Some(site) = site(name, "chromium", &script, settings) else { return };
    site.ask("Emma").exits(75);
    site.tick().exits(0);
    nobody_is_left(&site);
    assert_ne!(site.text("SELECT result FROM attempt"), "ok");
    site.ask("Emma").exits(70);
}
