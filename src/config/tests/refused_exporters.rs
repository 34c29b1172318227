use super::{BOOK, has_problem, problems};

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
            "5:11: \"timeout\" in [exporter.epub] is \"0s\"; it must be a duration such as \"10m\", longer than zero",
        ),
        (
            "limits_max = { memory = '1GB' }",
            "5:25: \"memory\" in [exporter.epub.limits_max] is smaller than the limit of the first attempt",
        ),
        (
            "limits = { memory = '0B' }",
            "5:21: \"memory\" in [exporter.epub.limits] is zero, so that no program could run; for no limit, write \"none\"",
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
        ("source = 'epub'", "5:10: \"source\" in [exporter.epub] leads back to its own exporter: epub from epub"),
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
    assert!(
        with("retry_on = ['lost', 'shutdown']")
            .starts_with("5:21: \"retry_on\" in [exporter.epub] has \"shutdown\"; it")
    );
    assert!(
        with("ttl = '0s'").ends_with("is \"0s\"; it must be a duration such as \"10m\", longer than zero, or \"none\"")
    );
}

#[test]
fn mistakes_of_templates_are_named() {
    let file = |template: &str| problems(&BOOK.replace("{title}.epub", template)).join("|");
    let place = "4:12: \"filename\" in [exporter.epub]";
    assert_eq!(
        file("{titel}.epub"),
        format!(
            "{place} has the unknown placeholder {{titel}}; did you mean \"title\"? If not, add [exporter.epub.params.titel]"
        )
    );
    assert_eq!(
        file("{title}-{lang}.epub"),
        format!("{place} has the unknown placeholder {{lang}}; add [exporter.epub.params.lang]")
    );
    assert_eq!(file("{title}"), format!("{place} does not end in a literal extension such as \".epub\""));
    assert_eq!(file("{title}."), format!("{place} does not end in a literal extension such as \".epub\""));
    assert_eq!(file("-{title}.epub"), format!("{place} begins with a dot or a dash"));
    assert_eq!(file("a/{title}.epub"), format!("{place} contains '/', which has a special meaning in file names"));
    assert_eq!(file("{title.epub"), format!("{place} has a lone \"{{\" in \"{{title.epub\"; write {{{{ for a brace"));
    assert!(file("{title}.a b").contains("an extension has at most 40 letters"));
    assert!(problems(&format!("{BOOK}key = false\n"))[0].contains("has key = false"));
    let command = |argument: &str| problems(&BOOK.replace("{output}", argument)).join("|");
    let place = "3:11: \"command\" in [exporter.epub]";
    let advice = "set \"source\" to the exporter whose file it is made from";
    assert_eq!(command("{source}"), format!("{place} has the unknown placeholder {{source}}; {advice}"));
    assert!(command("{lang}").ends_with("{lang}; add [exporter.epub.params.lang]"));
    assert!(command("{wait}").ends_with("{wait}"), "it is reserved");
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
            .contains("7:23: \"wait\" cannot be the name of a parameter: it is reserved")
    );
    assert!(param("[exporter.epub.params.'a b']").contains("cannot be the name of a parameter"));
    assert!(
        param("pattern = 'a'\ninteger = '1..2'")
            .contains("8:11: \"integer\" in [exporter.epub.params.title] and \"pattern\" exclude")
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
        "10:9: \"queue\" in [[exporter.epub.lane]] is \"x\", but there is no [queue.x]"
    );
    assert_eq!(
        lane("queue = 'default'\nwhen = { page = '..3' }"),
        "11:1: \"when\" in [[exporter.epub.lane]] asks for \"page\", which is not a parameter; did you mean \"pages\"?"
    );
    assert_eq!(
        lane("queue = 'default'\nwhen = { title = '..3' }"),
        "11:18: \"title\" in [exporter.epub.lane.when] is a range, but the parameter is not an integer"
    );
    assert_eq!(
        lane("queue = 'default'\nwhen = { pages = 'x' }"),
        "11:18: \"pages\" in [exporter.epub.lane.when] is \"x\", but the parameter is an integer"
    );
    assert!(lane("queue = 'default'").starts_with("9:1: [exporter.epub.lane] has no \"when\""));
}

#[test]
fn sources_form_no_circle_and_share_their_parameters() {
    let two = "[exporter.a]\nsource = 'b'\ncommand = ['x']\nfilename = 'a.x'\n[exporter.b]\nsource = 'a'\ncommand = ['x']\nfilename = 'b.x'\n";
    assert_eq!(problems(two)[0], "2:10: \"source\" in [exporter.a] leads back to its own exporter: a from b from a");
    let derived = format!(
        "{BOOK}[exporter.pdf]\nsource = 'epub'\ncommand = ['x']\nfilename = '{{size}}.pdf'\nparams = {{ size = {{}} }}\n"
    );
    assert_eq!(
        problems(&derived),
        [
            "8:10: \"source\" in [exporter.pdf] is \"epub\", whose parameter \"title\" is missing in [exporter.pdf.params]"
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
        "4:9: \"magic\" in [exporter.t] applies to a file, but this exporter makes none (output = \"none\")",
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
        "9:9: \"every\" in [schedule.s] is \"0s\"; it must be a duration such as \"10m\", longer than zero"
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
