//! The times of fourteen programs on private deques, over those on concurrent ones.

use super::printed;
use crate::experiment::claim::{Claim, Limit, Need};
use crate::experiment::paper::{PRIVATE, Paper, Table};
use crate::experiment::quantity::{Comparison, Measure, Pick, Quantity};
use crate::experiment::{Contender, Effort, Experiment, Plot, Program, each};
use crate::experiments::two_and_all;

static PAPER: Paper = Paper {
    document: &PRIVATE,
    place: "figure 4",
    shows: "Receiver-initiated and sender-initiated private deques take about as long as concurrent deques in the same framework. Loops are \
            halved down to 10 µs of work; Cilk Plus divides them into 8P parts, which explains its times of sample sort. The text says that \
            the grid has three dimensions, the table says two.",
    tables: &[Table {
        caption: "Speed-up and seconds of Chase–Lev deques on 30 processors, and how much longer the others take, in per cent.",
        heads: &["program", "speed-up", "seconds", "receiver-initiated", "sender-initiated", "Cilk Plus"],
        rows: &[
            &["matmul", "21.7", "2.61", "−18", "−18", "−3"],
            &["cilksort(exptintseq)", "18.6", "1.32", "−2", "0", "−7"],
            &["cilksort(randintseq)", "21.7", "1.51", "−2", "0", "−7"],
            &["fibonacci", "26.2", "4.11", "−2", "+1", "−3"],
            &["matching(eggrid2d)", "19.6", "0.44", "+9", "+12", "+9"],
            &["matching(egrlg)", "20.0", "0.72", "−1", "+2", "+5"],
            &["matching(egrmat)", "20.1", "0.90", "0", "+4", "+6"],
            &["MIS(grid2d)", "17.5", "0.19", "+2", "0", "+5"],
            &["MIS(rlg)", "17.9", "0.21", "−4", "−2", "+7"],
            &["MIS(rmat)", "18.5", "0.16", "+1", "+4", "+7"],
            &["hull(plummer2d)", "18.0", "0.27", "+6", "+4", "−5"],
            &["hull(uniform2d)", "19.1", "0.55", "+2", "+2", "−3"],
            &["sort(exptseq)", "23.2", "1.90", "−4", "−4", "+29"],
            &["sort(randdblseq)", "23.5", "2.84", "−7", "−6", "+25"],
        ],
    }],
    marks: &[],
};

/// The programs, in the order of the table.
const PROGRAMS: [[Option<&str>; 3]; 14] = [
    [Some("matmul-inplace:n=256"), Some("matmul-inplace:n=512"), Some("matmul-inplace:n=3500")],
    [
        Some("cilksort:n=300000:input=exponential"),
        Some("cilksort:n=1000000:input=exponential"),
        Some("cilksort:n=240000000:input=exponential"),
    ],
    [Some("cilksort:n=300000"), Some("cilksort:n=1000000"), Some("cilksort:n=240000000")],
    [Some("fib:n=33:cutoff=18"), Some("fib:n=38:cutoff=18"), Some("fib:n=48:cutoff=18")],
    [
        Some("matching:graph=grid:n=100000:grain=leaves"),
        Some("matching:graph=grid:n=300000:grain=leaves"),
        Some("matching:graph=grid:n=40000000:grain=leaves"),
    ],
    [
        Some("matching:graph=randlocal:n=50000:grain=leaves"),
        Some("matching:graph=randlocal:n=200000:grain=leaves"),
        Some("matching:graph=randlocal:n=40000000:grain=leaves"),
    ],
    [
        Some("matching:graph=rmat:n=50000:grain=leaves"),
        Some("matching:graph=rmat:n=200000:grain=leaves"),
        Some("matching:graph=rmat:n=40000000:grain=leaves"),
    ],
    [
        Some("mis:graph=grid:n=100000:grain=leaves"),
        Some("mis:graph=grid:n=400000:grain=leaves"),
        Some("mis:graph=grid:n=40000000:grain=leaves"),
    ],
    [
        Some("mis:graph=randlocal:n=100000:grain=leaves"),
        Some("mis:graph=randlocal:n=400000:grain=leaves"),
        Some("mis:graph=randlocal:n=40000000:grain=leaves"),
    ],
    [
        Some("mis:graph=rmat:n=100000:grain=leaves"),
        Some("mis:graph=rmat:n=400000:grain=leaves"),
        Some("mis:graph=rmat:n=40000000:grain=leaves"),
    ],
    [
        Some("hull:n=300000:input=plummer:grain=leaves"),
        Some("hull:n=1000000:input=plummer:grain=leaves"),
        Some("hull:n=100000000:input=plummer:grain=leaves"),
    ],
    [Some("hull:n=300000:grain=leaves"), Some("hull:n=1000000:grain=leaves"), Some("hull:n=100000000:grain=leaves")],
    [
        Some("samplesort:n=150000:input=exponential:grain=leaves"),
        Some("samplesort:n=600000:input=exponential:grain=leaves"),
        Some("samplesort:n=240000000:input=exponential:grain=leaves"),
    ],
    [
        Some("samplesort:n=150000:grain=leaves"),
        Some("samplesort:n=600000:grain=leaves"),
        Some("samplesort:n=240000000:grain=leaves"),
    ],
];

const BASE: &str = "filch chase-lev:idle=spin:victims=one random";
const RECEIVER: &str = "filch pdq-r:idle=spin:victims=one random";
const SENDER: &str = "filch pdq-s:idle=spin:victims=one random";

pub(super) fn experiment() -> Experiment {
    let printed = ["chase-lev", "pdq-r", "pdq-s"].map(printed).into_iter();
    let ours = ["pdq-r2-async", "pdq-s-told"].map(Contender::pool);
    let contenders: Vec<Contender> = printed.chain(ours).chain([Contender::peer("rayon")]).collect();
    let time_over = |over| Measure::Over(Quantity::Time, Pick::any(over));
    let like = |text, who, limit| Claim::new(text, Pick::any(who), time_over(BASE), limit).on(2);
    let mean = |text, who, over, limit| {
        Claim::new(text, Pick::any(who), Measure::MeanOver(Quantity::Time, Pick::any(over)), limit).on(2)
    };
    const OTHERS: &[&str] = &["cilksort", "fib", "matching", "mis", "hull", "samplesort"];
    Experiment {
        name: Some("private-fig4"),
        entries: each(&PROGRAMS.map(Program::sized), &contenders),
        workers: two_and_all(30),
        effort: Effort { budget: 60, visit: 0.03, ..Effort::default() },
        columns: &["median", "spread", "speedup", "to-baseline", "steals"],
        plots: &[Plot::Times, Plot::Speedup],
        claims: vec![
            // "Usually within 2 %"; by the table, 1.2 % on average.
            mean(
                "Who initiates the transfer does not matter: on average, both private deques take as long.",
                RECEIVER,
                SENDER,
                Limit::Within(0.97, 1.03),
            ),
            // By the table 1.4 % less, without the matrix product as long; other processors' fences cost more or less.
            mean(
                "On average, receiver-initiated deques take as long as concurrent ones.",
                RECEIVER,
                BASE,
                Limit::Within(0.95, 1.05),
            ),
            mean("So do sender-initiated ones.", SENDER, BASE, Limit::Within(0.95, 1.05)),
            // From −7 to +9, and from −6 to +12 % in the table.
            like("On no program do they differ by more than a tenth.", RECEIVER, Limit::Within(0.9, 1.1))
                .in_programs(OTHERS),
            like("Sender-initiated ones by no more than an eighth.", SENDER, Limit::Within(0.88, 1.125))
                .in_programs(OTHERS),
            // +9 and +12 % in the table.
            like("Matching on the grid takes a tenth longer.", RECEIVER, Limit::Within(1.05, 1.15))
                .in_programs(&["matching:graph=grid"]),
            like("So it does on sender-initiated ones.", SENDER, Limit::Within(1.05, 1.15))
                .in_programs(&["matching:graph=grid"]),
            // −4 to −7 % in the table.
            like("Sample sort takes a little less time.", RECEIVER, Limit::Within(0.9, 0.98))
                .in_programs(&["samplesort"]),
            // −18 % in the table, for both.
            like(
                "In the matrix product the owner's fence matters: without it, the time is shorter by a sixth.",
                RECEIVER,
                Limit::Below(0.85),
            )
            .in_programs(&["matmul-inplace"]),
            like("On sender-initiated ones, too.", SENDER, Limit::Below(0.85)).in_programs(&["matmul-inplace"]),
            // 7 % longer at most than Cilk Plus, for which rayon stands.
            Claim::new(
                "The baseline never takes much longer than the library that is widely used.",
                Pick::any(BASE),
                time_over("rayon"),
                Limit::Below(1.08),
            )
            .on(2),
            // +25 and +29 % in the table.
            Claim::new(
                "On sample sort the library takes a quarter longer than the baseline.",
                Pick::any(BASE),
                time_over("rayon"),
                Limit::Below(0.85),
            )
            .on(2)
            .in_programs(&["samplesort"])
            .needs(Need::Else("It needs Cilk Plus, which divides loops into 8P parts")),
            Claim::new(
                "On 30 processors the baseline is 17 to 27 times as fast as the sequential program.",
                Pick::any(BASE),
                Measure::Of(Comparison::Speedup),
                Limit::Within(17.0, 27.0),
            )
            .needs(Need::Processors(30)),
        ],
        differs: &[
            "rayon stands for Cilk Plus.",
            "A worker that joins a stolen branch runs other tasks on its stack meanwhile; the paper's leaves, and whoever ends the last branch \
             goes on.",
        ],
        paper: Some(&PAPER),
        ..Experiment::new("Do private deques cost time, compared with concurrent ones?")
    }
}
