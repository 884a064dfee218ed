//! In handle style: the inner loop has the handle of the worker that runs the outer iteration.

use super::{Image, filter_rows};

/// Filters all images, on the global pool. A worker makes a buffer for each part of a loop that it begins or steals, not
/// for each row.
pub fn filter(images: &mut [Image]) {
    let each = |mut w: filch::Worker<'_>, image: &mut Image| {
        let source = image.clone();
        let mut rows: Vec<_> = image.pixels.chunks_mut(source.width).enumerate().collect();
        w.fold_blocks(&mut rows[..], Vec::new(), |window, rows| filter_rows(&source, rows, window), |window, _| window);
    };
    filch::ThreadPool::global().run(|mut w| w.fork_all(images, each, (), |(), ()| ()));
}
