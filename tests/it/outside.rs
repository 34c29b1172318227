//! What the other test programs know of programs that are not built here.

#[path = "../outside/mod.rs"]
mod shared;

pub use shared::{assert_valid_epub, has, has_file, skipped};
