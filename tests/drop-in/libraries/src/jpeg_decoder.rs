//! jpeg-decoder: decodes a progressive photograph-like image. It reads the Huffman codes on the calling thread, which
//! takes most of the time in any use; then it spawns a task a row of blocks in `rayon::in_place_scope`, and converts
//! rows of pixels by a parallel iterator.

use jpeg_decoder::{Decoder, PixelFormat};
use jpeg_encoder::{ColorType, Encoder};

use crate::picture::picture;

const WIDTH: u16 = 2400;
const HEIGHT: u16 = 1800;

pub(crate) fn make() -> Box<dyn FnMut() -> u64> {
    let picture = picture(WIDTH.into(), HEIGHT.into());
    let mut file = Vec::new();
    let mut encoder = Encoder::new(&mut file, 80);
    encoder.set_progressive(true);
    encoder.encode(&picture, WIDTH, HEIGHT, ColorType::Rgb).unwrap();
    Box::new(move || {
        let mut decoder = Decoder::new(&file[..]);
        let pixels = decoder.decode().unwrap();
        assert_eq!(decoder.info().unwrap().pixel_format, PixelFormat::RGB24);
        assert_eq!(pixels.len(), picture.len());
        let off: u64 = pixels.iter().zip(&picture).map(|(a, b)| u64::from(a.abs_diff(*b))).sum();
        assert!(off < 8 * pixels.len() as u64, "the image is another");
        off
    })
}
