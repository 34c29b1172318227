use std::sync::LazyLock;

use proptest::prelude::*;

use super::*;
use crate::config::{params::check, tests::config};

const PLACES: Places<'_> = Places { output: "/w/out.epub", source: Some("/w/source.epub"), work: "/w" };

/// An exporter with optional texts `a` and `b` and this command and wrapper.
fn exporter(command: &str, wrapper: &str) -> Exporter {
    let text = format!(
        "[exporter.base]\ncommand = ['x']\nfilename = '{{a}}-{{b}}.x'\nparams = {{ a = {{ required = false }}, b = {{ required = false }} }}\n\
         [exporter.epub]\nsource = 'base'\ncommand = {command}\nwrapper = {wrapper}\nfilename = '{{a}}-{{b}}.epub'\n"
    );
    config(&text).exporters["epub"].clone()
}

fn arguments(command: &str, a: &str, b: &str) -> Result<Vec<String>, String> {
    arguments_of(&exporter(command, "[]"), a, b)
}

fn arguments_of(exporter: &Exporter, a: &str, b: &str) -> Result<Vec<String>, String> {
    let given = [("a", a), ("b", b)].map(|(name, text)| (name.into(), text.into()));
    argv(exporter, &check(exporter, &given)?, &PLACES)
}

#[test]
fn placeholders_are_replaced_inside_arguments() {
    let argv = arguments("['bin/x', '--t={a}', '{output}', '{source}', '{{{b}}}', 'é']", "one two", "$(x)").unwrap();
    assert_eq!(argv, ["/etc/pressroom/bin/x", "--t=one two", "/w/out.epub", "/w/source.epub", "{$(x)}", "é"]);
}

#[test]
fn an_absent_value_is_an_empty_argument() {
    assert_eq!(arguments("['x', '{a}', '--b={b}']", "", "").unwrap(), ["x", "", "--b="]);
}

#[test]
fn the_wrapper_stands_before_and_knows_the_work_directory_only() {
    let exporter = exporter("['x', '{a}']", "['bwrap', '--bind', '{work}', '{work}/', '--']");
    let values = check(&exporter, &[(b"a".into(), b"v".into())]).unwrap();
    assert_eq!(argv(&exporter, &values, &PLACES).unwrap(), ["bwrap", "--bind", "/w", "/w/", "--", "x", "v"]);
}

#[test]
fn a_value_cannot_become_an_option() {
    let refused = |command, a, b| arguments(command, a, b).unwrap_err();
    let message = "parameter a must not begin with \"-\", which would make it an option";
    assert_eq!(refused("['x', '{a}']", "-rf", ""), message);
    assert_eq!(refused("['x', '{a}{b}']", "", "-rf"), message);
    assert_eq!(refused("['x', '{a}-x']", "", ""), message);
    assert!(arguments("['x', '{a}']", "a-b", "").is_ok());
    assert!(arguments("['x', '--t={a}', '/{b}']", "-rf", "-rf").is_ok());
}

#[test]
fn behind_two_dashes_every_value_is_welcome() {
    assert_eq!(arguments("['x', '--', '{a}']", "-rf", "").unwrap(), ["x", "--", "-rf"]);
    assert!(arguments("['x', '{b}', '--', '{a}']", "-rf", "-rf").is_err());
}

#[test]
fn two_dashes_of_the_wrapper_do_not_count() {
    let exporter = exporter("['x', '{a}']", "['env', '--']");
    assert!(check(&exporter, &[(b"a".into(), b"-x".into())]).is_err());
}

/// Read once: the property tests ask hundreds of times.
static PLAIN: LazyLock<Exporter> = LazyLock::new(|| exporter("['x', 'A{a}', 'B{b}{a}', '{{a}}', '{output}']", "[]"));

proptest! {
    #[test]
    fn no_value_is_expanded_again(a in "(\\{(a|b|output|source|work)\\}|[{}a ]){0,6}", b in "(\\{a\\}|[{}]){0,4}") {
        let argv = arguments_of(&PLAIN, &a, &b).unwrap();
        let expected = ["x".into(), format!("A{a}"), format!("B{b}{a}"), "{a}".into(), "/w/out.epub".into()];
        prop_assert_eq!(argv, expected);
    }

    #[test]
    fn the_number_of_arguments_never_depends_on_values(a in "\\PC{0,9}", b in "\\PC{0,9}") {
        prop_assert_eq!(arguments_of(&PLAIN, &a, &b).unwrap().len(), 5);
    }
}
