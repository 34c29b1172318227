use proptest::prelude::*;

use super::*;

const BOOK: &str = "{title}-{lang}-{font}.epub";

fn book(title: &str, lang: &str, font: &str) -> String {
    name(BOOK, &[("title", title), ("lang", lang), ("font", font)])
}

fn name(template: &str, values: &[(&str, &str)]) -> String {
    let values: Vec<_> = values.iter().map(|(name, value)| (*name, *value, true)).collect();
    filename("epub", Some(template), &values)
}

#[test]
fn a_plain_title_stays_as_it_is() {
    assert_eq!(book("Candide", "fr", "serif"), "epub/Candide-fr-serif.epub");
    assert_eq!(book("L'Été_(2).1,@+=!", "fr", "x"), "epub/L'Été_(2).1,@+=!-fr-x.epub");
    assert_eq!(book("ألف ليلة", "ar", "x"), "epub/ألف%20ليلة-ar-x.epub");
    assert_eq!(book("తెలుగు", "te", "😀"), "epub/తెలుగు-te-😀.epub");
}

#[test]
fn what_could_be_misread_is_escaped() {
    assert_eq!(escape(""), "%");
    assert_eq!(escape("."), "%2E");
    assert_eq!(escape("..a"), "%2E.a");
    assert_eq!(escape("a-b~c%d/e f"), "a%2Db%7Ec%25d%2Fe%20f");
    assert_eq!(escape("\"&;$`\\*?<>|#:"), "%22%26%3B%24%60%5C%2A%3F%3C%3E%7C%23%3A");
    assert_eq!(escape("\u{202e}\u{a0}\u{e000}\u{85}\u{feff}"), "%E2%80%AE%C2%A0%EE%80%80%C2%85%EF%BB%BF");
    assert_eq!(escape("\u{378}\u{2028}"), "%CD%B8%E2%80%A8");
}

#[test]
fn a_long_title_is_cut_and_told_apart_by_a_hash() {
    let (one, two) = (book(&"a".repeat(255), "fr", ""), book(&format!("{}b", "a".repeat(254)), "fr", ""));
    assert_ne!(one, two);
    assert_eq!(one.len(), "epub/".len() + MAX_BYTES);
    assert!(one.starts_with("epub/aaaa") && one.contains("a~") && extension(&one) == ".epub", "{one}");
}

#[test]
fn a_name_of_exactly_the_limit_is_not_cut() {
    let fits = MAX_BYTES - "-fr-x.epub".len();
    assert!(!book(&"a".repeat(fits), "fr", "x").contains('~'));
    assert!(book(&"a".repeat(fits + 1), "fr", "x").contains('~'));
}

#[test]
fn a_parameter_that_counts_and_is_left_out_gives_a_hash() {
    let values = [("title", "Emma", true), ("lang", "en", true)];
    let name = filename("epub", Some("{title}.tar.gz"), &values);
    assert!(name.starts_with("epub/Emma~") && extension(&name) == ".tar.gz", "{name}");
    let values = [("title", "Emma", true), ("pages", "7", false)];
    assert_eq!(filename("epub", Some("{title}.tar.gz"), &values), "epub/Emma.tar.gz");
}

#[test]
fn placeholders_without_a_dash_between_them_give_a_hash() {
    let values = |a, b| [("a", a), ("b", b)];
    assert_ne!(name("{a}{b}.x", &values("1", "23")), name("{a}{b}.x", &values("12", "3")));
    assert!(name("{a}.{b}.x", &values("1", "2")).contains('~'));
    assert_eq!(name("{a}v-{b}.x", &values("1", "2")), "epub/1v-2.x");
}

#[test]
fn a_task_without_a_template_is_named_by_its_parameters() {
    let values = [("scope", "all", true), ("by", "cron", false), ("site", "a.b", true)];
    assert_eq!(filename("reindex", None, &values), "reindex/all-a.b");
    assert_eq!(filename::<&str>("reindex", None, &[]), "reindex/reindex");
    assert_eq!(filename("reindex", None, &[("scope", "", true)]), "reindex/%");
}

#[test]
fn an_extension_is_what_follows_the_last_placeholder_from_its_first_dot() {
    assert_eq!(extension("{a}-{b}.epub"), ".epub");
    assert_eq!(extension("{a}-final.tar.gz"), ".tar.gz");
    assert_eq!(extension("site.map.xml"), ".map.xml");
    assert_eq!(extension("a.b-{c}"), "");
}

#[test]
fn what_others_leave_in_the_cache_is_not_ours() {
    let long = "a".repeat(MAX_BYTES + 1);
    let hash = "0123456789abcdef".repeat(2);
    for name in ["", ".01J", ".nfs000", "-x", "core~", "a~b", "a/b", "a\nb", "a\u{200b}", "a~0123", &long] {
        assert!(!is_ours(name), "{name:?}");
    }
    for name in [format!("a~{}", hash.to_uppercase()), format!("a~{hash}x"), format!("a~{hash}.x~")] {
        assert!(!is_ours(&name), "{name:?}");
    }
    for name in ["a.epub", "%-fr-%.epub", "My report 1.pdf", &format!("a~{hash}"), &format!("~{hash}.tar.gz")] {
        assert!(is_ours(name), "{name:?}");
    }
}

/// Values made of what is likely to go wrong, short and long.
fn nasty() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => "[-.~%/a2D ]{0,4}",
        2 => "\\PC{0,12}",
        1 => "[aé漢😀 \u{200b}-]{0,255}",
    ]
}

fn template() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        BOOK,
        "{title}{lang}-{font}.x",
        "{font}x-y{lang}2D-{title}F0.tar.gz",
        "{title}.x",
        "all.x",
    ])
}

fn three() -> impl Strategy<Value = [String; 3]> {
    [nasty(), nasty(), nasty()]
}

fn named(template: &str, [title, lang, font]: &[String; 3]) -> String {
    name(template, &[("title", title), ("lang", lang), ("font", font)])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn different_parameters_never_give_one_name(template in template(), one in three(), two in three()) {
        prop_assert_eq!(named(template, &one) == named(template, &two), one == two);
    }

    #[test]
    fn moving_text_between_parameters_changes_the_name(template in template(), text in "[-a%.~]{2,6}", cut in 1usize..6) {
        let cut = cut.min(text.len());
        let one = [text.clone(), String::new(), String::new()];
        let two = [text[..cut].to_owned(), text[cut..].to_owned(), String::new()];
        prop_assert_eq!(named(template, &one) == named(template, &two), one == two);
    }

    #[test]
    fn every_name_is_bounded_and_of_our_grammar(template in template(), values in three()) {
        let whole = named(template, &values);
        let name = whole.strip_prefix("epub/").unwrap();
        prop_assert!(name.len() <= MAX_BYTES);
        prop_assert!(is_ours(name), "{}", name);
        prop_assert!(name.ends_with(extension(template)));
    }

    #[test]
    fn a_cut_falls_between_characters_and_escapes(value in "[aé漢😀 \u{200b}-]{60,255}") {
        let whole = name("{title}.epub", &[("title", &value)]);
        let stem = whole.strip_prefix("epub/").unwrap().split(['~']).next().unwrap().trim_end_matches(".epub");
        let mut ends = value.char_indices().map(|(at, c)| at + c.len_utf8());
        prop_assert!(ends.any(|end| escape(&value[..end]) == stem), "{}", stem);
    }

    #[test]
    fn a_task_is_named_as_injectively_as_a_file(one in [nasty(), nasty()], two in [nasty(), nasty()]) {
        let task = |[a, b]: &[String; 2]| filename("task", None, &[("a", a.as_str(), true), ("b", b, true)]);
        prop_assert_eq!(task(&one) == task(&two), one == two);
    }

    #[test]
    fn an_escape_leads_back_to_the_value(value in nasty()) {
        let escaped = escape(&value);
        let text = if escaped == "%" { String::new() } else { escaped };
        prop_assert_eq!(percent_encoding::percent_decode_str(&text).decode_utf8().unwrap(), value);
    }
}
