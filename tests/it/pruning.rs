//! What prune takes and what it leaves: ttl, grace, size, and nothing that is not ours (invariants 7 to 9).

use std::{
    fs,
    os::unix::fs::symlink,
    path::Path,
    time::{Duration, SystemTime},
};

use crate::support::site::Site;

fn with_cache(settings: &str) -> Site {
    let head = format!("state_dir = \"s\"\n[cache]\nmin_free = \"0B\"\n{settings}\n[host]\nmin_free_memory = \"0B\"\n");
    Site::new().head(&head).create()
}

#[track_caller]
fn make(site: &Site, title: &str) {
    site.ask(title).exits(75);
    site.tick().exits(0).stderr("");
}

/// Puts a file of our grammar there, made so many seconds ago.
fn put(site: &Site, filename: &str, bytes: usize, age: u64) {
    let path = site.cached(filename);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, vec![b'x'; bytes]).unwrap();
    set_age(&path, age);
}

fn set_age(path: &Path, age: u64) {
    let file = fs::File::options().write(true).open(path).unwrap();
    file.set_modified(SystemTime::now() - Duration::from_secs(age)).unwrap();
}

/// A first round, after which the clock is known.
fn settle(site: &Site) {
    site.tick().exits(0).stderr("");
}

#[test]
fn a_file_is_served_for_ttl_and_kept_for_grace() {
    let site = with_cache("ttl = \"10m\"\ngrace = \"2m\"");
    settle(&site);
    put(&site, "epub/Fresh.epub", 5, 590);
    put(&site, "epub/Old.epub", 5, 610);
    put(&site, "epub/Gone.epub", 5, 721);
    site.ask("Fresh").exits(0);
    site.run(&["request", "epub", "title=Old", "--no-enqueue"]).exits(66);
    site.tick().exits(0).stdout("").stderr("");
    assert_eq!(site.names("s/cache/epub"), ["Fresh.epub", "Old.epub"]);
}

#[test]
fn an_exporter_may_keep_its_files_longer_or_for_ever() {
    let site = Site::new().exporter_with(r#"echo >"$1""#, "ttl = \"1h\"\nstale = \"1h\"").more(
        "[exporter.ever]\ncommand = [\"true\"]\nfilename = \"ever-{n}.txt\"\nttl = \"none\"\n[exporter.ever.params.n]\n",
    );
    let site = site.create();
    settle(&site);
    put(&site, "epub/Fresh.epub", 5, 3500);
    put(&site, "epub/Stale.epub", 5, 7300);
    put(&site, "epub/Gone.epub", 5, 7400);
    put(&site, "ever/ever-1.txt", 5, 9_000_000);
    put(&site, "gone-exporter/x.txt", 5, 9_000_000);
    site.run(&["request", "ever", "n=1"]).exits(0);
    site.tick().exits(0).stderr("");
    assert_eq!(site.names("s/cache/epub"), ["Fresh.epub", "Stale.epub"]);
    assert_eq!(site.names("s/cache/ever"), ["ever-1.txt"]);
    assert_eq!(site.names("s/cache/gone-exporter"), [""; 0]);
    let answer = site.run(&["request", "ever", "n=1", "--format", "json"]).exits(0).json();
    assert!(answer.get("expires_at").is_none());
}

#[test]
fn beyond_max_size_the_oldest_go_first_but_none_younger_than_grace() {
    let site = with_cache("ttl = \"1d\"\ngrace = \"2m\"\nmax_size = \"10KB\"");
    settle(&site);
    for (name, age) in [("a", 500), ("b", 400), ("c", 300), ("d", 110), ("e", 100)] {
        put(&site, &format!("epub/{name}.epub"), 4000, age);
    }
    let served = |title: &str| {
        site.run(&["request", "epub", &format!("title={title}"), "--no-enqueue"]).output.status.code() == Some(0)
    };
    site.tick().exits(0).stderr("");
    assert_eq!(["a", "b", "c", "d", "e"].map(served), [false, false, false, true, true]);
    assert_eq!(site.names("s/cache/epub").len(), 5, "somebody may have been told of them just now");
    for title in ["a", "b", "c"] {
        let path = site.cached(&format!("epub/{title}.epub"));
        let made = fs::metadata(&path).unwrap().modified().unwrap();
        fs::File::open(&path).unwrap().set_modified(made - Duration::from_mins(2)).unwrap();
    }
    site.tick().exits(0).stderr("");
    assert_eq!(site.names("s/cache/epub"), ["d.epub", "e.epub"]);
    for (name, age) in [("f", 90), ("g", 80)] {
        put(&site, &format!("epub/{name}.epub"), 4000, age);
    }
    site.tick().exits(0).stderr("");
    assert_eq!(site.names("s/cache/epub").len(), 4, "all are younger than grace");
}

#[test]
fn a_file_that_has_a_job_or_is_the_source_of_one_stays() {
    let pdf = "[exporter.pdf]\nsource = \"epub\"\ncommand = [\"/bin/cp\", \"{source}\", \"{output}\"]\nfilename = \"{title}.pdf\"\n[exporter.pdf.params.title]\nrequired = true\n";
    let site = Site::new().more(pdf).create();
    settle(&site);
    put(&site, "epub/Emma.epub", 5, 10);
    site.run(&["request", "pdf", "title=Emma"]).exits(75);
    put(&site, "epub/Nana.epub", 5, 800);
    site.ask("Nana").exits(75);
    set_age(&site.cached("epub/Emma.epub"), 800);
    site.database()
        .execute(
            "INSERT INTO queue (name, mode) VALUES ('default', 'paused') ON CONFLICT DO UPDATE SET mode = 'paused'",
            [],
        )
        .unwrap();
    site.tick().exits(0).stderr("");
    assert_eq!(site.names("s/cache/epub"), ["Emma.epub", "Nana.epub"]);
    site.database().execute("DELETE FROM job", []).unwrap();
    site.tick().exits(0).stderr("");
    assert_eq!(site.names("s/cache/epub"), [""; 0]);
}

/// Only regular files with names of our grammar, never through a link; one bad entry never stops the rest.
#[test]
fn what_is_not_ours_is_left_alone() {
    let site = with_cache("ttl = \"10m\"\nmax_size = \"1B\"");
    settle(&site);
    let outside = site.path("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("Precious.epub"), "x").unwrap();
    set_age(&outside.join("Precious.epub"), 90_000);
    put(&site, "epub/Old.epub", 5, 90_000);
    let dir = site.path("s/cache/epub");
    for foreign in [".hidden", "-dash", "half~hash.epub", "tab\tin it", "right-to-left\u{202e}.epub", ".nfs0001"] {
        put(&site, &format!("epub/{foreign}"), 5, 90_000);
    }
    put(&site, "NotAnExporter/Old.epub", 5, 90_000);
    put(&site, "epub/sub/Old.epub", 5, 90_000);
    fs::write(site.path("s/cache/README"), "x").unwrap();
    set_age(&site.path("s/cache/README"), 90_000);
    symlink(outside.join("Precious.epub"), dir.join("Link.epub")).unwrap();
    symlink(&outside, site.path("s/cache/linked")).unwrap();
    nix::unistd::mkfifo(&dir.join("Fifo.epub"), nix::sys::stat::Mode::S_IRUSR).unwrap();
    let mut before = site.names("s/cache/epub");
    site.tick().exits(0).stdout("").stderr("");
    before.retain(|name| name != "Old.epub");
    assert_eq!(site.names("s/cache/epub"), before);
    assert_eq!(site.names("s/cache"), ["NotAnExporter", "README", "epub", "linked"]);
    assert_eq!(site.names("s/cache/NotAnExporter"), ["Old.epub"]);
    assert_eq!(site.names("outside"), ["Precious.epub"]);
}

/// A link, a FIFO and a directory in the place of a file are no file; a run replaces what it can, and says what it cannot.
#[test]
fn what_lies_in_the_place_of_a_file_is_not_served() {
    let site = Site::new().create();
    settle(&site);
    let dir = site.path("s/cache/epub");
    fs::create_dir(&dir).unwrap();
    symlink("/etc/passwd", dir.join("Link.epub")).unwrap();
    nix::unistd::mkfifo(&dir.join("Fifo.epub"), nix::sys::stat::Mode::S_IRUSR).unwrap();
    fs::create_dir(dir.join("Dir.epub")).unwrap();
    for title in ["Link", "Fifo", "Dir"] {
        site.ask(title).exits(75);
    }
    site.tick().exits(0);
    site.ask("Link").exits(0);
    site.ask("Fifo").exits(0);
    site.ask("Dir").exits(70).stdout("failed_unknown the export failed\n");
    site.mailed().exits(0).warns(
        "epub/Dir.epub) failed: no_output, cannot publish the output: cache/epub/Dir.epub is a directory; move it away",
    );
    assert!(fs::metadata("/etc/passwd").unwrap().len() > 5, "nothing is written through a link");
    assert_eq!(site.names("s/cache/epub"), ["Dir.epub", "Fifo.epub", "Link.epub"]);
    assert_eq!(site.names("s/work"), [""; 0]);
}

/// Without the marker a directory is not ours, whatever it holds.
#[test]
fn nothing_is_touched_in_a_directory_that_has_lost_its_marker() {
    let site = Site::new().create();
    settle(&site);
    put(&site, "epub/Old.epub", 5, 90_000);
    fs::remove_file(site.path("s/.pressroom")).unwrap();
    site.tick().exits(78).warns("is not a state directory of pressroom");
    assert_eq!(site.names("s/cache/epub"), ["Old.epub"]);
}

#[test]
fn a_new_file_is_read_only_and_belongs_to_the_caches_group() {
    use std::os::unix::fs::MetadataExt;
    let site = Site::new().create();
    make(&site, "Emma");
    let about = fs::metadata(site.cached("epub/Emma.epub")).unwrap();
    assert_eq!(about.mode() & 0o7777, 0o440);
    assert_eq!(about.gid(), fs::metadata(site.path("s/cache")).unwrap().gid());
    assert_eq!(fs::metadata(site.path("s/cache/epub")).unwrap().mode() & 0o7777, 0o2750);
}
