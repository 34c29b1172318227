//! What an administrator meets in the first week.

use std::path::Path;

use crate::{
    site::Site,
    users::{WEB, become_and_run, shared_site, two_users},
};

#[test]
fn a_parameter_is_required_unless_it_has_a_default() {
    let params = "[exporter.plain]\ncommand = [\"/bin/true\"]\nfilename = \"{title}-{lang}-{font}.txt\"\n\
                  [exporter.plain.params.title]\n[exporter.plain.params.lang]\ndefault = \"en\"\n\
                  [exporter.plain.params.font]\nrequired = false\n";
    let site = Site::new().more(params).create();
    site.run(&["request", "plain"]).exits(65).stdout("invalid parameter title is missing\n");
    site.run(&["request", "plain", "title="]).exits(65).stdout("invalid parameter title is missing\n");
    site.run(&["request", "plain", "title=Emma"]).exits(75);
    assert_eq!(site.text("SELECT filename FROM job"), "plain/Emma-en-%.txt");
}

/// Everybody but the members of its group is shut out of a site, the administrator's own login as well.
#[test]
fn a_user_outside_the_group_is_told_which_one_to_join() {
    if !two_users("a_user_outside_the_group_is_told_which_one_to_join") {
        return;
    }
    let (site, program) = shared_site(r#"printf book >"$1""#);
    let advice = "daemon is not in group prtest";
    let command = "`sudo usermod -aG prtest daemon`) and log in again";
    for words in [
        "request epub title=Emma",
        "request epub title=Emma --wait 1s",
        "jobs list",
        "jobs retry --status failed --yes",
        "queues list",
        "status",
        "check",
        "tick",
        "tick --dry-run",
        "try epub title=Emma",
    ] {
        let done = become_and_run(&site, &program, "daemon", "022", words);
        let told = format!("{}{}", done.out(), done.err());
        for part in ["ermission denied", advice, command] {
            assert!(told.contains(part), "no {part:?} in {told} of {words}");
        }
        assert_eq!(told.matches("usermod").count(), 1, "{told}");
    }
    let told = become_and_run(&site, &program, "daemon", "022", "request epub title=Emma --format json");
    assert!(told.json()["reason"].as_str().is_some_and(|reason| reason.contains(command)), "{}", told.out());
    for words in ["tick", "try epub title=Emma"] {
        become_and_run(&site, &program, "daemon", "022", words).warns("sudo -u prtest-cron");
        become_and_run(&site, &program, WEB, "022", words).warns("sudo -u prtest-cron");
    }
    let site = site.exporter_with("true", "web = true");
    let cgi = "env REQUEST_METHOD=GET PATH_INFO=/epub QUERY_STRING=title=Emma";
    let cgi = format!("{cgi} {}", program.display());
    become_and_run(&site, Path::new(&cgi), "daemon", "022", "request --cgi").says("Status: 500").warns(command);
    become_and_run(&site, &program, WEB, "022", "request epub title=Emma").exits(75).stderr("");
}

/// `1GB` was read back as 953.7 MiB.
#[test]
fn sizes_are_shown_in_the_units_in_which_they_are_written() {
    let head = "state_dir = \"s\"\n[cache]\nmin_free = \"0B\"\nmax_size = \"10GB\"\n[host]\nmin_free_memory = \"0B\"\n";
    let limits = "limits.memory = \"300MB\"\nlimits.file_size = \"512MiB\"\nlimits.work_size = \"1.25GB\"";
    let site = Site::new().head(head).exporter_with(r#"head -c 300000 /dev/zero >"$1""#, limits).create();
    site.run(&["status"]).says("0 B of 10 GB");
    let tried = site.run(&["try", "--allow-root", "epub", "title=Emma"]);
    tried.exits(0).says("B of 300 MB\n").says("largest file: 300 kB of 512 MiB\n").says(" of 1.25 GB\n");
    site.ask("Emma");
    site.tick();
    site.run(&["status"]).says("1 file, 300 kB of 10 GB");
    site.run(&["jobs", "show", "epub/Emma.epub"]).says("fresh, 300 kB").says(" of 300 MB");
    let low = head.replace("min_free = \"0B\"\nmax", "min_free = \"8EB\"\nmax");
    let site = site.head(&low);
    site.run(&["status"]).exits(2).says("less than min_free (8 EB)").says("at least 8 EB wanted");
    site.run(&["check"]).says("min_free (8 EB)");
    for words in [&["status"][..], &["check"]] {
        let shown = site.run(words).out();
        assert!(!shown.contains("iB"), "{shown}");
    }
}
