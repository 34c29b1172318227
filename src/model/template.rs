//! Text with `{name}` placeholders; `{{` and `}}` stand for the braces themselves.

/// A part of a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    Text(&'a str),
    /// What stands between the braces.
    Name(&'a str),
    /// A brace that neither opens nor closes a placeholder. A checked configuration holds none.
    Stray(&'a str),
}

/// The parts of `template` in order, each with the offset of the byte after it.
pub fn pieces(template: &str) -> impl Iterator<Item = (Piece<'_>, usize)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let (piece, length) = first(&template[at..])?;
        at += length;
        Some((piece, at))
    })
}

/// The names of the placeholders, in order, repeated ones included.
pub fn names(template: &str) -> impl Iterator<Item = &str> {
    pieces(template).filter_map(|(piece, _)| match piece {
        Piece::Name(name) => Some(name),
        Piece::Text(_) | Piece::Stray(_) => None,
    })
}

/// Replaces each placeholder once; what is put in is never looked at again.
pub fn render<'a>(template: &'a str, value: impl Fn(&'a str) -> &'a str) -> String {
    pieces(template)
        .map(|(piece, _)| match piece {
            Piece::Text(text) | Piece::Stray(text) => text,
            Piece::Name(name) => value(name),
        })
        .collect()
}

fn first(rest: &str) -> Option<(Piece<'_>, usize)> {
    let piece = match rest.as_bytes() {
        [] => return None,
        [b'{', b'{', ..] | [b'}', b'}', ..] => return Some((Piece::Text(&rest[..1]), 2)),
        [b'{', ..] => return Some(placeholder(rest)),
        [b'}', ..] => Piece::Stray(&rest[..1]),
        _ => Piece::Text(&rest[..rest.find(['{', '}']).unwrap_or(rest.len())]),
    };
    let (Piece::Text(text) | Piece::Name(text) | Piece::Stray(text)) = piece;
    Some((piece, text.len()))
}

fn placeholder(rest: &str) -> (Piece<'_>, usize) {
    match rest[1..].find(['{', '}']) {
        Some(end) if rest.as_bytes()[end + 1] == b'}' => (Piece::Name(&rest[1..=end]), end + 2),
        _ => (Piece::Stray(&rest[..1]), 1),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parts(template: &str) -> Vec<Piece<'_>> {
        pieces(template).map(|(piece, _)| piece).collect()
    }

    #[test]
    fn a_template_falls_into_text_names_and_stray_braces() {
        use Piece::{Name, Stray, Text};
        assert_eq!(parts("--t={title}.x"), [Text("--t="), Name("title"), Text(".x")]);
        assert_eq!(parts("{{a}}{b}"), [Text("{"), Text("a"), Text("}"), Name("b")]);
        assert_eq!(parts("{{{a}}}"), [Text("{"), Name("a"), Text("}")]);
        assert_eq!(parts("{a{b}"), [Stray("{"), Text("a"), Name("b")]);
        assert_eq!(parts("a}b{"), [Text("a"), Stray("}"), Text("b"), Stray("{")]);
        assert_eq!(parts("{}é{é}"), [Name(""), Text("é"), Name("é")]);
    }

    proptest! {
        #[test]
        fn a_value_is_never_expanded_again(value in "[a-z{}]{0,12}", other in "[a-z{}]{0,12}") {
            let text = render("x{a}-{{{b}}}", |name| if name == "a" { &value } else { &other });
            prop_assert_eq!(text, format!("x{value}-{{{other}}}"));
        }

        #[test]
        fn any_text_survives_being_read(template in "[a-zé{}]{0,24}") {
            let end = pieces(&template).last().map_or(0, |(_, end)| end);
            prop_assert_eq!(end, template.len());
        }
    }
}
