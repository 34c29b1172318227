//! The few rules of XML that text from outside can break.

/// Drops what no XML document may hold, not even escaped.
pub fn clean(text: &str) -> String {
    text.chars().filter(|&c| is_allowed(c)).collect()
}

fn is_allowed(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r') || (c >= ' ' && !matches!(c, '\u{7f}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}'))
}

/// Escapes text for an element or a quoted attribute.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// A whole XHTML page around a body.
pub fn page(title: &str, lang: &str, body: &str) -> String {
    let (title, lang) = (escape(title), escape(lang));
    format!(
        r#"<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE html>
<html xmlns="http://www.w3.org/1999/xhtml" lang="{lang}" xml:lang="{lang}">
<head>
<title>{title}</title>
<link rel="stylesheet" type="text/css" href="stylesheet.css"/>
</head>
<body>
{body}
</body>
</html>
"#
    )
}
