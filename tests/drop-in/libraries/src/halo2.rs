//! halo2_proofs: proves that a number of a recursive sequence is known, and verifies the proof. Curve sums are split in
//! scopes, a spawned task for each thread, and the Fourier transforms by joins (feature `multicore`).

use crate::checksum::checksum;
use halo2_proofs::{
    circuit::{Layouter, SimpleFloorPlanner, Value},
    pasta::{EqAffine, Fp},
    plonk::{self, Advice, Circuit, Column, ConstraintSystem, Error, Instance, Selector, SingleVerifier},
    poly::{Rotation, commitment::Params},
    transcript::{Blake2bRead, Blake2bWrite, Challenge255},
};
use rand::{SeedableRng as _, rngs::StdRng};

/// The circuit has two to this power of rows.
const LOG_ROWS: u32 = 9;
const STEPS: usize = 500;

#[derive(Clone, Copy)]
struct Columns {
    a: Column<Advice>,
    b: Column<Advice>,
    step: Selector,
    public: Column<Instance>,
}

/// From `(1, start)`, steps of `(a, b) -> (b, a * b + a)`.
struct Sequence {
    start: Value<Fp>,
}

impl Circuit<Fp> for Sequence {
    type Config = Columns;
    type FloorPlanner = SimpleFloorPlanner;

    fn without_witnesses(&self) -> Self {
        Self { start: Value::unknown() }
    }

    fn configure(meta: &mut ConstraintSystem<Fp>) -> Columns {
        let (a, b) = (meta.advice_column(), meta.advice_column());
        let (step, public) = (meta.selector(), meta.instance_column());
        meta.enable_equality(a);
        meta.enable_equality(b);
        meta.enable_equality(public);
        meta.create_gate("step", |meta| {
            let step = meta.query_selector(step);
            let [next_a, next_b] = [a, b].map(|column| meta.query_advice(column, Rotation::next()));
            let [a, b] = [a, b].map(|column| meta.query_advice(column, Rotation::cur()));
            [step.clone() * (next_a - b.clone()), step * (next_b - (a.clone() * b + a))]
        });
        Columns { a, b, step, public }
    }

    fn synthesize(&self, columns: Columns, mut layouter: impl Layouter<Fp>) -> Result<(), Error> {
        let (first, last) = layouter.assign_region(
            || "sequence",
            |mut region| {
                let (mut a, mut b) = (Value::known(Fp::one()), self.start);
                let first = region.assign_advice(|| "a", columns.a, 0, || a)?.cell();
                let mut last = region.assign_advice(|| "b", columns.b, 0, || b)?.cell();
                for row in 0..STEPS {
                    columns.step.enable(&mut region, row)?;
                    (a, b) = (b, a * b + a);
                    region.assign_advice(|| "a", columns.a, row + 1, || a)?;
                    last = region.assign_advice(|| "b", columns.b, row + 1, || b)?.cell();
                }
                Ok((first, last))
            },
        )?;
        layouter.constrain_instance(first, columns.public, 0)?;
        layouter.constrain_instance(last, columns.public, 1)
    }
}

/// Returns a run: a proof, and a checksum of it.
pub(crate) fn make() -> Box<dyn FnMut() -> u64> {
    let params = Params::<EqAffine>::new(LOG_ROWS);
    let unknown = Sequence { start: Value::unknown() };
    let verifying = plonk::keygen_vk(&params, &unknown).unwrap();
    let proving = plonk::keygen_pk(&params, verifying, &unknown).unwrap();
    let start = Fp::from(7);
    let last = (0..STEPS).fold((Fp::one(), start), |(a, b), _| (b, a * b + a)).1;
    let public = [Fp::one(), last];
    Box::new(move || {
        let circuit = Sequence { start: Value::known(start) };
        let mut transcript = Blake2bWrite::<_, EqAffine, Challenge255<_>>::init(Vec::new());
        let random = StdRng::seed_from_u64(1);
        plonk::create_proof(&params, &proving, &[circuit], &[&[&public]], random, &mut transcript).unwrap();
        let proof = transcript.finalize();
        let mut transcript = Blake2bRead::<_, EqAffine, Challenge255<_>>::init(&proof[..]);
        let strategy = SingleVerifier::new(&params);
        plonk::verify_proof(&params, proving.get_vk(), strategy, &[&[&public]], &mut transcript).unwrap();
        checksum(proof)
    })
}
