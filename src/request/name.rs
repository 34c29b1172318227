//! The name under which a visitor saves a file: the title as it was written, and harmless on the visitor's disk.
//!
//! It has nothing to do with the name in the cache, which is escaped and never shown.

use crate::{
    config::{Exporter, params::Values},
    model::{
        filename::extension,
        safe::is_unsafe,
        template::{Piece, pieces},
    },
};

/// Bytes of a name. 255 is what file systems take; browsers need room for `.crdownload` while they load.
const MAX_BYTES: usize = 240;

/// `Candide-fr.epub`.
pub fn download(exporter: &Exporter, values: &Values) -> String {
    let template = exporter.filename.as_deref().unwrap_or(&exporter.name);
    let extension = extension(template);
    let stem = written(&template[..template.len() - extension.len()], values);
    let stem = harmless(&stem);
    let stem = if stem.is_empty() { exporter.name.clone() } else { stem };
    format!("{}{extension}", cut(&stem, MAX_BYTES - extension.len()))
}

/// The template with the values as they are. Text beside an empty value goes with it: no `Candide-fr-.epub`.
fn written(stem: &str, values: &Values) -> String {
    let mut name = String::new();
    let mut between = String::new();
    let mut skipped = false;
    for (piece, _) in pieces(stem) {
        match piece {
            Piece::Text(text) | Piece::Stray(text) => between.push_str(text),
            Piece::Name(value) => {
                let value = values.get(value).unwrap_or_default();
                let leading = skipped && name.is_empty();
                name.push_str(if value.is_empty() || leading { "" } else { &between });
                name.push_str(value);
                skipped |= value.is_empty();
                between.clear();
            }
        }
    }
    name + &between
}

/// Without what could lead elsewhere, hide, or turn the reading direction around an extension.
fn harmless(name: &str) -> String {
    let kept = name.chars().filter(|c| !is_invisible(*c));
    let kept: String = kept.map(|c| if matches!(c, '/' | '\\') { '_' } else { c }).collect();
    let trimmed = kept.trim_start_matches(|c: char| c == '.' || c.is_whitespace());
    trimmed.trim_end_matches(|c: char| c == '.' || c.is_whitespace()).to_owned()
}

/// In a name also what is only invisible.
fn is_invisible(c: char) -> bool {
    is_unsafe(c) || matches!(c, '\u{ad}' | '\u{180e}' | '\u{200b}' | '\u{2060}'..='\u{206f}' | '\u{e0000}')
}

/// At most `room` bytes, no character cut in two.
fn cut(text: &str, room: usize) -> &str {
    &text[..text.floor_char_boundary(room)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(template: &str, values: &[(&str, &str)]) -> String {
        let value = |key: &str| values.iter().find(|(name, _)| *name == key).map_or("", |(_, value)| *value);
        let params: Vec<_> =
            values.iter().map(|(name, _)| format!("[exporter.epub.params.{name}]\nrequired = false\n")).collect();
        let params = params.concat();
        let toml = format!("[exporter.epub]\ncommand = [\"true\"]\nfilename = \"{template}\"\n{params}");
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("pressroom.toml");
        std::fs::write(&file, toml).unwrap();
        let config = crate::config::load(&file).unwrap();
        let pairs: Vec<_> = values.iter().map(|(name, _)| (name.as_bytes().to_vec(), value(name).into())).collect();
        let values = crate::config::params::check(&config.exporters["epub"], &pairs).unwrap();
        download(&config.exporters["epub"], &values)
    }

    fn titled(title: &str) -> String {
        name("{title}.epub", &[("title", title)])
    }

    #[test]
    fn a_title_stays_as_it_was_written() {
        for title in ["Les Misérables", "“I’m; 100%” – łódź", "紅樓夢", "ألف ليلة وليلة", "👩‍🚀 & Co.!", "a\"b;c'd%41"]
        {
            assert_eq!(titled(title), format!("{title}.epub"));
        }
    }

    #[test]
    fn what_leads_elsewhere_hides_or_turns_around_is_gone() {
        assert_eq!(titled("../../etc/passwd"), "_.._etc_passwd.epub");
        assert_eq!(titled("a\\b"), "a_b.epub");
        assert_eq!(titled(".htaccess "), "htaccess.epub");
        assert_eq!(titled("evil\u{202e}bupe.exe"), "evilbupe.exe.epub");
        assert_eq!(titled("\u{feff}..."), "epub.epub");
    }

    #[test]
    fn an_empty_value_leaves_no_gap() {
        let template = "{title}-{lang}-{font}.epub";
        assert_eq!(name(template, &[("title", "Candide"), ("lang", "fr"), ("font", "")]), "Candide-fr.epub");
        assert_eq!(name(template, &[("title", "Candide"), ("lang", ""), ("font", "serif")]), "Candide-serif.epub");
        assert_eq!(name("book-{title}-v2.tar.gz", &[("title", "x")]), "book-x-v2.tar.gz");
    }

    #[test]
    fn a_long_title_is_cut_between_characters() {
        let long = titled(&"é".repeat(127));
        assert!(long.len() <= MAX_BYTES && long.ends_with("é.epub"), "{long}");
    }
}
