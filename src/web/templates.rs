//! Where the pages come from: the site's own files in `http.templates`, and ours for all that is not there.

use std::{borrow::Cow, io::ErrorKind, path::Path};

use super::log;

/// A file of the pages that is built in.
macro_rules! built_in {
    ($name:literal) => {
        ($name, include_str!(concat!("pages/", $name)))
    };
}

const BUILT_IN: [(&str, &str); 7] = [
    built_in!("page.html"),
    built_in!("style.css"),
    built_in!("script.js"),
    built_in!("en.toml"),
    built_in!("de.toml"),
    built_in!("fr.toml"),
    built_in!("ar.toml"),
];

#[derive(Clone, Copy, Debug)]
pub(super) struct Templates<'a> {
    own: Option<&'a Path>,
}

impl<'a> Templates<'a> {
    pub(super) const fn new(own: Option<&'a Path>) -> Self {
        Self { own }
    }

    /// Whether the site has pages of its own, which may want pictures and styles of the site.
    pub(super) const fn are_own(self) -> bool {
        self.own.is_some()
    }

    /// The site's file of this name, else ours.
    pub(super) fn file(self, name: &str) -> Option<Cow<'static, str>> {
        self.own_file(name).map(Cow::Owned).or_else(|| built_in(name).map(Cow::Borrowed))
    }

    /// A file that cannot be read costs the site its look, not its visitors their files.
    fn own_file(self, name: &str) -> Option<String> {
        let path = self.own?.join(name);
        match std::fs::read_to_string(&path) {
            Ok(text) => Some(text),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => {
                log::line(format_args!("cannot read {}: {error}", path.display()));
                None
            }
        }
    }
}

/// Our own file of this name.
pub(super) fn built_in(name: &str) -> Option<&'static str> {
    BUILT_IN.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_site_replaces_some_files_and_has_ours_for_the_rest() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("style.css"), "b {}").unwrap();
        std::fs::write(dir.path().join("it.toml"), "").unwrap();
        let templates = Templates::new(Some(dir.path()));
        assert_eq!(templates.file("style.css").unwrap(), "b {}");
        assert_eq!(templates.file("it.toml").unwrap(), "");
        assert_eq!(templates.file("page.html").as_deref(), built_in("page.html"));
        assert_eq!(templates.file("xx.toml"), None);
        assert_eq!(Templates::new(None).file("it.toml"), None);
    }
}
