//! The marker that makes a directory ours.

pub(super) const NAME: &str = ".pressroom";
