//! What README.md and docs/ show can be used as it stands.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use tempfile::TempDir;
use toml::{Table, Value};

use crate::support::site::Done;

/// Stands before a block of TOML that belongs to a larger file, and is not seen by readers.
const FRAGMENT: &str = "<!-- a fragment -->";
/// What the fragments belong to.
const REST: &str = r#"
[queue.paper]
[exporter.epub]
command = ["bin/export-book", "{title}", "{output}"]
filename = "{title}-{lang}.epub"
[exporter.epub.params.title]
[exporter.epub.params.lang]
default = "en"
[exporter.pdf]
command = ["bin/export-pdf", "{output}"]
filename = "all.pdf"
[exporter.reindex]
output = "none"
command = ["bin/reindex", "{scope}"]
params = { scope = { one_of = ["all", "changed"] } }
"#;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// README.md and all texts of docs/, by name.
fn guides() -> Vec<(String, String)> {
    let docs = fs::read_dir(root().join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let texts = docs.filter(|path| path.extension().is_some_and(|extension| extension == "md"));
    let paths = texts.chain([root().join("README.md")]);
    paths.map(|path| (path.display().to_string(), fs::read_to_string(path).unwrap())).collect()
}

/// The blocks of TOML, without their indentation, and whether each is a fragment.
fn configurations(text: &str) -> Vec<(String, bool)> {
    let mut lines = text.lines();
    let (mut found, mut before) = (Vec::new(), "");
    while let Some(line) = lines.next() {
        if line.trim() == "```toml" {
            let block: Vec<_> = lines.by_ref().map(str::trim).take_while(|line| *line != "```").collect();
            found.push((block.join("\n"), before == FRAGMENT));
        }
        before = line.trim();
    }
    found
}

/// Values of `over` replace those of `table`.
fn merge(table: &mut Table, over: Table) {
    for (key, value) in over {
        match (table.get_mut(&key), value) {
            (Some(Value::Table(inner)), Value::Table(value)) => merge(inner, value),
            (_, value) => drop(table.insert(key, value)),
        }
    }
}

fn completed(fragment: &str) -> String {
    let mut whole: Table = REST.parse().unwrap();
    merge(&mut whole, fragment.parse().unwrap());
    toml::to_string(&whole).unwrap()
}

/// Where this machine lacks the state directory or a converter, that is no fault of the text.
fn faults(config: &Path) -> Vec<String> {
    let checked = Done::of(Command::new(env!("CARGO_BIN_EXE_pressroom")).arg("--config").arg(config).arg("check"));
    let of_the_file = format!("{}:", config.display());
    checked.err().lines().filter(|line| line.contains(&of_the_file)).map(str::to_owned).collect()
}

#[test]
fn every_configuration_of_the_guides_passes_check() {
    let dir = TempDir::new().unwrap();
    let config = dir.path().join("pressroom.toml");
    let mut number = 0;
    for (name, text) in guides() {
        for (block, is_fragment) in configurations(&text) {
            fs::write(&config, if is_fragment { completed(&block) } else { block.clone() }).unwrap();
            let faults = faults(&config);
            assert!(faults.is_empty(), "{name}:\n{block}\n{faults:#?}");
            number += 1;
        }
    }
    assert!(number >= 17, "only {number} blocks were found");
}

/// The packaged file with its exporter uncommented, and the example of the manual page.
#[test]
fn the_packaged_configuration_and_that_of_the_manual_page_pass_check_and_give_a_title() {
    let packaged = include_str!("../../packaging/pressroom.toml").split("#[exporter.epub]").nth(1).unwrap();
    let packaged = format!("[exporter.epub]{}", packaged.replace("\n#", "\n"));
    let page = include_str!("../../docs/man/pressroom.toml.5");
    let example = page.split("-offset indent\n").nth(1).unwrap().split(".Ed").next().unwrap().to_owned();
    let dir = TempDir::new().unwrap();
    let config = dir.path().join("pressroom.toml");
    for text in [packaged, example] {
        assert!(text.contains("\"--title={title}\""), "{text}");
        fs::write(&config, &text).unwrap();
        assert_eq!(faults(&config), [""; 0], "{text}");
    }
}

/// What `make install` would put below `destdir`, with stand-ins for what is built.
fn installed(destdir: &Path, prefix: &str, target: &str) -> Done {
    let built = destdir.join("built");
    fs::create_dir_all(&built).unwrap();
    for name in ["pressroom", "pressroom.bash", "_pressroom", "pressroom.fish"] {
        fs::write(built.join(name), "").unwrap();
    }
    let mut make = Command::new("make");
    make.args(["--no-print-directory", "-s", "-C"]).arg(root()).arg(target).arg(format!("PREFIX={prefix}"));
    make.arg(format!("DESTDIR={}", destdir.display())).arg(format!("BINARY={}", built.join("pressroom").display()));
    Done::of(make.arg(format!("COMPLETIONS={}", built.display())).env_remove("MAKEFLAGS"))
}

fn files(below: &Path) -> Vec<PathBuf> {
    let found = Command::new("find").arg(below).args(["!", "-type", "d"]).output().unwrap();
    let text = String::from_utf8(found.stdout).unwrap();
    text.lines().map(PathBuf::from).filter(|path| !path.starts_with(below.join("built"))).collect()
}

#[test]
fn make_uninstall_leaves_the_configuration_and_the_state_and_nothing_else() {
    let dir = TempDir::new().unwrap();
    let kept = [dir.path().join("etc/pressroom/pressroom.toml"), dir.path().join("var/lib/pressroom/.pressroom")];
    for file in &kept {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, "").unwrap();
    }
    installed(dir.path(), "/usr/local", "install").exits(0);
    assert!(files(dir.path()).len() > 40);
    // Twice: an upgrade goes over what is there.
    installed(dir.path(), "/usr/local", "install").exits(0);
    installed(dir.path(), "/usr/local", "uninstall").exits(0);
    let mut left = files(dir.path());
    left.sort();
    assert_eq!(left, kept);
}

/// The `sed` of docs/installing.md, in both directions, on the configuration of the README.
#[test]
fn the_guide_leads_from_one_kind_of_installation_to_the_other_and_back() {
    let guide = fs::read_to_string(root().join("docs/installing.md")).unwrap();
    let dir = TempDir::new().unwrap();
    installed(dir.path(), "/usr/local", "install").exits(0);
    installed(dir.path(), "/usr", "install").exits(0);
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let (block, _) = configurations(&readme).remove(0);
    let config = dir.path().join("pressroom.toml");
    fs::write(&config, &block).unwrap();
    let seds: Vec<_> = guide.lines().filter_map(|line| line.trim().strip_prefix("sudo sed ")).collect();
    assert_eq!(seds.len(), 2);
    for (sed, prefix) in seds.into_iter().zip(["/usr/", "/usr/local/"]) {
        let line = format!("sed {sed}").replace("/etc/pressroom/pressroom.toml", config.to_str().unwrap());
        Done::of(Command::new("sh").args(["-ec", &line])).exits(0);
        let program = format!("{prefix}libexec/pressroom/export-pandoc");
        assert!(fs::read_to_string(&config).unwrap().contains(&format!("\"{program}\"")));
        assert!(dir.path().join(program.trim_start_matches('/')).exists());
    }
    assert_eq!(fs::read_to_string(&config).unwrap(), block);
}

#[test]
fn the_alert_rules_are_where_the_installed_crontab_says() {
    for prefix in ["/usr", "/usr/local"] {
        let dir = TempDir::new().unwrap();
        installed(dir.path(), prefix, "install").exits(0);
        let doc = dir.path().join(&prefix[1..]).join("share/doc/pressroom");
        let crontab = fs::read_to_string(doc.join("crontab.example")).unwrap();
        let named = crontab.split_whitespace().find(|word| word.ends_with("pressroom.rules.yml.")).unwrap();
        assert!(dir.path().join(named.trim_start_matches('/').trim_end_matches('.')).exists(), "{named}");
    }
}
