//! The runner of `thep-apart`.

filch_runner::fence_free!("thep-apart", ThepApart);
