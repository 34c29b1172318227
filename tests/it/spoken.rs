//! What an exporter says while it works and when it fails: read safely, and shown to whoever asks.

use crate::support::{
    running::{go, held_by},
    site::{Site, wait_until},
    together::wait_for_runs,
};

/// Says something, then that it is up; later something decent, and then waits for the sign.
fn saying(script: &str) -> Site {
    held_by(
        &format!(
            "{script}\necho up >>../../../up\nuntil [ -e ../../../next ]; do sleep 0.01; done\n\
             rm -rf \"$PRESSROOM_PROGRESS\"; echo '90 nearly there' >\"$PRESSROOM_PROGRESS\"\n\
             until [ -e ../../../go ]; do sleep 0.01; done\necho x >\"$1\""
        ),
        "",
    )
}

fn answer(site: &Site) -> serde_json::Value {
    site.run(&["request", "epub", "title=Emma", "--format", "json"]).json()
}

/// The progress after what it said first, which must never be shown.
#[track_caller]
fn is_passed_over(script: &str) {
    let site = saying(script);
    std::fs::write(site.path("next"), "").unwrap();
    wait_until("the decent progress is shown", || {
        let answer = answer(&site);
        assert!(answer["percent"].is_null() || answer["percent"] == 90, "{script}: {answer}");
        answer["percent"] == 90
    });
    go(&site);
    wait_for_runs(&site);
    site.ask("Emma").exits(0);
}

#[test]
fn progress_is_shown_by_request() {
    let site = saying("echo '40 Fetching images' >>\"$PRESSROOM_PROGRESS\"");
    wait_until("the progress is shown", || site.ask("Emma").out() == "started 40\n");
    assert_eq!(answer(&site)["message"], "Fetching images");
    std::fs::write(site.path("next"), "").unwrap();
    wait_until("the next progress is shown", || site.ask("Emma").out() == "started 90\n");
    go(&site);
    wait_for_runs(&site);
}

#[test]
fn links_fifos_directories_and_nonsense_are_passed_over() {
    is_passed_over("echo '77 secret' >secret; ln -s secret \"$PRESSROOM_PROGRESS\"");
    is_passed_over("mkfifo \"$PRESSROOM_PROGRESS\"");
    is_passed_over("mkdir \"$PRESSROOM_PROGRESS\"");
    is_passed_over("echo nonsense >\"$PRESSROOM_PROGRESS\"");
}

#[test]
fn a_huge_file_with_controls_and_broken_text_is_read_from_its_end() {
    let site = saying(
        r#"truncate -s 10G "$PRESSROOM_PROGRESS"; printf '\n55 \033[31mred\342\200\256 \377\n' >>"$PRESSROOM_PROGRESS""#,
    );
    wait_until("the progress is shown", || site.ask("Emma").out() == "started 55\n");
    assert_eq!(answer(&site)["message"], "[31mred \u{fffd}");
    go(&site);
    std::fs::write(site.path("next"), "").unwrap();
    wait_for_runs(&site);
}

/// The answer to whoever asks after an exporter has failed with this.
#[track_caller]
fn fails_with(script: &str, message: &str) {
    let site = Site::new().exporter(&format!("{script}\nexit 1")).create();
    site.ask("Emma").exits(75);
    site.tick().exits(0);
    site.ask("Emma").exits(70).stdout(&format!("failed_unknown {message}\n"));
}

#[test]
fn its_message_is_the_visitors_answer_and_anything_unsafe_is_not() {
    fails_with("echo 'no such book' >\"$PRESSROOM_MESSAGE\"; echo more >>\"$PRESSROOM_MESSAGE\"", "no such book");
    fails_with("printf '\\033[31mred\\342\\200\\256 \\377\\r\\n' >\"$PRESSROOM_MESSAGE\"", "[31mred \u{fffd}");
    fails_with("ln -s /etc/passwd \"$PRESSROOM_MESSAGE\"", "the export failed");
    fails_with("mkfifo \"$PRESSROOM_MESSAGE\"", "the export failed");
    fails_with("truncate -s 10G \"$PRESSROOM_MESSAGE\"", "the export failed");
    fails_with("yes x | tr -d '\\n' | head -c 5000 >\"$PRESSROOM_MESSAGE\"", &"x".repeat(300));
}
