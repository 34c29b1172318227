//! Which names below `cache/` may be ours: scans pass over all others.

pub(super) use crate::model::filename::{is_name as is_exporter, is_ours};
