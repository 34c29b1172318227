//! Waiting for the write lock.
