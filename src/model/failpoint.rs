//! Failpoints: named places at which a test may abort, kill or pause the program. Only debug builds, which the tests use,
//! have them, and release builds with the feature `failpoints`, for the same tests on the optimised program.
//!
//! `PRESSROOM_FAILPOINT` holds `name=abort`, `name=kill` or `name=pause:PATH`, several separated by spaces. A pause
//! makes the file `PATH.reached` and goes on when `PATH` exists (or after a minute).

/// The place `name` is reached.
#[cfg(any(debug_assertions, feature = "failpoints"))]
pub fn at(name: &str) {
    let Ok(failpoints) = std::env::var("PRESSROOM_FAILPOINT") else { return };
    let action = failpoints.split(' ').find_map(|one| one.split_once('=').filter(|(known, _)| *known == name));
    match action.map(|(_, action)| action) {
        Some("abort") => std::process::abort(),
        Some("kill") => kill(),
        Some(pause) => wait_for(pause.strip_prefix("pause:").expect("abort, kill or pause:PATH")),
        None => {}
    }
}

#[cfg(not(any(debug_assertions, feature = "failpoints")))]
pub const fn at(_name: &str) {}

#[cfg(any(debug_assertions, feature = "failpoints"))]
fn kill() {
    use nix::sys::signal::{Signal, raise};
    raise(Signal::SIGKILL).expect("SIGKILL to ourselves");
}

#[cfg(any(debug_assertions, feature = "failpoints"))]
fn wait_for(path: &str) {
    std::fs::write(format!("{path}.reached"), "").expect("the test's directory exists");
    for _ in 0..6000 {
        if std::path::Path::new(path).exists() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}
