//! Text that came from outside, made safe for a terminal: titles, messages and logs may hold anything.
//!
//! Controls could move the cursor, rename the window or hide what follows; marks of direction could make a line read
//! as another one. They are shown as escapes, so that an admin sees that they were there.

use std::fmt::Write;

/// One line: tabs and ends of lines are shown as escapes, too.
pub fn line(text: &str) -> String {
    escaped(text, |_| false)
}

/// One line of a diagnostic, which keeps its tabs.
pub fn diagnostic(text: &str) -> String {
    escaped(text, |c| c == '\t')
}

/// Several lines. A carriage return, as progress bars write it, ends a line.
pub fn text(text: &str) -> String {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    escaped(&text, |c| matches!(c, '\n' | '\t'))
}

/// A JSON text, in which such characters stand in strings only.
pub fn json(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        if is_unsafe(c) {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                let _ = write!(safe, "\\u{unit:04x}");
            }
        } else {
            safe.push(c);
        }
    }
    safe
}

fn escaped(text: &str, keep: impl Fn(char) -> bool) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        if is_unsafe(c) && !keep(c) {
            let _ = write!(safe, "{}", c.escape_default());
        } else {
            safe.push(c);
        }
    }
    safe
}

/// Controls, marks of direction and others that are not seen. The joiners that Persian and emoji are written with are not
/// among them.
pub fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
        || matches!(c, '\u{fff9}'..='\u{fffb}' | '\u{e0001}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_of_a_terminal_are_shown_and_do_not_act() {
        assert_eq!(line("a\u{1b}[31mb\nc\td\u{9b}2J\u{7f}"), r"a\u{1b}[31mb\nc\td\u{9b}2J\u{7f}");
        assert_eq!(line("Émile Zola – Thérèse"), "Émile Zola – Thérèse");
        assert_eq!(line("txt.\u{202e}gpj"), r"txt.\u{202e}gpj");
    }

    #[test]
    fn a_diagnostic_stays_a_line() {
        assert_eq!(diagnostic("a\tb\r\u{1b}[31m"), "a\tb\\r\\u{1b}[31m");
    }

    #[test]
    fn a_log_keeps_its_lines() {
        assert_eq!(text("10 %\r20 %\r\nend\ta\u{7}\n"), "10 %\n20 %\nend\ta\\u{7}\n");
    }

    #[test]
    fn json_stays_json_and_means_the_same() {
        let value = serde_json::json!({ "title": "\u{9b}31m\u{1b}\u{202e}é\u{e0001}\u{7f}" });
        let safe = json(&value.to_string());
        assert!(!safe.chars().any(is_unsafe), "{safe}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&safe).unwrap(), value);
    }
}
