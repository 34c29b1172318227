//! Exporters that make their files from those of others.

use super::site::Site;

/// A PDF and, from that, a preview: each is its source and its own name.
pub const DERIVED: &str = r#"
[queue.paper]
[exporter.pdf]
queue = "paper"
source = "epub"
command = ["/bin/sh", "-c", 'echo pdf >>../../../runs; { cat "$2"; echo pdf; } >"$1"', "sh", "{output}", "{source}"]
filename = "{title}.pdf"
[exporter.preview]
queue = "paper"
source = "pdf"
command = ["/bin/sh", "-c", 'echo preview >>../../../runs; cp "$2" "$1"', "sh", "{output}", "{source}"]
filename = "{title}.png"
"#;
pub const EPUB: &str = r#"echo epub >>../../../runs; echo "$2" >"$1""#;

pub fn site(script: &str) -> Site {
    Site::new().exporter(script).more(&DERIVED.replace("{ cat", "{{ cat").replace("pdf; }", "pdf; }}")).create()
}

/// A second exporter that is made from the first one's files.
pub const PDF: &str = r#"
[exporter.pdf]
source = "epub"
command = ["/bin/cp", "{source}", "{output}"]
filename = "{title}.pdf"
[exporter.pdf.params.title]
required = true
"#;
