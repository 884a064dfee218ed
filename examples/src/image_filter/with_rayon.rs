//! With rayon.

use rayon::prelude::*;

use super::{Image, filter_row};

pub(super) fn filter(images: &mut [Image]) {
    images.par_iter_mut().for_each(|image| {
        let source = image.clone();
        let rows = image.pixels.par_chunks_mut(source.width).enumerate();
        rows.for_each_init(Vec::new, |window, (y, row)| filter_row(&source, y, row, window));
    });
}
