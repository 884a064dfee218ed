//! The runner of `ff-cl`.

filch_runner::fence_free!("ff-cl", FfCl);
