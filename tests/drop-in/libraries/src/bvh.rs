//! bvh: builds a bounding volume hierarchy over spheres, as its README does. `Bvh::build_par` sorts the spheres of a
//! node into two sides and does both by `rayon::join`, down to 64 nodes.

use bvh::aabb::{Aabb, Bounded};
use bvh::bounding_hierarchy::{BHShape, BoundingHierarchy};
use bvh::bvh::Bvh;
use bvh::ray::Ray;
use nalgebra::{Point3, Vector3};

use crate::checksum::checksum;
use crate::numbers::numbers;

#[derive(Clone)]
struct Sphere {
    centre: Point3<f32>,
    radius: f32,
    node: usize,
}

impl Bounded<f32, 3> for Sphere {
    fn aabb(&self) -> Aabb<f32, 3> {
        let reach = Vector3::repeat(self.radius);
        Aabb::with_bounds(self.centre - reach, self.centre + reach)
    }
}

impl BHShape<f32, 3> for Sphere {
    fn set_bh_node_index(&mut self, index: usize) {
        self.node = index;
    }

    fn bh_node_index(&self) -> usize {
        self.node
    }
}

pub(crate) fn make() -> Box<dyn FnMut() -> u64> {
    let sphere = |number: u64| Sphere {
        centre: Point3::from([0, 20, 40].map(|bit| (number >> bit & 0xFFFFF) as f32 / 8192.0)),
        radius: 0.5 + (number >> 60) as f32 / 8.0,
        node: 0,
    };
    let spheres: Vec<_> = numbers(100_000).into_iter().map(sphere).collect();
    Box::new(move || {
        let mut spheres = spheres.clone();
        let tree = Bvh::build_par(&mut spheres);
        // A tree of two children a node.
        assert_eq!(tree.nodes.len(), 2 * spheres.len() - 1);
        let ray = Ray::new(Point3::new(-1.0, -1.0, -1.0), Vector3::new(1.0, 1.0, 1.0));
        let hits = tree.traverse(&ray, &spheres);
        let expected = spheres.iter().filter(|sphere| ray.intersects_aabb(&sphere.aabb())).count();
        assert!(hits.len() == expected && expected > 10);
        checksum(spheres.iter().map(|sphere| sphere.node as u64)) ^ hits.len() as u64
    })
}
