//! What `pressroom check` refuses or warns of although the file can be read, and what the other commands do with it.

use std::fs;

use crate::support::site::Site;

/// A configuration whose exporter `epub` has `rule` for its title.
fn with_title(rule: &str) -> Site {
    Site::new().more(&format!("{rule}\n"))
}

#[test]
fn a_file_that_never_counts_is_refused_and_one_that_hardly_counts_is_warned_of() {
    let site = Site::new().exporter_with("true", "ttl = \"0s\"");
    let longer = "it must be a duration such as \"10m\", longer than zero, or \"none\"";
    site.run(&["check"]).exits(78).warns("\"ttl\" in [exporter.epub] is \"0s\"").warns(longer);
    let site = Site::new().head("state_dir = \"s\"\n[cache]\nttl = \"0s\"\n");
    site.run(&["check"]).exits(78).warns("\"ttl\" in [cache] is \"0s\"").warns(longer);
    let told = |extra: &str| {
        let site = Site::new().exporter_with("true", extra).create();
        site.run(&["check"]).exits(0).out()
    };
    let warning = "warning: exporter epub: its files are served for 29s, but a waiting page may pause for 30s";
    assert!(told("web = true\nttl = \"29s\"").contains(warning));
    for fine in ["web = true\nttl = \"30s\"", "ttl = \"29s\"", "web = true\nttl = \"9s\"\nstale = \"1h\""] {
        assert!(!told(fine).contains("may pause"), "{fine}");
    }
}

#[test]
fn a_pattern_that_ends_in_a_comment_means_the_same_to_check_and_to_a_request() {
    let site = with_title("pattern = \"(?x) [a-z]+ | [A-Z]{2} # letters\"").create();
    site.run(&["check"]).exits(0);
    site.ask("emma").exits(75);
    site.ask("AB").exits(75);
    for wrong in ["emmA", "ABC", "abAB", "a b"] {
        site.ask(wrong).exits(65).says("does not match");
    }
    site.tick().exits(0).stderr("");
    site.ask("emma").exits(0);
}

#[test]
fn an_alternative_matches_as_a_whole_whatever_its_order() {
    let site = with_title("pattern = \"a|ab\"").create();
    site.ask("ab").exits(75);
    site.ask("abc").exits(65);
    let site = with_title("pattern = \"a)|(b\"").create_despite_problems();
    site.run(&["check"]).exits(78).warns("is not a regular expression");
    site.ask("a").exits(78);
}

/// A title that leaves the directory has to be thought of by whoever writes the command.
#[test]
fn a_value_that_can_leave_its_directory_is_warned_of() {
    let told = |argument: &str, web: bool, rule: &str| {
        let site = Site::new();
        let more = format!(
            "[exporter.page]\nweb = {web}\ncommand = [\"/bin/cp\", \"--\", \"{argument}\", \"{{output}}\"]\n\
             filename = \"{{name}}.html\"\n[exporter.page.params.name]\n{rule}\n"
        );
        let site = site.more(&more).create();
        site.run(&["check"]).exits(0).out()
    };
    let warning = |argument: &str, value: &str| {
        format!("warning: exporter page: parameter name is part of a path in \"{argument}\" and may be \"{value}\"; ")
    };
    for argument in ["/srv/books/{name}.md", "--in=/x/{name}", "{name}/index.md", "{output}.{name}"] {
        assert!(told(argument, true, "").contains(&warning(argument, "..")), "{argument}");
    }
    let path = "/srv/{name}.md";
    for (rule, value) in
        [("pattern = '.+'", ".."), ("pattern = '[a-z]+(/[a-z]+)*'", "a/b"), ("pattern = '\\.\\./x'", "../x")]
    {
        let told = told(path, true, rule);
        assert!(told.contains(&warning(path, value)) && told.contains("make its pattern stricter"), "{rule}: {told}");
    }
    for rule in ["pattern = '[a-z0-9_.-]*[a-z]'", "one_of = ['a', 'b']", "integer = '1..9'"] {
        assert!(!told(path, true, rule).contains("part of a path"), "{rule}");
    }
    assert!(!told("{name}", true, "").contains("part of a path"));
    assert!(!told(path, false, "").contains("part of a path"));
}

const PDF: &str = r#"
[exporter.pdf]
source = "epub"
command = ["/bin/cp", "{source}", "{output}"]
filename = "{title}.pdf"
"#;

#[test]
fn nobody_with_nothing_pending_is_told_that_too_many_are_waiting() {
    let site = Site::new().more(&format!("{PDF}[queue.default]\nmax_per_client = 1\n")).create();
    let few =
        "warning: exporter pdf: max_per_client of queue default is 1, but a file and what it is made from are 2 jobs";
    site.run(&["check"]).exits(0).says(few);
    let ask = |title: &str| site.run(&["request", "pdf", &format!("title={title}"), "--client", "anna"]);
    ask("Emma").exits(75).says("queued");
    ask("Nana").exits(69).says("too many of your files are waiting already");
    assert_eq!(site.count("SELECT count(*) FROM job"), 2);
}

#[test]
fn a_queue_in_which_a_derived_format_never_finds_room_is_refused() {
    let site = Site::new().more(&format!("{PDF}[queue.default]\nmax_queued = 1\n")).create_despite_problems();
    let short =
        "exporter pdf: max_queued of queue default is 1, but a file and what it is made from are 2 jobs; raise it";
    site.run(&["check"]).exits(78).warns(short);
}

#[test]
fn a_wrong_word_in_a_list_is_named_at_its_place() {
    let site = Site::new().more("[notify]\ncommand = [\"/bin/true\"]\non = [\"failed\", \"okay\"]\n");
    site.run(&["check"])
        .exits(78)
        .warns(":16:17: \"on\" in [notify] has \"okay\"; it must be a list of \"failed\" and \"ok\"");
    let site = Site::new().more("[status]\nadmins = [\"anna\", 7]\n");
    site.run(&["check"]).exits(78).warns("\"admins\" in [status] has 7; it must be a list of strings");
    let site = Site::new().exporter_with("true", "retry_on = [\"time-out\"]");
    site.run(&["check"])
        .exits(78)
        .warns("\"retry_on\" in [exporter.epub] has \"time-out\"; it must be a list of \"timeout\"");
    let site = Site::new().more("[http]\nfailed_status = [200, 504]\n");
    site.run(&["check"]).exits(78).warns("\"failed_status\" in [http] is [200, 504]; it must be two HTTP status codes");
}

#[test]
fn a_broken_database_is_refused_with_its_path() {
    let site = Site::new().create();
    let database = site.path("s/queue/pressroom.db");
    for beside in ["pressroom.db-wal", "pressroom.db-shm"] {
        fs::remove_file(site.path("s/queue").join(beside)).unwrap();
    }
    let whole = fs::read(&database).unwrap();
    let path = format!("{}: ", database.display());
    let each = |sentence: &str| {
        let words: [&[&str]; 5] =
            [&["check"], &["request", "epub", "title=Emma"], &["tick", "--allow-root"], &["jobs", "list"], &["status"]];
        for words in words {
            let done = site.run(words);
            let told = done.out() + &done.err();
            assert!(told.contains(&path) && told.contains(sentence), "{words:?}: {told}");
        }
        site.run(&["tick", "--dry-run", "--allow-root"]).warns(&path);
    };
    fs::write(&database, "nonsense".repeat(1000)).unwrap();
    each("not a database of pressroom");
    let mut torn = whole;
    torn[100..1000].fill(0xee); // the schema's page
    fs::write(&database, torn).unwrap();
    site.run(&["check"]).exits(78).warns(&path);
}

#[test]
fn a_site_made_for_a_group_of_many_is_warned_of() {
    if !crate::support::outside::is_root("a_site_made_for_a_group_of_many_is_warned_of", "this is not root") {
        return;
    }
    // Users that every Debian has: the group of nobody is that of sync as well, and daemon has one of its own.
    let made = |words: &[&str]| {
        let site = Site::new();
        fs::set_permissions(site.dir(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let told = site.run(&[&["check", "--create"], words].concat());
        told.exits(0).stderr("").out()
    };
    assert!(made(&["--user", "sync"]).contains("s is shared with group nogroup, which "));
    assert!(!made(&["--user", "daemon"]).contains("shared with group"));
    assert!(!made(&["--user", "sync", "--group", "nogroup"]).contains("shared with group"));
}

/// What is wrong with the configuration is no job's fault.
#[test]
fn a_broken_pattern_uses_up_no_job() {
    let rules = |pattern: &str| {
        format!(
            "pattern = \"{pattern}\"\n{PDF}[exporter.note]\ncommand = [\"/bin/sh\", \"-c\", \"echo x >\\\"$1\\\"\", \"sh\", \"{{output}}\"]\n\
             filename = \"note.txt\"\n[schedule.emma]\nexporter = \"epub\"\nevery = \"1h\"\nparams.title = \"Emma\"\n"
        )
    };
    let site = Site::new().more(&rules("[A-Za-z]+")).create();
    for title in ["Nana", "Faust", "Dune"] {
        site.ask(title).exits(75);
    }
    site.run(&["request", "pdf", "title=Nana"]).exits(75);
    site.run(&["request", "note"]).exits(75);
    let site = site.more(&rules("[A-Za-z+"));
    let why = "exporter epub: the pattern \"[A-Za-z+\" of parameter title is not a regular expression: unclosed character class";
    site.run(&["check"]).exits(78).warns(why);
    site.run(&["tick", "--dry-run", "--allow-root"]).exits(0).says(&format!(": {why}")).says("note");
    let told = site.tick();
    told.exits(0).warns(why).warns("exporter pdf: ");
    assert_eq!(told.err().matches(why).count(), 1);
    site.run(&["request", "note"]).exits(0);
    assert_eq!(site.count("SELECT count(*) FROM job WHERE status = 0 AND attempts = 0"), 4);
    assert_eq!(site.count("SELECT count(*) FROM attempt WHERE exporter = 'epub'"), 0);
    site.run(&["status"]).exits(2).says(&format!("critical: {why}"));
    let lingering = site.run(&["tick", "--allow-root", "--for", "100ms"]);
    assert_eq!(lingering.exits(0).err().matches(why).count(), 1, "{}", lingering.err());
    let site = site.more(&rules("[A-Za-z]+"));
    site.tick().exits(0).stderr("");
    site.tick();
    for title in ["Emma", "Nana", "Faust", "Dune"] {
        site.ask(title).exits(0);
    }
    site.run(&["request", "pdf", "title=Nana"]).exits(0);
}

#[test]
fn a_tick_that_can_run_nothing_says_so_by_its_exit_status() {
    let site = Site::new().create();
    site.ask("Emma").exits(75);
    let site = site.more("pattern = \"(\"\n");
    for words in [
        &["tick", "--allow-root"] as &[&str],
        &["tick", "--allow-root", "--for", "50ms"],
        &["tick", "--dry-run", "--allow-root"],
    ] {
        site.run(words).exits(78);
    }
    assert_eq!(site.count("SELECT count(*) FROM job WHERE status = 0 AND attempts = 0"), 1);
    let site = site.more("");
    site.tick().exits(0).stderr("");
    site.ask("Emma").exits(0);
}
