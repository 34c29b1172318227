//! What an exporter finds when cron or a web server has limits, signals and variables of its own.

use std::{fs, process::Command};

use crate::support::{site::Site, together::TICK};

/// Tells what it finds, as its output.
const TELL: &str = r#"exec >"$1"
grep -E '^(SigBlk|SigIgn|SigCgt|ShdPnd)' /proc/self/status
echo core $(ulimit -Sc) $(ulimit -Hc) files $(ulimit -n) size $(ulimit -f) cpu $(ulimit -St)
echo umask $(umask) oom $(cat /proc/self/oom_score_adj)
echo stdin $(readlink /proc/self/fd/0) fds $(ls /proc/self/fd | wc -l)
[ "$(pwd -P)" = "$HOME" ] && [ "$HOME" = "$TMPDIR" ] && [ "$HOME" = "$XDG_CACHE_HOME" ] && echo at home
echo variables $(env | sed 's/=.*//' | sort)"#;

/// A tick as a careless crontab would start it.
fn careless_tick(site: &Site) -> Command {
    let script = "trap '' TERM INT HUP PIPE XFSZ XCPU USR1 CHLD; ulimit -S -c unlimited -n 77 -t 1000 -f 100000; umask 777; \
                  exec 7</etc/passwd; SECRET=x; export SECRET; exec \"$@\"";
    let tick = site.command(&TICK);
    let mut careless = Command::new("/bin/bash");
    careless.args(["-c", script, "bash"]).arg(tick.get_program()).args(tick.get_args());
    careless.current_dir(site.dir()).env_clear();
    careless.envs(tick.get_envs().filter_map(|(name, value)| Some((name, value?))));
    careless
}

#[test]
fn nothing_of_what_a_tick_inherited_reaches_the_exporter() {
    let settings = "env = { EXTRA = \"1\" }\nlimits = { open_files = 200, cpu = \"10s\", file_size = \"1MB\" }";
    let site = Site::new().exporter_with(TELL, settings).create();
    site.ask("Emma").exits(75);
    crate::support::site::Done::of(&mut careless_tick(&site)).exits(0).stderr("");
    let path = site.cached("epub/Emma.epub");
    let said = fs::read_to_string(&path).unwrap_or_else(|_| site.text("SELECT detail || log_tail FROM attempt"));
    for line in [
        "SigBlk:\t0000000000000000",
        "SigIgn:\t0000000000000000",
        "core 0 0 files 200 size 1953 cpu 11",
        "umask 0027 oom 1000",
        "stdin /dev/null fds 4", // the fourth is that of ls itself
        "at home",
        "variables EXTRA HOME LANG PATH PRESSROOM_ATTEMPT PRESSROOM_MESSAGE PRESSROOM_OUTPUT PRESSROOM_PARAMS \
         PRESSROOM_PROGRESS PWD TMPDIR TZ XDG_CACHE_HOME XDG_CONFIG_HOME XDG_DATA_HOME XDG_RUNTIME_DIR XDG_STATE_HOME",
    ] {
        assert!(said.lines().any(|said| said == line), "no {line:?} in\n{said}");
    }
    site.ask("Emma").exits(0);
}

/// The kernel takes 128 KiB of one variable; a run whose claim is longer reads it from the database.
#[test]
fn a_claim_that_is_too_long_for_the_environment_is_carried_out_all_the_same() {
    let text = "max_bytes = 60000\n[exporter.epub.params.text]\nmax_bytes = 60000\nkey = false\n";
    let site = Site::new().exporter(r#"wc -c <"$PRESSROOM_PARAMS" >"$1""#).more(text).create();
    let (title, text) = (format!("title={}", "x".repeat(59_000)), format!("text={}", "y".repeat(59_000)));
    let ask = || site.run(&["request", "epub", &title, &text]);
    ask().exits(75);
    site.tick().exits(0).stderr("");
    let ready = ask().exits(0).out();
    let file = ready.trim_end().strip_prefix("ready ").expect("a path");
    assert!(fs::read_to_string(file).unwrap().trim().parse::<usize>().unwrap() > 118_000);
}
