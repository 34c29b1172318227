//! `pressroom.toml`: from text to a checked `Config`. Everything in it has been looked at once; nothing is looked up again later.

pub mod types;

pub use types::*;
