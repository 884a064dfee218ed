//! What the document proves of expected numbers of steps (section 3, lemmas A.2, A.12 and A.13).

use crate::dag::Dag;
use crate::engine::{Machine, Protocol};

/// κ: the value above ln 2 that minimizes κ/(1 − 2e^−κ) (lemma A.13).
pub(crate) const KAPPA: f64 = 1.678_346_990_016_660_5;

/// Bounds for a computation on a machine.
///
/// ```
/// use filch_sim::{Bound, Machine, Protocol, Shape};
///
/// let dag = "balanced:depth=12,grain=10".parse::<Shape>()?.dag();
/// let bound = |protocol| Bound::new(&dag, Machine { workers: 8, delta: 50, protocol });
/// assert!(bound(Protocol::Sender).steps() < bound(Protocol::Receiver).steps());
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Bound {
    work: f64,
    span: f64,
    forks: f64,
    workers: f64,
    delta: f64,
    protocol: Protocol,
}

impl Bound {
    /// Returns the bounds for a computation on a machine.
    pub fn new(dag: &Dag, machine: Machine) -> Self {
        let Machine { workers, delta, protocol } = machine;
        #[expect(clippy::cast_precision_loss, reason = "far below 2⁵³")]
        let (work, workers) = (dag.work() as f64, workers as f64);
        Self { work, span: dag.span().into(), forks: dag.forks().into(), workers, delta: delta.into(), protocol }
    }

    /// μ, the weight of depth in the potential (definition A.1).
    pub(crate) fn mu(&self) -> f64 {
        (1.0 - 2.0 * (-KAPPA).exp()) / (self.protocol.contention() * self.delta)
    }

    /// The factor 1 + 1/(δ − 1) by which attempts lengthen all work.
    pub fn overhead(&self) -> f64 {
        1.0 + 1.0 / (self.delta - 1.0)
    }

    /// The expected communication tokens, T1/(δ − 1): an equation (lemma A.2).
    pub fn communication(&self) -> f64 {
        self.work / (self.delta - 1.0)
    }

    /// The standard deviation of the communication tokens: they are the attempts among busy steps until T1 of those
    /// have run a node, so their distribution is negative binomial.
    pub fn communication_deviation(&self) -> f64 {
        (self.work * self.delta).sqrt() / (self.delta - 1.0)
    }

    /// r: the number of idle workers is at most r times the expected fall of ln Φ in a step (lemma A.9).
    pub(crate) fn r(&self) -> f64 {
        self.overhead() * (self.workers - 1.0) / -(-self.mu()).exp_m1()
    }

    /// The most idle tokens that are expected: r·ln Φ of the first configuration (lemma A.12).
    pub fn idle(&self) -> f64 {
        self.r() * (self.mu() * self.span + KAPPA * self.forks)
    }

    /// The most steps that are expected (lemma A.13).
    pub fn steps(&self) -> f64 {
        (self.work + self.communication() + self.idle()) / self.workers
    }

    /// The least steps that any schedule needs in which δ lengthens the work: T1/P, with [`Bound::overhead`].
    pub fn perfect(&self) -> f64 {
        self.overhead() * self.work / self.workers
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::Shape;

    #[test]
    fn kappa_is_the_minimum_that_the_document_prints() {
        let at = |kappa: f64| kappa / (1.0 - 2.0 * (-kappa).exp());
        assert!(at(KAPPA) < at(KAPPA - 1e-4) && at(KAPPA) < at(KAPPA + 1e-4));
        assert!((KAPPA - 1.67835).abs() < 1e-5 && (at(KAPPA) - 2.67835).abs() < 1e-5 && at(KAPPA) < 2.68);
        assert!((1.0 - 2.0 * (-KAPPA).exp() - 0.626_637).abs() < 2e-6);
    }

    /// Section 3 takes μ/(1 − e^−μ) for 1 + 0.31/(c·δ), and for 1. It is never below 1, as lemma A.7 needs.
    #[test]
    fn the_factor_of_the_span_is_near_one() {
        let dag = "fib:n=1".parse::<Shape>().unwrap().dag();
        for protocol in Protocol::EVERY {
            for delta in 2..1000 {
                let bound = Bound::new(&dag, Machine { workers: 2, delta, protocol });
                let factor = bound.mu() * bound.r() / bound.overhead();
                let about = 1.0 + 0.31 / (protocol.contention() * f64::from(delta));
                assert!(factor > 1.0 && (factor - about).abs() < 0.01 && (delta < 10 || factor < 1.032), "δ = {delta}");
            }
        }
    }

    /// The formula as lemma A.13 prints it.
    #[test]
    fn steps_are_bounded_as_printed() {
        let dag = "fib:n=16".parse::<Shape>().unwrap().dag();
        for (protocol, c) in [(Protocol::Sender, 1.0), (Protocol::Receiver, 1.0 / (1.0 - 1.0 / std::f64::consts::E))] {
            for delta in [2, 10, 200] {
                let bound = Bound::new(&dag, Machine { workers: 30, delta, protocol });
                let delta = f64::from(delta);
                let mu: f64 = 0.626_637 / (c * delta);
                let (work, span, forks) = (3.0 * 1597.0 - 2.0, 31.0, 15.0);
                let printed = (1.0 + 1.0 / (delta - 1.0))
                    * (work / 30.0 + 29.0 / 30.0 * mu / (1.0 - (-mu).exp()) * (span + 2.678_35 * c * delta * forks));
                assert!((bound.steps() / printed - 1.0).abs() < 1e-5, "{} {printed}", bound.steps());
            }
        }
    }
}
