//! imagequant: finds a palette for an image and maps the pixels to it. It sums the pixels up for k-means by a
//! `par_bridge` over chunks, and maps and dithers in tasks of `rayon::in_place_scope`.

use rgb::RGBA;

use crate::picture::picture;

const WIDTH: usize = 640;
const HEIGHT: usize = 480;

pub(crate) fn make() -> Box<dyn FnMut() -> u64> {
    let pixels: Vec<_> =
        picture(WIDTH, HEIGHT).chunks_exact(3).map(|rgb| RGBA::new(rgb[0], rgb[1], rgb[2], 255)).collect();
    Box::new(move || {
        let attributes = imagequant::new();
        let mut image = attributes.new_image_borrowed(&pixels, WIDTH, HEIGHT, 0.0).unwrap();
        let mut result = attributes.quantize(&mut image).unwrap();
        let (palette, indices) = result.remapped(&mut image).unwrap();
        assert_eq!(indices.len(), pixels.len());
        let pairs = pixels.iter().zip(&indices);
        let off: u64 = pairs.map(|(pixel, index)| u64::from(pixel.g.abs_diff(palette[usize::from(*index)].g))).sum();
        assert!(off < 4 * pixels.len() as u64, "the image is another");
        // The threads' sums are added in no fixed order, so that the colours may vary.
        palette.len() as u64
    })
}
