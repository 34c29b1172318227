//! `check` names what is wrong with queues, lanes, sources and schedules, and says where.

use crate::support::site::Site;

const LANG: &str = "[exporter.epub.params.lang]\npattern = \"[a-z]+\"\ndefault = \"en\"\n";

/// What `check` says about a site with this at the end of its configuration.
#[track_caller]
fn refused(more: &str, sentence: &str) {
    let site = Site::new().more(more);
    site.run(&["check", "--create", "--allow-root"]).exits(78).warns(sentence);
}

/// Another exporter that makes a file of a title.
fn exporter(name: &str, extra: &str) -> String {
    format!(
        "[exporter.{name}]\ncommand = [\"/bin/cp\", \"{{title}}\", \"{{output}}\"]\nfilename = \"{{title}}.txt\"\n{extra}\n\
         [exporter.{name}.params.title]\nrequired = true\n"
    )
}

fn derived(name: &str, source: &str) -> String {
    exporter(name, &format!("source = \"{source}\""))
}

#[test]
fn a_queue_that_is_not_configured() {
    refused(&exporter("x", "queue = \"fast\""), "\"fast\", but there is no [queue.fast]");
}

#[test]
fn a_lane_that_leads_to_a_queue_that_is_not_configured() {
    refused("[[exporter.epub.lane]]\nqueue = \"fast\"\nwhen = { title = \"x\" }\n", "there is no [queue.fast]");
}

#[test]
fn a_lane_on_a_parameter_that_does_not_exist() {
    let lane = "[queue.fast]\n[[exporter.epub.lane]]\nqueue = \"fast\"\nwhen = { pages = \"..20\" }\n";
    refused(lane, "\"pages\", which is not a parameter");
}

#[test]
fn a_lane_by_a_range_of_what_is_no_number() {
    let lane = "[queue.fast]\n[[exporter.epub.lane]]\nqueue = \"fast\"\nwhen = { lang = \"..20\" }\n";
    refused(&format!("{lane}{LANG}"), "not an integer");
}

#[test]
fn sources_that_lead_in_a_circle() {
    let circle = [derived("a", "b"), derived("b", "c"), derived("c", "a")].concat();
    refused(&circle, "leads back to its own exporter: a from b from c from a");
    refused(&derived("me", "me"), "leads back to its own exporter: me from me");
}

#[test]
fn a_source_that_does_not_exist_or_makes_no_file() {
    refused(&derived("pdf", "epup"), "\"epup\", which is not an exporter; did you mean \"epub\"?");
    let task = "[exporter.task]\noutput = \"none\"\ncommand = [\"/bin/true\"]\n";
    refused(&format!("{task}{}", derived("pdf", "task")), "which makes no file");
}

#[test]
fn a_parameter_of_the_source_that_the_derived_format_lacks() {
    refused(&format!("{LANG}{}", derived("pdf", "epub")), "parameter \"lang\" is missing in [exporter.pdf.params]");
}

#[test]
fn an_interval_of_nothing() {
    refused(
        "[schedule.x]\nexporter = \"epub\"\nparams = { title = \"x\" }\nevery = \"0s\"\n",
        "\"every\" in [schedule.x]",
    );
}

#[test]
fn a_schedule_whose_parameters_do_not_fit() {
    refused("[schedule.x]\nexporter = \"epub\"\nevery = \"1m\"\n", "parameter title is missing");
    refused(
        "[schedule.x]\nexporter = \"epup\"\nevery = \"1m\"\n",
        "there is no [exporter.epup]; did you mean \"epub\"?",
    );
}

#[test]
fn a_queue_that_wants_more_than_the_host_has() {
    let site = Site::new().more("[queue.big]\nmax_running = 9\n").create();
    site.run(&["check"]).exits(0).says("warning: queue big: max_running is 9, but the host never runs more than 8");
}

#[test]
fn all_of_them_at_once_each_with_its_place() {
    let site = Site::new().more("[schedule.x]\nexporter = \"epub\"\nevery = \"0s\"\n[queue.big]\nmax_runing = 9\n");
    let done = site.run(&["check"]);
    let said = done.exits(78).err();
    assert!(said.lines().all(|line| line.contains("pressroom.toml:")), "{said}");
    assert!(said.lines().count() >= 2, "{said}");
}
