//! placeholder
use crate::{group::Group, setup::Setup};
pub fn measure(_: &Setup) -> anyhow::Result<Vec<Group>> {
    Ok(Vec::new())
}
