//! The server's error log: one line for each thing that an administrator has to know, whatever it contains.

use std::fmt::{Display, Write};

/// Writes one line. Nothing in it can begin another one.
pub(super) fn line(text: impl Display) {
    eprintln!("pressroom: {}", flat(&text.to_string()));
}

fn flat(text: &str) -> String {
    let mut flat = String::with_capacity(text.len());
    for c in text.trim_end().chars() {
        match c {
            '\n' => flat.push_str("; "),
            c if c.is_control() => write!(flat, "{}", c.escape_default()).unwrap_or_default(),
            c => flat.push(c),
        }
    }
    flat
}

#[cfg(test)]
mod tests {
    use super::flat;

    #[test]
    fn a_line_stays_a_line() {
        assert_eq!(flat("a\nb\r\u{1b}[31m\n"), "a; b\\r\\u{1b}[31m");
    }
}
