//! exr: writes a compressed image into memory and reads it again. Both make a pool of their own, spawn a task a block
//! into it, and receive the blocks by a channel on the calling thread.

use std::io::Cursor;

use exr::prelude::*;

use crate::checksum::checksum;
use crate::numbers::numbers;

const WIDTH: usize = 640;
const HEIGHT: usize = 480;

type Pixel = (f32, f32, f32, f32);

pub(crate) fn make() -> Box<dyn FnMut() -> u64> {
    let noise = numbers(WIDTH * HEIGHT);
    let pixel = move |place: Vec2<usize>| {
        let noise = (noise[place.y() * WIDTH + place.x()] % 32) as f32 / 1024.0;
        (place.x() as f32 / WIDTH as f32, place.y() as f32 / HEIGHT as f32, noise, 1.0)
    };
    Box::new(move || {
        let mut file = Vec::new();
        let channels = SpecificChannels::rgba(&pixel);
        let image = Image::from_encoded_channels((WIDTH, HEIGHT), Encoding::SMALL_LOSSLESS, channels);
        image.write().to_buffered(Cursor::new(&mut file)).unwrap();
        let image = read()
            .no_deep_data()
            .largest_resolution_level()
            .rgba_channels(
                |size: Vec2<usize>, _: &_| vec![vec![Pixel::default(); size.width()]; size.height()],
                |rows: &mut Vec<Vec<Pixel>>, place, pixel: Pixel| rows[place.y()][place.x()] = pixel,
            )
            .first_valid_layer()
            .all_attributes()
            .from_buffered(Cursor::new(&file))
            .unwrap();
        let rows = &image.layer_data.channel_data.pixels;
        for (y, row) in rows.iter().enumerate().step_by(50) {
            row.iter().enumerate().for_each(|(x, found)| assert_eq!(*found, pixel(Vec2(x, y))));
        }
        checksum(file)
    })
}
