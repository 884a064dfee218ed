//! imageproc: turns an image by some degrees and then looks for a piece of it. It does the rows of pixels of either by
//! a parallel iterator, the turned ones by default and the comparisons in a function of its own name.

use imageproc::geometric_transformations::{Border, Interpolation, rotate_about_center};
use imageproc::image::imageops::{crop_imm, grayscale};
use imageproc::image::{Rgb, RgbImage};
use imageproc::template_matching::{MatchTemplateMethod, find_extremes, match_template_parallel};

use crate::checksum::checksum;
use crate::picture::picture;

const WIDTH: u32 = 480;
const HEIGHT: u32 = 360;

pub(crate) fn make() -> Box<dyn FnMut() -> u64> {
    let image = RgbImage::from_raw(WIDTH, HEIGHT, picture(WIDTH as usize, HEIGHT as usize)).unwrap();
    Box::new(move || {
        let turned = rotate_about_center(&image, 0.3, Interpolation::Bicubic, Border::Constant(Rgb([0, 0, 0])));
        let turned = grayscale(&turned);
        let piece = crop_imm(&turned, 200, 150, 16, 16).to_image();
        let errors = match_template_parallel(&turned, &piece, MatchTemplateMethod::SumOfSquaredErrors);
        let found = find_extremes(&errors);
        assert_eq!((found.min_value, found.min_value_location), (0.0, (200, 150)));
        checksum(turned.iter().copied()) ^ u64::from(found.max_value.to_bits())
    })
}
