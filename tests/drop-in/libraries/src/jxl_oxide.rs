//! jxl-oxide: decodes a lossless JPEG XL image. It decodes the groups of pixels and transforms the channels as tasks
//! of `rayon_core::scope` in the global pool; that is half of the work, copying the pixels out is serial.

use jxl_oxide::JxlImage;
use zune_core::bit_depth::BitDepth;
use zune_core::colorspace::ColorSpace;
use zune_core::options::EncoderOptions;
use zune_jpegxl::JxlSimpleEncoder;

use crate::checksum::checksum;
use crate::picture::picture;

const WIDTH: usize = 1600;
const HEIGHT: usize = 1200;

pub(crate) fn make() -> Box<dyn FnMut() -> u64> {
    let picture = picture(WIDTH, HEIGHT);
    let mut file = Vec::new();
    let options = EncoderOptions::new(WIDTH, HEIGHT, ColorSpace::RGB, BitDepth::Eight);
    JxlSimpleEncoder::new(&picture, options).encode(&mut file).unwrap();
    Box::new(move || {
        let image = JxlImage::builder().read(&file[..]).unwrap();
        let render = image.render_frame(0).unwrap();
        let mut pixels = vec![0_u8; picture.len()];
        assert_eq!(render.stream().write_to_buffer(&mut pixels), pixels.len());
        assert_eq!(pixels, picture);
        checksum(pixels.into_iter().step_by(101))
    })
}
