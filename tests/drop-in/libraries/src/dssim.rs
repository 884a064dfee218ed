//! dssim-core: compares two images at several sizes. It makes the smaller sizes beside the conversion of the larger
//! ones by `rayon::join`, blurs the channels by parallel iterators and compares the sizes by `par_bridge`.

use dssim_core::Dssim;
use rgb::FromSlice;

use crate::picture::picture;

const WIDTH: usize = 800;
const HEIGHT: usize = 600;

pub(crate) fn make() -> Box<dyn FnMut() -> u64> {
    let original = picture(WIDTH, HEIGHT);
    let coarse: Vec<_> = original.iter().map(|byte| byte & 0xF0).collect();
    Box::new(move || {
        let dssim = Dssim::new();
        let [original, coarse] =
            [&original, &coarse].map(|bytes| dssim.create_image_rgb(bytes.as_rgb(), WIDTH, HEIGHT).unwrap());
        let (same, _) = dssim.compare(&original, &original);
        let (other, _) = dssim.compare(&original, &coarse);
        assert!(same < 1e-9 && other > 1e-3);
        // The sizes are added up in the order in which they were finished, so that the last digits vary.
        (f64::from(other) * 1e9).round() as u64
    })
}
