//! ark-ec (with ark-bls12-381): a sum of points of an elliptic curve, each times a scalar. The points are split into as
//! many chunks as there are pairs of threads, and a pool of two threads is made for each chunk (feature `parallel`).

use crate::numbers::numbers;
use ark_bls12_381::{Fr, G1Projective};
use ark_ec::{CurveGroup as _, PrimeGroup as _, VariableBaseMSM as _};

const POINTS: usize = 1 << 13;

/// Returns a run: the sum, and a checksum of its coordinates.
pub(crate) fn make() -> Box<dyn FnMut() -> u64> {
    let generator = G1Projective::generator();
    // The points are multiples of the generator, so the sum is known.
    let points: Vec<_> = std::iter::successors(Some(generator), |point| Some(point + generator)).take(POINTS).collect();
    let points = G1Projective::normalize_batch(&points);
    let scalars: Vec<Fr> =
        numbers(4 * POINTS).chunks(4).map(|parts| parts.iter().map(|&part| Fr::from(part)).product()).collect();
    let expected = generator * scalars.iter().zip(1_u64..).map(|(scalar, i)| *scalar * Fr::from(i)).sum::<Fr>();
    Box::new(move || {
        let sum = G1Projective::msm(&points, &scalars).unwrap();
        assert_eq!(sum, expected);
        sum.into_affine().x.0.0[0]
    })
}
