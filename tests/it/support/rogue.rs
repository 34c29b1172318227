//! An exporter that misbehaves when it is asked for the book `rogue`, and makes every other one as it should. One job
//! runs at a time, so the next one shows that the slot is free again.

use super::{
    site::Site,
    strays::{nobody_is_left, strays},
};

/// How the rogue's only attempt ended.
pub struct Ended {
    pub site: Site,
    pub attempt: String,
}

/// A site with a rogue and these settings.
pub fn site(script: &str, settings: &str) -> Site {
    let script = format!("if [ \"$2\" != rogue ]; then echo \"$2\" >\"$1\"; exit; fi\n{script}");
    let settings = format!("max_attempts = 1\nkill_after = \"500ms\"\n{settings}");
    Site::new().exporter_with(&script, &settings).more("[queue.default]\nmax_running = 1\n")
}

/// Lets a rogue in Python run.
pub fn python(script: &str) -> String {
    format!("exec python3 -c '\n{script}'")
}

/// Runs it to its end, which is `result`; then nobody is left and the next job runs.
#[track_caller]
pub fn ends(script: &str, settings: &str, result: &str) -> Ended {
    ends_at(site(script, settings).create(), result)
}

/// The same in this site.
#[track_caller]
pub fn ends_at(site: Site, result: &str) -> Ended {
    site.ask("rogue").exits(75).stdout("queued 1\n");
    let tick = site.tick();
    tick.exits(0).stdout("");
    nobody_is_left(&site); // while the locks still tell the sessions
    let told = if result == "ok" { String::new() } else { format!("job 1 (epub/rogue.epub) failed: {result}") };
    site.mailed().exits(0).warns(&told);
    let attempt = site.text("SELECT id FROM attempt");
    let ended = Ended { site, attempt };
    assert_eq!(ended.text("result"), result, "{}\n{}", ended.text("detail"), ended.text("log_tail"));
    ended.next_job_runs();
    ended
}

impl Ended {
    /// A column of the rogue's attempt, as text.
    #[track_caller]
    pub fn text(&self, column: &str) -> String {
        self.site.text(&format!("SELECT coalesce({column}, '') || '' FROM attempt WHERE id = '{}'", self.attempt))
    }

    #[track_caller]
    pub fn number(&self, column: &str) -> i64 {
        self.site.count(&format!("SELECT coalesce({column}, -1) FROM attempt WHERE id = '{}'", self.attempt))
    }

    /// What the rogue's visitor is told.
    #[track_caller]
    pub fn is_answered(&self, answer: &str) -> &Self {
        self.site.ask("rogue").exits(70).stdout(answer);
        self
    }

    #[track_caller]
    fn next_job_runs(&self) {
        let site = &self.site;
        assert_eq!(site.count("SELECT count(*) FROM job WHERE status = 1"), 0);
        assert_eq!(site.names("s/work"), [""; 0], "its work directory is swept");
        site.ask("next").exits(75).stdout("queued 1\n");
        site.tick().exits(0).stdout("").stderr("");
        site.ask("next").exits(0);
        assert!(strays(site).is_empty());
    }
}
