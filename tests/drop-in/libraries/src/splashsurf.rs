//! splashsurf_lib: builds the surface of a ball of particles of a fluid. It sorts the particles into subdomains and
//! does these by parallel iterators of the global pool: densities, marching cubes, and sewing the parts together.

use splashsurf_lib::nalgebra::Vector3;
use splashsurf_lib::{Parameters, reconstruct_surface};

use crate::numbers::numbers;

const SIDE: usize = 36;

pub(crate) fn make() -> Box<dyn FnMut() -> u64> {
    let offset = |number: u64, bit: u64| (number >> bit & 0xFF) as f32 / 1024.0;
    let particle = |(place, number): (usize, u64)| {
        let [x, y, z] = [place % SIDE, place / SIDE % SIDE, place / SIDE / SIDE].map(|part| part as f32);
        Vector3::new(x + offset(number, 0), y + offset(number, 8), z + offset(number, 16))
    };
    let middle = Vector3::repeat(SIDE as f32 / 2.0);
    let all = numbers(SIDE * SIDE * SIDE).into_iter().enumerate().map(particle);
    let particles: Vec<_> = all.filter(|particle| (particle - middle).norm() < SIDE as f32 / 2.0 - 1.0).collect();
    let parameters = Parameters::new_relative(0.5, 4.0, 0.75);
    Box::new(move || {
        let surface = reconstruct_surface::<i64, f32>(&particles, &parameters).unwrap();
        let mesh = surface.mesh;
        let (vertices, triangles) = (mesh.vertices.len() as u64, mesh.triangles.len() as u64);
        // Euler's formula for a closed surface without holes: a triangle has three edges, each shared by two.
        assert_eq!(vertices + triangles, triangles * 3 / 2 + 2);
        // The order of the vertices depends on which subdomain is finished first.
        let far = mesh.vertices.iter().map(|vertex| (vertex - middle).norm()).fold(0.0, f32::max);
        vertices << 32 ^ u64::from(far.to_bits())
    })
}
