//! The runner of `thep-impatient`.

filch_runner::fence_free!("thep-impatient", ImpatientThep);
