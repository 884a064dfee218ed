//! In handle style: the inner loop has the handle of the worker that runs the outer iteration.

use super::{Image, filter_row};

/// Filters all images, on the global pool. Each worker makes one buffer for the rows of an image.
pub fn filter(images: &mut [Image]) {
    let each = |mut w: filch::Worker<'_>, image: &mut Image| {
        let source = image.clone();
        let mut rows: Vec<_> = image.pixels.chunks_mut(source.width).enumerate().collect();
        w.for_each_init(&mut rows[..], Vec::new, |window, (y, row)| filter_row(&source, *y, row, window));
    };
    filch::ThreadPool::global().run(|mut w| w.for_each_with(images, each));
}
