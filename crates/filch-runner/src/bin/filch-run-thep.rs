//! The runner of `thep`.

filch_runner::fence_free!("thep", Thep);
