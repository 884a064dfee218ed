//! The runner of `ff-the`.

filch_runner::fence_free!("ff-the", FfThe);
