//! Parameters of every type, kept as JSON, and jobs that are found by them.

use crate::support::{classes::request, site::Site};

const ORDER: &str = r#"
[exporter.order]
command = ["/bin/true", "--kind={kind}", "{output}"]
filename = "{code}-{kind}.txt"
[exporter.order.params.code]
pattern = "[A-Z]{3}[0-9]+"
required = true
[exporter.order.params.kind]
one_of = ["short", "long"]
default = "short"
[exporter.order.params.copies]
integer = "1..99"
required = false
[exporter.order.params.note]
max_bytes = 20
required = false
key = false
"#;

fn site() -> Site {
    Site::new().more(ORDER).create()
}

#[test]
fn values_are_kept_as_typed_json_in_the_order_of_the_configuration() {
    let site = site();
    site.run(&["request", "order", "note=a \"b\" ö", "copies=007", "code=ABC1"]).exits(75);
    let wanted = r#"{"code":"ABC1","kind":"short","copies":7,"note":"a \"b\" ö"}"#;
    assert_eq!(site.text("SELECT params FROM job"), wanted);
}

#[test]
fn what_breaks_a_rule_is_refused_and_queued_nowhere() {
    let site = site();
    for (words, name) in [
        ("kind=long", "code"),
        ("code=abc1", "code"),
        ("code=ABC1x", "code"),
        ("code=ABC1 kind=medium", "kind"),
        ("code=ABC1 copies=0", "copies"),
        ("code=ABC1 copies=many", "copies"),
        ("code=ABC1 note=aaaaaaaaaaaaaaaaaaaaaaaaa", "note"),
        ("code=ABC1 code=ABC2", "code"),
        ("code=ABC1 colour=red", "colour"),
    ] {
        request(&site, &format!("order {words}")).exits(65).says("invalid ").says(name);
    }
    assert_eq!(site.count("SELECT count(*) FROM job"), 0);
}

#[test]
fn jobs_are_found_by_their_parameters() {
    let site = site();
    for words in ["code=ABC1 kind=long", "code=ABC2 copies=2", "code=ABC3 copies=2 kind=long", "code=ABC4 copies=20"] {
        request(&site, &format!("order {words}")).exits(75);
    }
    let found = |params: &[&str]| {
        let words = ["jobs", "list", "--format", "json"].into_iter();
        let params = params.iter().flat_map(|param| ["--param", param]);
        let done = site.run(&words.chain(params).collect::<Vec<_>>());
        let mut names: Vec<String> = done.exits(0).objects().iter().map(|job| job["filename"].to_string()).collect();
        names.sort();
        names.iter().map(|name| name["\"order/".len().."\"order/ABC1".len()].to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(found(&["kind=long"]), ["ABC1", "ABC3"]);
    assert_eq!(found(&["copies=2"]), ["ABC2", "ABC3"]);
    assert_eq!(found(&["copies=2", "kind=long"]), ["ABC3"]);
    assert_eq!(found(&["kind=medium"]), [""; 0]);
}
