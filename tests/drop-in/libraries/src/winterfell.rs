//! winterfell: proves the result of a long recursive sequence (STARK), and verifies the proof. Transforms, constraints
//! and hashes run in parallel iterators and chunks of a size by the number of threads, Merkle trees in scopes (feature
//! `concurrent`).

use crate::checksum::checksum;
use winterfell::{
    AcceptableOptions, Air, AirContext, Assertion, AuxRandElements, BatchingMethod, CompositionPoly,
    CompositionPolyTrace, ConstraintCompositionCoefficients, DefaultConstraintCommitment, DefaultConstraintEvaluator,
    DefaultTraceLde, EvaluationFrame, FieldExtension, PartitionOptions, ProofOptions, Prover, StarkDomain, TraceInfo,
    TracePolyTable, TraceTable, TransitionConstraintDegree,
    crypto::{DefaultRandomCoin, MerkleTree, hashers::Blake3_256},
    math::{FieldElement, ToElements, fields::f128::BaseElement},
    matrix::ColMatrix,
};

type Hasher = Blake3_256<BaseElement>;

const STEPS: usize = 1 << 12;

/// The first and last value of the second column.
struct Ends([BaseElement; 2]);

impl ToElements<BaseElement> for Ends {
    fn to_elements(&self) -> Vec<BaseElement> {
        self.0.to_vec()
    }
}

/// Steps of `(a, b) -> (b, a * b + a)`.
struct Sequence {
    context: AirContext<BaseElement>,
    ends: Ends,
}

impl Air for Sequence {
    type BaseField = BaseElement;
    type PublicInputs = Ends;

    fn new(trace: TraceInfo, ends: Ends, options: ProofOptions) -> Self {
        let degrees = vec![TransitionConstraintDegree::new(1), TransitionConstraintDegree::new(2)];
        Self { context: AirContext::new(trace, degrees, 2, options), ends }
    }

    fn evaluate_transition<E: FieldElement<BaseField = BaseElement>>(
        &self,
        frame: &EvaluationFrame<E>,
        _periodic: &[E],
        result: &mut [E],
    ) {
        let (now, next) = (frame.current(), frame.next());
        result[0] = next[0] - now[1];
        result[1] = next[1] - (now[0] * now[1] + now[0]);
    }

    fn get_assertions(&self) -> Vec<Assertion<BaseElement>> {
        let [first, last] = self.ends.0;
        vec![Assertion::single(1, 0, first), Assertion::single(1, STEPS - 1, last)]
    }

    fn context(&self) -> &AirContext<BaseElement> {
        &self.context
    }
}

struct SequenceProver(ProofOptions);

impl Prover for SequenceProver {
    type BaseField = BaseElement;
    type Air = Sequence;
    type Trace = TraceTable<BaseElement>;
    type HashFn = Hasher;
    type VC = MerkleTree<Hasher>;
    type RandomCoin = DefaultRandomCoin<Hasher>;
    type TraceLde<E: FieldElement<BaseField = BaseElement>> = DefaultTraceLde<E, Hasher, Self::VC>;
    type ConstraintCommitment<E: FieldElement<BaseField = BaseElement>> =
        DefaultConstraintCommitment<E, Hasher, Self::VC>;
    type ConstraintEvaluator<'a, E: FieldElement<BaseField = BaseElement>> =
        DefaultConstraintEvaluator<'a, Sequence, E>;

    fn get_pub_inputs(&self, trace: &Self::Trace) -> Ends {
        Ends([trace.get(1, 0), trace.get(1, STEPS - 1)])
    }

    fn options(&self) -> &ProofOptions {
        &self.0
    }

    fn new_trace_lde<E: FieldElement<BaseField = BaseElement>>(
        &self,
        info: &TraceInfo,
        trace: &ColMatrix<BaseElement>,
        domain: &StarkDomain<BaseElement>,
        partition: PartitionOptions,
    ) -> (Self::TraceLde<E>, TracePolyTable<E>) {
        DefaultTraceLde::new(info, trace, domain, partition)
    }

    fn build_constraint_commitment<E: FieldElement<BaseField = BaseElement>>(
        &self,
        trace: CompositionPolyTrace<E>,
        columns: usize,
        domain: &StarkDomain<BaseElement>,
        partition: PartitionOptions,
    ) -> (Self::ConstraintCommitment<E>, CompositionPoly<E>) {
        DefaultConstraintCommitment::new(trace, columns, domain, partition)
    }

    fn new_evaluator<'a, E: FieldElement<BaseField = BaseElement>>(
        &self,
        air: &'a Sequence,
        random: Option<AuxRandElements<E>>,
        coefficients: ConstraintCompositionCoefficients<E>,
    ) -> Self::ConstraintEvaluator<'a, E> {
        DefaultConstraintEvaluator::new(air, random, coefficients)
    }
}

/// Returns a run: a proof, and a checksum of its commitments.
pub(crate) fn make() -> Box<dyn FnMut() -> u64> {
    let batching = BatchingMethod::Linear;
    let prover = SequenceProver(ProofOptions::new(32, 8, 0, FieldExtension::None, 8, 31, batching, batching));
    Box::new(move || {
        let mut trace = TraceTable::new(2, STEPS);
        trace.fill(
            |state| state.copy_from_slice(&[BaseElement::ONE, BaseElement::new(7)]),
            |_, state| (state[0], state[1]) = (state[1], state[0] * state[1] + state[0]),
        );
        let ends = prover.get_pub_inputs(&trace);
        let proof = prover.prove(trace).unwrap();
        // What follows the commitments depends on a number that `find_any` has found.
        let fixed = format!("{:?}", proof.commitments);
        let acceptable = AcceptableOptions::MinConjecturedSecurity(95);
        winterfell::verify::<Sequence, Hasher, DefaultRandomCoin<Hasher>, MerkleTree<Hasher>>(proof, ends, &acceptable)
            .unwrap();
        checksum(fixed.bytes())
    })
}
