//! What happens by chance: numbers, whom a kill may hit, and how long.

use std::{env, fs};

use super::site::Site;

/// Numbers that look random; the same ones for the same seed.
pub struct Dice(pub u64);

impl Dice {
    /// Below `most`.
    pub fn roll(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }
}

pub fn number(name: &str) -> Option<u64> {
    env::var(name).ok()?.parse().ok()
}

/// Our own runs and ticks of this site.
pub fn victims(site: &Site) -> Vec<i32> {
    let config = site.config().into_os_string().into_string().expect("UTF-8");
    let pids =
        fs::read_dir("/proc").expect("/proc").flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let is_ours = |pid: &i32| {
        let line = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let words: Vec<&str> = line.split('\0').collect();
        words
            .get(1..4)
            .is_some_and(|words| words[0] == "--config" && words[1] == config && ["run", "tick"].contains(&words[2]))
    };
    pids.filter(is_ours).collect()
}

pub fn tick(site: &Site, words: &[&str]) -> std::process::Command {
    let config = site.config().into_os_string().into_string().expect("UTF-8");
    site.command(&[&["--config", &config, "tick", "--allow-root"], words].concat())
}
