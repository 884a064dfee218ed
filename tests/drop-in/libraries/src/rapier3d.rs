//! rapier3d: lets boxes fall onto a floor. A step looks for pairs, computes their contacts and solves them, each on all
//! threads of the global pool: by parallel iterators, by `rayon::broadcast`, and by a scope whose tasks, one a thread,
//! wait for each other, turning.

use crate::checksum::checksum;
use rapier3d::prelude::*;

pub(crate) fn make() -> Box<dyn FnMut() -> u64> {
    Box::new(move || {
        let mut world = PhysicsWorld::new();
        world.insert(RigidBodyBuilder::fixed(), ColliderBuilder::cuboid(50.0, 0.5, 50.0));
        let handles: Vec<_> = (0..3000)
            .map(|number| {
                let [x, y, z] = [number % 10, number / 300, number / 10 % 30].map(|part| part as f32 * 1.05);
                let body = RigidBodyBuilder::dynamic().translation(Vector::new(x - 5.0 + y * 0.02, y + 1.1, z - 5.0));
                world.insert(body, ColliderBuilder::cuboid(0.5, 0.5, 0.5)).0
            })
            .collect();
        for _ in 0..15 {
            world.step();
        }
        let heights: Vec<f32> = handles.iter().map(|handle| world.bodies[*handle].translation().y).collect();
        // Half a box's and half the floor's thickness, less what boxes sink into each other under a load.
        assert!(heights.iter().all(|height| (0.9..11.0).contains(height)), "{heights:?}");
        checksum(heights.iter().map(|height| height.to_bits()))
    })
}
