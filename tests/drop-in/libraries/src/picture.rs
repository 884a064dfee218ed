//! An image for the codecs.

use crate::numbers::numbers;

/// Returns RGB bytes of a picture with soft gradients, edges and a little noise, as a photograph has.
pub(crate) fn picture(width: usize, height: usize) -> Vec<u8> {
    let noise = numbers(width * height);
    let pixel = |(place, noise): (usize, u64)| {
        let (x, y) = (place % width, place / width);
        let edge = if (x / 97 + y / 61).is_multiple_of(3) { 60 } else { 0 };
        let wave = ((x as f32 / 40.0).sin() * (y as f32 / 55.0).cos() * 50.0 + 60.0) as u8;
        [x * 90 / width, y * 90 / height, (x + y) * 90 / (width + height)]
            .map(|ramp| ramp as u8 + wave / 2 + edge + (noise % 8) as u8)
    };
    noise.iter().copied().enumerate().flat_map(pixel).collect()
}
