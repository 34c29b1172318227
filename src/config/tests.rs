use std::time::Duration;

use super::*;
use crate::model::{limits::Limits, status::Outcome};

/// The smallest exporter that makes a file, for tests that are about something else.
pub(super) const BOOK: &str = r#"
[exporter.epub]
command = ["bin/export-book", "--title", "{title}", "{output}"]
filename = "{title}.epub"
[exporter.epub.params.title]
required = true
"#;

pub(super) fn config(text: &str) -> Config {
    parse(Path::new("/etc/pressroom/pressroom.toml"), text).unwrap_or_else(|error| panic!("{error}"))
}

/// The problems as `line:column: message`.
pub(super) fn problems(text: &str) -> Vec<String> {
    let error = parse(Path::new("/etc/p.toml"), text).expect_err("the file is wrong");
    error.to_string().lines().map(|line| line.strip_prefix("/etc/p.toml:").unwrap().to_owned()).collect()
}

#[track_caller]
fn has_problem(text: &str, wanted: &str) {
    let found = problems(text);
    assert_eq!(found, [wanted], "in {text}");
}

const EVERYTHING: &str = r#"
state_dir = "/var/lib/pressroom"
database  = "queue/pressroom.db"
retry_max_delay = "1h"
[cache]
ttl = "10m"
grace = "2m"
stale = "none"
max_size = "10GB"
min_free = "1GB"
[host]
max_running = 8
min_free_memory = "512MB"
[queue.default]
max_running = 4
max_queued = 500
max_per_client = 10
[http]
enqueue_on = "get"
client = "REMOTE_ADDR"
max_wait = "0s"
max_waiters = 4
refresh = "off"
failed_status = [500, 504]
sendfile = "off"
templates = "none"
[exporter.epub]
web = true
output = "file"
command = ["bin/export-book", "--title", "{title}", "--lang", "{lang}", "--output", "{output}"]
filename = "{title}-{lang}-{font}.epub"
content_type = "application/epub+zip"
min_size = "1B"
magic = "504b0304"
ends_with = "504b0506"
queue = "default"
timeout = "5m"
kill_after = "5s"
max_attempts = 2
retry_delay = "30s"
retry_on = ["timeout", "cpu", "memory", "lost", "signal", "temporary"]
escalate = 2.0
limits_max = { timeout = "20m", memory = "8GB", cpu = "16m", file_size = "800MB", work_size = "4GB" }
failure_ttl = "5m"
failure_keep = "1d"
queued_ttl = "1h"
abandon_after = "none"
breaker = { failures = 5, pause = "5m" }
env = { OMP_NUM_THREADS = "1" }
wrapper = ["nice", "--", "{work}"]
log_max = "64KiB"
ttl = "10m"
stale = "none"
[exporter.epub.limits]
memory = "2GB"
cpu = "4m"
file_size = "200MB"
work_size = "1GB"
open_files = 1024
data = "none"
address_space = "none"
processes = "none"
[exporter.epub.params.title]
required = true
max_bytes = 255
[exporter.epub.params.lang]
pattern = "[a-z][a-z-]{1,11}"
[exporter.epub.params.font]
one_of = ["", "serif", "libertine"]
default = ""
[exporter.epub.params.pages]
integer = "1..100000"
key = false
[[exporter.epub.lane]]
queue = "express"
when = { pages = "..20" }
[queue.express]
[exporter.pdf]
source = "epub"
command = ["ebook-convert", "{source}", "{output}"]
filename = "{title}-{lang}-{font}.pdf"
[exporter.reindex]
output = "none"
command = ["bin/reindex", "{scope}"]
params = { scope = { one_of = ["all", "changed"] } }
[schedule.reindex]
exporter = "reindex"
params = { scope = "changed" }
every = "17s"
[notify]
command = ["bin/notify"]
on = ["failed"]
[status]
public = false
admins = []
[history]
keep = "30d"
keep_ok_logs = "1d"
"#;

#[test]
fn every_documented_default_is_the_default() {
    let (full, bare) = (config(EVERYTHING), config(&format!("{BOOK}[notify]\ncommand = [\"bin/notify\"]\n")));
    assert_eq!(full.state_dir, bare.state_dir);
    assert_eq!(full.database, bare.database);
    assert_eq!((&full.cache, &full.host, &full.http), (&bare.cache, &bare.host, &bare.http));
    assert_eq!(full.queues["default"], bare.queues["default"]);
    assert_eq!((&full.status, &full.history, &full.notify), (&bare.status, &bare.history, &bare.notify));
    assert_eq!(without_own_values(&full.exporters["epub"]), without_own_values(&bare.exporters["epub"]));
}

/// All of an exporter that has a default, as text.
fn without_own_values(exporter: &Exporter) -> String {
    let mut rest = exporter.clone();
    (rest.command, rest.wrapper, rest.params, rest.lanes) = Default::default();
    (rest.env, rest.filename, rest.web) = Default::default();
    if let Output::File(file) = &mut rest.output {
        (file.magic, file.ends_with) = Default::default();
    }
    format!("{rest:?}")
}

#[test]
fn an_exporter_keeps_what_the_file_says() {
    let config = config(EVERYTHING);
    let epub = &config.exporters["epub"];
    assert_eq!(epub.command[0], "/etc/pressroom/bin/export-book");
    assert_eq!(epub.params.iter().map(|param| &*param.name).collect::<Vec<_>>(), ["title", "lang", "font", "pages"]);
    assert_eq!(epub.file().unwrap().magic, b"PK\x03\x04");
    assert_eq!(epub.lanes[0].when, [("pages".to_owned(), Condition::Range(None, Some(20)))]);
    assert_eq!(epub.env["OMP_NUM_THREADS"], "1");
    assert!(epub.web && !config.exporters["pdf"].web);
}

#[test]
fn limits_may_grow_to_four_times_their_size() {
    let config = config(&format!("{BOOK}[exporter.epub.limits]\nmemory = \"3GB\"\ncpu = \"none\"\n"));
    let most = &config.exporters["epub"].limits_max;
    let Limits { timeout, memory, cpu, open_files, .. } = *most;
    assert_eq!(timeout, Duration::from_secs(1200));
    assert_eq!((memory, cpu, open_files), (Some(12_000_000_000), None, Some(1024)));
}

#[test]
fn a_task_has_a_queue_of_its_own_and_retries_little() {
    let config = config(EVERYTHING);
    let task = &config.exporters["reindex"];
    assert!(task.is_task() && task.retry_temporary && task.retry_on.is_empty());
    assert_eq!((&*task.queue, config.queues["reindex"].max_running), ("reindex", 1));
}

#[test]
fn a_derived_format_without_parameters_has_those_of_its_source() {
    let config = config(EVERYTHING);
    assert_eq!(config.exporters["pdf"].params, config.exporters["epub"].params);
    assert_eq!(config.exporters["pdf"].file().unwrap().content_type, "application/pdf");
}

#[test]
fn the_content_type_follows_the_extension() {
    let of = |name: &str| {
        let text = BOOK.replace("{title}.epub", name);
        config(&text).exporters["epub"].file().unwrap().content_type.clone()
    };
    assert_eq!(of("{title}.epub"), "application/epub+zip");
    assert_eq!(of("{title}.tar.gz"), "application/gzip");
    assert_eq!(of("{title}.wonder"), "application/octet-stream");
}

#[test]
fn relative_paths_start_beside_the_file() {
    let config = config("state_dir = 'state'\ndatabase = 'db/x.db'\n[http]\ntemplates = './pages'\n");
    assert_eq!(config.state_dir, Path::new("/etc/pressroom/state"));
    assert_eq!(config.database, Path::new("/etc/pressroom/state/db/x.db"));
    assert_eq!(config.http.templates.as_deref(), Some(Path::new("/etc/pressroom/pages")));
}

#[test]
fn an_exporter_takes_its_times_from_the_cache() {
    let top = "retry_max_delay = '9m'\n[cache]\nttl = 'none'\nstale = '1d'\n";
    let config = config(&format!("{top}{BOOK}"));
    let epub = &config.exporters["epub"];
    assert_eq!((epub.ttl, epub.stale), (None, Duration::from_secs(86400)));
    assert_eq!(epub.retry_max_delay, Duration::from_secs(540));
}

#[test]
fn retry_on_takes_outcomes_and_temporary() {
    let config = config(&BOOK.replace("filename", "retry_on = ['exit', 'no_output']\nfilename"));
    let epub = &config.exporters["epub"];
    assert_eq!((&epub.retry_on[..], epub.retry_temporary), (&[Outcome::Exit, Outcome::NoOutput][..], false));
}

#[test]
fn all_mistakes_are_told_at_once_with_their_places() {
    let text = "[cache]\nttll = \"1m\"\n  grace = 7\n[quue.a]\n[host]\nmax_running = 0\n";
    assert_eq!(
        problems(text),
        [
            "2:1: unknown key \"ttll\" in [cache]; did you mean \"ttl\"?",
            "3:11: \"grace\" in [cache] is 7; it must be a duration such as \"10m\"",
            "4:2: unknown key \"quue\"; did you mean \"queue\"?",
            "6:15: \"max_running\" in [host] is 0; it must be an integer from 1 to 1000000",
        ]
    );
}

#[test]
fn columns_count_characters() {
    has_problem("cache = { \"é😀\" = 1 }", "1:11: unknown key \"é😀\" in [cache]");
}

#[test]
fn all_syntax_mistakes_are_told() {
    let found = problems("a = \n[cache\nttl = \"1m\n");
    assert!(found.len() > 1 && found[0].starts_with("1:"), "{found:?}");
    assert!(problems("[cache]\nttl = '1m'\nttl = '2m'\n")[0].starts_with("3:1:"));
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("p.toml");
    let missing = load(&file).unwrap_err().to_string();
    assert_eq!(missing, format!("{}: no such file; name one by --config or PRESSROOM_CONFIG", file.display()));
    std::fs::write(&file, b"[cache]\nttl = '\xff'\n").unwrap();
    assert!(load(&file).unwrap_err().to_string().ends_with(":2:8: this is not valid UTF-8"));
    assert!(load(dir.path()).unwrap_err().to_string().contains("cannot read the configuration"));
}

#[test]
fn a_wrong_value_is_shown_with_what_it_must_be() {
    has_problem(
        "database = 'postgres://db'",
        "1:12: \"database\" is \"postgres://db\"; it must be a path; PostgreSQL is not available yet",
    );
    has_problem(
        "[cache]\nmax_size = '10'",
        "2:12: \"max_size\" in [cache] is \"10\"; it must be a size with its unit, such as \"512MB\"",
    );
    has_problem(
        "[http]\nenqueue_on = 'put'",
        "2:14: \"enqueue_on\" in [http] is \"put\"; it must be \"get\" or \"post\"",
    );
    has_problem(
        "[http]\nsendfile = 'x-accel-redirect:no'",
        "2:12: \"sendfile\" in [http] is \"x-accel-redirect:no\"; it must be \"off\", \"x-sendfile\" or \"x-accel-redirect:/internal\"",
    );
    for wrong in ["[500]", "[200, 504]", "[500, 600]", "500", "['500', 504]"] {
        assert!(problems(&format!("[http]\nfailed_status = {wrong}"))[0].contains("two HTTP status codes"));
    }
    has_problem("cache = 5", "1:9: \"cache\" is 5; it must be a table");
    has_problem("[queue]\ndefault = 5", "2:1: \"default\" in [queue] is 5; it must be a table: [queue.default]");
    has_problem("[queue.Big]", "1:8: \"Big\" cannot be the name of a queue");
    has_problem(
        "[notify]\ncommand = ['x']\non = ['never']",
        "3:6: \"on\" in [notify] is a list; it must be a list of \"failed\" and \"ok\"",
    );
}

/// The one problem of the smallest exporter when `extra` stands in its table.
fn with(extra: &str) -> String {
    let found = problems(&BOOK.replace("[exporter.epub.params", &format!("{extra}\n[exporter.epub.params")));
    assert_eq!(found.len(), 1, "{found:?}");
    found[0].clone()
}

#[test]
fn mistakes_of_an_exporter_are_named() {
    let cases = [
        (
            "queue = 'expres'\n[queue.express]",
            "5:9: \"queue\" in [exporter.epub] is \"expres\", but there is no [queue.expres]; did you mean \"express\"?",
        ),
        ("magic = '504'", "5:9: \"magic\" in [exporter.epub] is \"504\"; it must be pairs of hexadecimal digits"),
        ("output = 'nothing'", "5:10: \"output\" in [exporter.epub] is \"nothing\"; it must be \"file\" or \"none\""),
        ("escalate = 0.5", "5:12: \"escalate\" in [exporter.epub] is 0.5; it must be a factor from 1 to 1000"),
        (
            "timeout = '0s'",
            "5:11: \"timeout\" in [exporter.epub] is \"0s\"; it must be a duration such as \"10m\", longer than nothing",
        ),
        (
            "limits_max = { memory = '1GB' }",
            "5:25: \"memory\" in [exporter.epub.limits_max] is smaller than the limit of the first attempt",
        ),
        (
            "limits = { memory = '0B' }",
            "5:21: \"memory\" in [exporter.epub.limits] is nothing at all, so that no program could run; \"none\" is no limit",
        ),
        (
            "env = { PRESSROOM_ATTEMPT = 'x' }",
            "5:29: \"PRESSROOM_ATTEMPT\" in [exporter.epub.env] is set by Pressroom itself",
        ),
        ("env = { N = 1 }", "5:13: \"N\" in [exporter.epub.env] is 1; it must be a string"),
        (
            "source = 'epbu'",
            "5:10: \"source\" in [exporter.epub] is \"epbu\", which is not an exporter; did you mean \"epub\"?",
        ),
        ("source = 'epub'", "5:10: \"source\" in [exporter.epub] leads back to itself: epub from epub"),
        (
            "wrapper = ['nice', '{wrok}']",
            "5:11: \"wrapper\" in [exporter.epub] has the unknown placeholder {wrok}; did you mean \"work\"?",
        ),
        (
            "wrapper = ['{work}/run']",
            "5:11: \"wrapper\" in [exporter.epub] begins with \"{work}/run\", but the program itself cannot be a placeholder",
        ),
        (
            "content_type = 'epub'",
            "5:16: \"content_type\" in [exporter.epub] is \"epub\"; it must be a media type such as \"application/pdf\"",
        ),
        ("lane = 5", "5:8: \"lane\" in [exporter.epub] is 5; it must be a list of tables: [[exporter.epub.lane]]"),
    ];
    for (extra, wanted) in cases {
        assert_eq!(with(extra), wanted);
    }
    assert!(with("retry_on = ['shutdown']").starts_with("5:12: \"retry_on\""));
}

#[test]
fn mistakes_of_templates_are_named() {
    let file = |template: &str| problems(&BOOK.replace("{title}.epub", template)).join("|");
    let place = "4:12: \"filename\" in [exporter.epub]";
    assert_eq!(file("{titel}.epub"), format!("{place} has the unknown placeholder {{titel}}; did you mean \"title\"?"));
    assert_eq!(file("{title}"), format!("{place} does not end in a literal extension such as \".epub\""));
    assert_eq!(file("{title}."), format!("{place} does not end in a literal extension such as \".epub\""));
    assert_eq!(file("-{title}.epub"), format!("{place} begins with a dot or a dash"));
    assert_eq!(file("a/{title}.epub"), format!("{place} holds '/', which has a meaning of its own in file names"));
    assert_eq!(file("{title.epub"), format!("{place} has a lone \"{{\" in \"{{title.epub\"; write {{{{ for a brace"));
    assert!(file("{title}.a b").contains("too strange"));
    assert!(problems(&format!("{BOOK}key = false\n"))[0].contains("has key = false"));
    let command = |argument: &str| problems(&BOOK.replace("{output}", argument)).join("|");
    let place = "3:11: \"command\" in [exporter.epub]";
    assert_eq!(command("{source}"), format!("{place} has the unknown placeholder {{source}}"));
    assert!(command("{a").starts_with(place) && command("}").starts_with(place));
}

#[test]
fn what_must_be_there_is_missed() {
    has_problem(
        "[exporter.x]\nfilename = 'x.y'",
        "1:11: [exporter.x] has no \"command\"; give the program and its arguments, such as [\"bin/make\", \"{output}\"]",
    );
    has_problem(
        "[exporter.x]\ncommand = ['x']",
        "1:11: \"filename\" in [exporter.x] is missing; give one such as \"{title}.epub\", or output = \"none\" if there is no file",
    );
    has_problem("[notify]", "1:2: [notify] has no \"command\"; give the program that is told about failures");
}

#[test]
fn mistakes_of_parameters_are_named() {
    let param = |text: &str| problems(&format!("{BOOK}{text}")).join("|");
    assert!(
        param("[exporter.epub.params.wait]")
            .contains("8:23: \"wait\" cannot be the name of a parameter: it is reserved")
    );
    assert!(param("[exporter.epub.params.'a b']").contains("cannot be the name of a parameter"));
    assert!(
        param("pattern = 'a'\ninteger = '1..2'")
            .contains("9:11: \"integer\" in [exporter.epub.params.title] and \"pattern\" exclude")
    );
    assert!(param("integer = '2..1'").contains("it must be a range"));
    assert!(param("default = 'x'").contains("is never used"));
    let font = "[exporter.epub.params.font]\n";
    assert!(param(&format!("{font}one_of = ['a']\ndefault = 'b'")).contains("parameter font must be one of \"a\""));
    assert!(param(&format!("{font}integer = '1..9'\ndefault = 10")).contains("must be an integer from 1 to 9"));
    assert!(param(&format!("{font}max_bytes = 2\ndefault = 'long'")).contains("longer than 2 bytes"));
}

#[test]
fn mistakes_of_lanes_are_named() {
    let lane = |text: &str| {
        problems(&format!("{BOOK}[exporter.epub.params.pages]\ninteger = '1..9'\n[[exporter.epub.lane]]\n{text}"))
            .join("|")
    };
    assert_eq!(
        lane("queue = 'x'\nwhen = { pages = 3 }"),
        "11:9: \"lane\" in [exporter.epub] names a queue that is \"x\", but there is no [queue.x]"
    );
    assert_eq!(
        lane("queue = 'default'\nwhen = { page = '..3' }"),
        "12:1: \"lane\" in [exporter.epub] asks for \"page\", which is not a parameter; did you mean \"pages\"?"
    );
    assert_eq!(
        lane("queue = 'default'\nwhen = { title = '..3' }"),
        "12:18: \"title\" in [exporter.epub.lane.when] is a range, but the parameter is not an integer"
    );
    assert_eq!(
        lane("queue = 'default'\nwhen = { pages = 'x' }"),
        "12:18: \"pages\" in [exporter.epub.lane.when] is \"x\", but the parameter is an integer"
    );
    assert!(lane("queue = 'default'").starts_with("10:1: [exporter.epub.lane] has no \"when\""));
}

#[test]
fn sources_form_no_circle_and_share_their_parameters() {
    let two = "[exporter.a]\nsource = 'b'\ncommand = ['x']\nfilename = 'a.x'\n[exporter.b]\nsource = 'a'\ncommand = ['x']\nfilename = 'b.x'\n";
    assert_eq!(problems(two)[0], "2:10: \"source\" in [exporter.a] leads back to itself: a from b from a");
    let derived = format!(
        "{BOOK}[exporter.pdf]\nsource = 'epub'\ncommand = ['x']\nfilename = '{{size}}.pdf'\nparams = {{ size = {{}} }}\n"
    );
    assert_eq!(
        problems(&derived),
        [
            "9:10: \"source\" in [exporter.pdf] is \"epub\", whose parameter \"title\" is missing in [exporter.pdf.params]"
        ]
    );
    let task = "[exporter.t]\noutput = 'none'\ncommand = ['x']\n[exporter.a]\nsource = 't'\ncommand = ['x']\nfilename = 'a.x'\n";
    has_problem(task, "5:10: \"source\" in [exporter.a] is \"t\", which makes no file");
}

#[test]
fn a_task_has_no_rules_for_a_file() {
    has_problem(
        "[exporter.t]\noutput = 'none'\ncommand = ['x', '{output}']\nmagic = '00'\n"
            .replace(", '{output}'", "")
            .as_str(),
        "4:9: \"magic\" in [exporter.t] is about a file, but the exporter makes none (output = \"none\")",
    );
    assert!(
        problems("[exporter.t]\noutput = 'none'\ncommand = ['x', '{output}']\n")[0]
            .contains("unknown placeholder {output}")
    );
}

#[test]
fn mistakes_of_schedules_are_named() {
    let schedule = |text: &str| problems(&format!("{BOOK}[schedule.s]\n{text}")).join("|");
    assert_eq!(
        schedule("exporter = 'epub'\nevery = '0s'\nparams.title = 'x'"),
        "9:9: \"every\" in [schedule.s] is \"0s\"; it must be a duration such as \"10m\", longer than nothing"
    );
    assert_eq!(
        schedule("exporter = 'pdf'\nevery = '1m'"),
        "8:12: \"exporter\" in [schedule.s] is \"pdf\", but there is no [exporter.pdf]"
    );
    assert_eq!(
        schedule("exporter = 'epub'\nevery = '1m'"),
        "7:11: \"params\" in [schedule.s] do not fit the exporter: parameter title is missing"
    );
    assert!(schedule("exporter = 'epub'\nparams.title = 'x'").contains("has no \"every\""));
}
