use super::{has_problem, problems};
use crate::config::load;

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
        "2:12: \"sendfile\" in [http] is \"x-accel-redirect:no\"; it must be \"off\", \"x-sendfile\", \"x-sendfile:raw\", \"x-sendfile:encoded\" or \"x-accel-redirect:/internal\"",
    );
    for wrong in ["[500]", "[200, 504]", "[500, 600]", "500", "['500', 504]"] {
        assert!(problems(&format!("[http]\nfailed_status = {wrong}"))[0].contains("two HTTP status codes"));
    }
    has_problem(
        "[http]\npending_status = 404",
        "2:18: \"pending_status\" in [http] is 404; it must be 503, or 202 where a load balancer takes a server that answers 503 out of service",
    );
    assert!(problems("[http]\npending_status = '503'")[0].contains("it must be 503, or 202"));
    has_problem("cache = 5", "1:9: \"cache\" is 5; it must be a table");
    has_problem("[queue]\ndefault = 5", "2:1: \"default\" in [queue] is 5; it must be a table: [queue.default]");
    has_problem("[queue.Big]", "1:8: \"Big\" cannot be the name of a queue");
    has_problem(
        "[notify]\ncommand = ['x']\non = ['never']",
        "3:7: \"on\" in [notify] has \"never\"; it must be a list of \"failed\" and \"ok\"",
    );
}
