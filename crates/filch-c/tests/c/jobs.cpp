// Jobs: the loop of the job queue's document, trees of children, and exceptions. On as many workers as the first
// argument says.
#include <filch-jobs.hpp>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

namespace {

#define CHECK(...) \
    do { \
        if (!(__VA_ARGS__)) { \
            std::fprintf(stderr, "jobs.cpp:%d: %s\n", __LINE__, #__VA_ARGS__); \
            std::exit(1); \
        } \
    } while (0)

/// The document's program: ten thousand jobs of a small loop, kicked in batches of 256, of which the kicker runs some.
void ten_thousand(filch::team &team)
{
    constexpr size_t JOBS = 10000, BATCH = 256;
    std::vector<unsigned> sums(JOBS), times(JOBS);
    team.run([&](filch::job_worker w) {
        filch::job all = w.create([](filch::job_worker) {}), batch[BATCH];
        size_t made = 0;
        for (size_t n = 0; n < JOBS; n++) {
            batch[made++] = w.create_child(all, [&, n](filch::job_worker) {
                for (unsigned step = 0; step < 100; step++) sums[n] += step;
                times[n]++;
            });
            if (made == BATCH || n + 1 == JOBS) {
                w.kick(batch, made);
                made = 0;
            }
        }
        w.kick(all);
        w.wait(all);
        for (size_t n = 0; n < JOBS; n++) CHECK(times[n] == 1 && sums[n] == 4950);
    });
}

/// Counts its instances.
struct counted {
    static std::atomic<int> alive;
    counted() { ++alive; }
    counted(const counted &) { ++alive; }
    ~counted() { --alive; }
};
std::atomic<int> counted::alive{0};

void grow(filch::job_worker w, std::atomic<long> &nodes, int depth, counted kept)
{
    ++nodes;
    if (depth == 0) return;
    filch::job children[3];
    for (filch::job &child : children) {
        child = w.create([&nodes, depth, kept](filch::job_worker w) { grow(w, nodes, depth - 1, kept); });
    }
    w.kick(children, 3);
    if (depth % 2) {
        for (const filch::job &child : children) w.wait(child);
    }
}

/// Children of a job that is not kicked before they are, and of an ancestor.
void families(filch::team &team)
{
    std::atomic<long> nodes{0};
    std::atomic<bool> is_late{false};
    team.run([&](filch::job_worker w) {
        filch::job root = w.create([&](filch::job_worker w) { grow(w, nodes, 6, counted()); });
        filch::job child = w.create_child(root, [&](filch::job_worker w) {
            w.kick(w.create_child(root, [&](filch::job_worker) { is_late = true; }));
        });
        filch::job grandchild = w.create_child(child, [&](filch::job_worker) { ++nodes; });
        w.kick(grandchild);
        w.kick(child);
        w.kick(root);
        w.wait(root);
        CHECK(nodes == 1094 && is_late);
    });
    CHECK(counted::alive == 0);
}

void exceptions(filch::team &team)
{
    for (int bad : {-1, 0, 7, 999}) {
        int caught = -1;
        try {
            team.run([&](filch::job_worker w) {
                auto far = std::make_shared<counted>();
                for (int n = 0; n < 1000; n++) {
                    w.kick(w.create([n, bad, far](filch::job_worker) {
                        if (n == bad) throw n;
                    }));
                }
            });
        } catch (int thrown) {
            caught = thrown;
        }
        CHECK(caught == bad);
        CHECK(counted::alive == 0);
    }
    try {
        team.run([](filch::job_worker w) {
            w.kick(w.create([](filch::job_worker) { throw 1; }));
            w.kick(w.create([](filch::job_worker) { throw 1; }));
            throw 1;
        });
        CHECK(false);
    } catch (int thrown) {
        CHECK(thrown == 1);
    }
}

} // namespace

int main(int, char **arguments)
{
    filch::team team(std::strtoul(arguments[1], nullptr, 10));
    for (int run = 0; run < 5; run++) {
        ten_thousand(team);
        families(team);
        exceptions(team);
    }
    return 0;
}
