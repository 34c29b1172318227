use std::sync::LazyLock;

use proptest::prelude::*;

use super::*;
use crate::config::tests::config;

const PARAMS: &str = r#"
[queue.express]
[exporter.epub]
command = ["x", "--", "{title}"]
filename = "{title}-{lang}-{font}.epub"
[exporter.epub.params.title]
max_bytes = 10
[exporter.epub.params.lang]
required = false
pattern = "fr|fr-x|[a-z]{2}"
[exporter.epub.params.font]
one_of = ["", "serif", "libertine"]
default = ""
[exporter.epub.params.pages]
integer = "-5..100"
required = false
key = false
[[exporter.epub.lane]]
queue = "express"
when = { pages = "..20", font = "serif" }
"#;

/// Read once: the property tests ask hundreds of times.
static EXPORTER: LazyLock<Exporter> = LazyLock::new(|| config(PARAMS).exporters["epub"].clone());

fn given(pairs: &[(&str, &str)]) -> Vec<(Vec<u8>, Vec<u8>)> {
    pairs.iter().map(|(name, text)| ((*name).into(), (*text).into())).collect()
}

fn checked(pairs: &[(&str, &str)]) -> Result<Values, String> {
    Ok(check(&EXPORTER, &given(pairs))?)
}

/// The sentence about one value beside a good title.
fn refusal(name: &str, text: &str) -> String {
    checked(&[("title", "Emma"), (name, text)]).unwrap_err()
}

#[test]
fn values_come_in_the_order_of_the_configuration_with_their_defaults() {
    let values = checked(&[("pages", "007"), ("title", "Emma")]).unwrap();
    assert_eq!(values.iter().collect::<Vec<_>>(), [("title", "Emma"), ("font", ""), ("pages", "7")]);
    assert_eq!(values.to_json(), r#"{"title":"Emma","font":"","pages":7}"#);
    assert_eq!(values.get("lang"), None);
}

#[test]
fn each_wrong_value_is_named() {
    assert_eq!(checked(&[]).unwrap_err(), "parameter title is missing");
    assert_eq!(checked(&[("title", "")]).unwrap_err(), "parameter title is missing");
    assert_eq!(refusal("titel", "x"), "epub has no parameter \"titel\"; did you mean \"title\"?");
    assert_eq!(refusal("title", "Emma"), "parameter title is given more than once");
    assert_eq!(refusal("lang", "fra"), "parameter lang does not match fr|fr-x|[a-z]{2}");
    assert_eq!(refusal("font", "arial"), "parameter font must be one of \"\", \"serif\", \"libertine\"");
    for wrong in ["101", "-6", "+7", " 7", "7.0", "x", "99999999999999999999", "-"] {
        assert_eq!(refusal("pages", wrong), "parameter pages must be an integer from -5 to 100", "{wrong}");
    }
}

#[test]
fn a_text_has_bounds() {
    let title = |text: &[u8]| check(&EXPORTER, &[(b"title".into(), text.into())]).map(|_| ()).map_err(String::from);
    assert_eq!(title(b"0123456789"), Ok(()));
    assert_eq!(title(b"0123456789a"), Err("parameter title is longer than 10 bytes".to_owned()));
    assert_eq!(title(b"a\xff"), Err("parameter title is not valid UTF-8".to_owned()));
    for control in ["a\n", "\0", "\u{1b}[m", "\u{85}", "\u{7f}"] {
        assert_eq!(title(control.as_bytes()), Err("parameter title contains a control character".to_owned()));
    }
    assert_eq!(title("’äł漢".as_bytes()), Ok(()));
}

#[test]
fn a_pattern_must_match_the_whole_value() {
    for good in ["fr", "fr-x", "de"] {
        assert!(checked(&[("title", "x"), ("lang", good)]).is_ok(), "{good}");
    }
    for wrong in ["xfr", "fr ", "fr-xy"] {
        assert!(checked(&[("title", "x"), ("lang", wrong)]).is_err(), "{wrong}");
    }
}

#[test]
fn an_empty_field_of_a_form_counts_as_not_given() {
    let empty = checked(&[("title", "x"), ("lang", ""), ("pages", "")]).unwrap();
    assert_eq!(empty, checked(&[("title", "x")]).unwrap());
}

#[test]
fn an_unknown_name_is_shown_harmlessly() {
    let error = check(&EXPORTER, &[(b"\x1b\xff\n".into(), Vec::new())]).unwrap_err().to_string();
    assert!(error.chars().all(|c| !c.is_control()), "{error:?}");
}

#[test]
fn a_lane_needs_all_its_conditions() {
    let exporter = &*EXPORTER;
    let queue = |pages: &str, font: &str| {
        let values = check(exporter, &given(&[("title", "x"), ("pages", pages), ("font", font)])).unwrap();
        lane(exporter, &values).to_owned()
    };
    assert_eq!(queue("20", "serif"), "express");
    assert_eq!(queue("-5", "serif"), "express");
    assert_eq!(queue("21", "serif"), "default");
    assert_eq!(queue("20", "libertine"), "default");
    assert_eq!(queue("", "serif"), "default");
}

#[test]
fn the_filename_ignores_what_does_not_change_the_file() {
    let exporter = &*EXPORTER;
    let name = |pairs: &[(&str, &str)]| filename(exporter, &check(exporter, &given(pairs)).unwrap());
    assert_eq!(name(&[("title", "Candide"), ("lang", "fr"), ("font", "serif")]), "epub/Candide-fr-serif.epub");
    assert_eq!(name(&[("title", "Emma"), ("pages", "7")]), "epub/Emma-%-%.epub");
}

#[test]
fn stored_parameters_are_checked_against_the_configuration_of_today() {
    let read = |json: &str| Values::from_json(&EXPORTER, json);
    assert_eq!(read(r#"{"title":"x","pages":101}"#).unwrap_err(), "parameter pages must be an integer from -5 to 100");
    assert_eq!(read(r#"{"title":"x","size":"a4"}"#).unwrap_err(), "epub has no parameter \"size\"");
    for wrong in ["", "[]", "{", r#"{"title":null}"#, r#"{"title":["x"]}"#] {
        assert!(read(wrong).unwrap_err().contains("not a JSON object"), "{wrong}");
    }
}

proptest! {
    #[test]
    fn what_is_stored_is_what_is_read(title in "\\PC{1,2}", pages in -5i64..=100, font in "(serif|libertine|)") {
        let values = checked(&[("title", &title), ("pages", &pages.to_string()), ("font", &font)]).unwrap();
        prop_assert_eq!(Values::from_json(&EXPORTER, &values.to_json()), Ok(values));
    }

    #[test]
    fn nothing_given_makes_it_fall_over(pairs in prop::collection::vec((any::<Vec<u8>>(), any::<Vec<u8>>()), 0..4)) {
        let _ = check(&EXPORTER, &pairs);
    }
}
