//! ndarray: arithmetic on matrices, element by element (`par_azip!`) and row by row (`axis_iter` with `into_par_iter`),
//! which split the arrays by rayon's joins (feature `rayon`).

use crate::numbers::numbers;
use ndarray::parallel::prelude::*;
use ndarray::{Array2, Axis, par_azip};

const SIDE: usize = 1000;

/// Returns a run: the distances of a million pairs of places on the globe, and a checksum of the longest ones.
pub(crate) fn make() -> Box<dyn FnMut() -> u64> {
    let numbers = numbers(2 * SIDE * SIDE);
    let angles = |numbers: &[u64], range: f64| {
        let angles = numbers.iter().map(|&x| ((x >> 11) as f64 / (1_u64 << 53) as f64 - 0.5) * range).collect();
        Array2::from_shape_vec((SIDE, SIDE), angles).unwrap()
    };
    let latitudes = angles(&numbers[..SIDE * SIDE], 180.0);
    let longitudes = angles(&numbers[SIDE * SIDE..], 360.0);
    let mut distances = Array2::zeros((SIDE, SIDE));
    Box::new(move || {
        // From 50° north, 10° east, by the haversine formula.
        par_azip!((distance in &mut distances, &latitude in &latitudes, &longitude in &longitudes) {
            let (from, to) = (50_f64.to_radians(), latitude.to_radians());
            let (sine, turn) = (((to - from) / 2.0).sin(), ((longitude - 10.0).to_radians() / 2.0).sin());
            let haversine = sine * sine + from.cos() * to.cos() * turn * turn;
            *distance = 2.0 * 6371.0 * haversine.sqrt().asin();
        });
        let longest: Vec<f64> =
            distances.axis_iter(Axis(0)).into_par_iter().map(|row| row.fold(0.0, |a: f64, &b| a.max(b))).collect();
        // Half the globe's circumference is the longest distance.
        assert!(longest.iter().all(|&distance| (15_000.0..20_016.0).contains(&distance)));
        longest.iter().zip(1..).map(|(distance, weight)| weight * (distance * 1000.0).round() as u64).sum()
    })
}
