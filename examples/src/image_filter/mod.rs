//! A median filter on several images: a loop over images, in it a loop over rows, each with a scratch buffer.

mod with_filch;
#[cfg(test)]
mod with_rayon;

pub use with_filch::filter;

/// A grey image, row by row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// Pixels in a row.
    pub width: usize,
    /// A whole number of rows.
    pub pixels: Vec<u8>,
}

impl Image {
    /// Returns an image of noise.
    pub fn noise(width: usize, height: usize, seed: u32) -> Self {
        let mut state = seed.wrapping_mul(2).wrapping_add(1);
        let mut noise = || {
            state = state.wrapping_mul(0x0019_660d).wrapping_add(0x3c6e_f35f);
            state.to_be_bytes()[0]
        };
        Self { width, pixels: (0..width * height).map(|_| noise()).collect() }
    }
}

/// Sets each pixel of row `y` to the median of the pixels around it in `source`. Keeps them in `window`.
fn filter_row(source: &Image, y: usize, row: &mut [u8], window: &mut Vec<u8>) {
    let height = source.pixels.len() / source.width;
    for (x, pixel) in row.iter_mut().enumerate() {
        window.clear();
        for near in y.saturating_sub(1)..(y + 2).min(height) {
            let line = &source.pixels[near * source.width..][..source.width];
            window.extend(&line[x.saturating_sub(1)..(x + 2).min(source.width)]);
        }
        let middle = window.len() / 2;
        *pixel = *window.select_nth_unstable(middle).1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sequential(images: &mut [Image]) {
        for image in images {
            let source = image.clone();
            for (y, row) in image.pixels.chunks_mut(source.width).enumerate() {
                filter_row(&source, y, row, &mut Vec::new());
            }
        }
    }

    #[test]
    fn both_versions_filter_as_a_plain_loop() {
        let sizes = [(1, 1), (40, 30), (7, 100), (64, 3), (2, 1)];
        let images: Vec<_> = sizes.iter().zip(1..).map(|(&(w, h), seed)| Image::noise(w, h, seed)).collect();
        let filtered = |filter: fn(&mut [Image])| {
            let mut images = images.clone();
            filter(&mut images);
            images
        };
        let expected = filtered(sequential);
        assert_ne!(expected, images);
        assert_eq!(filtered(filter), expected);
        assert_eq!(filtered(with_rayon::filter), expected);
    }

    #[test]
    fn a_speck_disappears() {
        let mut image = Image { width: 5, pixels: vec![9; 25] };
        image.pixels[12] = 200;
        filter(std::slice::from_mut(&mut image));
        assert_eq!(image.pixels, [9; 25]);
    }
}
