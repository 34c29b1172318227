//! Text from outside as a page shows it: what could act or mislead is shown as an escape, and nothing is longer than a
//! page can bear. That it is no markup is the templates' matter, which escape everything.

use crate::model::safe;

/// Characters of one cell.
const LINE: usize = 300;
/// Characters of a log's end.
const LOG: usize = 8192;

/// One line, cut at its end.
pub(super) fn line(text: &str) -> String {
    match text.char_indices().nth(LINE) {
        Some((end, _)) => safe::line(&text[..end]) + "…",
        None => safe::line(text),
    }
}

/// Several lines, cut at their beginning: the end of a log tells why it ended.
pub(super) fn log(text: &str) -> String {
    match text.char_indices().rev().nth(LOG) {
        Some((start, _)) => format!("…{}", safe::text(&text[start..])),
        None => safe::text(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_long_is_cut_and_what_acts_is_shown() {
        assert_eq!(line("a\u{0}\u{1b}[31m\u{202e}é"), r"a\u{0}\u{1b}[31m\u{202e}é");
        assert_eq!(line(&"é".repeat(1_000_000)).chars().count(), LINE + 1);
        assert_eq!(line(&"é".repeat(LINE)), "é".repeat(LINE));
        let log = log(&format!("{}\nend\r\u{7}", "x".repeat(1_000_000)));
        assert!(log.starts_with("…x") && log.ends_with("x\nend\n\\u{7}") && log.len() < LOG + 20, "{log}");
    }
}
