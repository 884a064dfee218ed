/* A runner in plain C: fib and UTS by recursion, on one worker, with only the system's own library.
 *
 *     cc -std=c99 -O2 -o plain-c runner.c -lm
 *     filch compare fib uts --runner ./plain-c
 *
 * docs/runners.md describes the requests and replies. To run your scheduler, put its fork and join into `fib` and
 * `search`, and start it in `start_workers`. The schedulers in crates/filch-peers/cpp use this file too: with ADAPTER
 * defined, `adapter.h` there replaces the recursion.
 */

#define _XOPEN_SOURCE 700

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <time.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* OPAQUE: no instructions, but the compiler no longer knows the value. */
#ifdef __GNUC__
#define OUT_OF_LINE __attribute__((noinline))
#define OPAQUE(value) __asm__("" : "+r"(value))
#else
#define OUT_OF_LINE
#define OPAQUE(value) ((void)(value))
#endif

/* ---- Refusals ---- */

static char why[512];

/* Stores the sentence of the refusal. Returns false, for the caller to return. */
static bool wrong(const char *format, ...) {
    va_list values;
    va_start(values, format);
    vsnprintf(why, sizeof why, format, values);
    va_end(values);
    return false;
}

/* ---- JSON, as far as requests need it ---- */

/* Longer than any name or number known here. */
enum { TEXT = 64 };

/* An object whose values are strings. */
struct texts {
    struct { char name[TEXT], value[TEXT]; } list[32];
    size_t count;
};

struct request {
    char ask[TEXT], program[TEXT];
    struct texts parameters, settings, warmup_parameters;
    bool has_warmup_parameters, cold;
    uint64_t workers, warmup;
};

static void skip_space(const char **at) { *at += strspn(*at, " \t\r\n"); }

static bool take(const char **at, char wanted) {
    skip_space(at);
    if (**at != wanted) return false;
    ++*at;
    return true;
}

/* A string that does not fit ends in an ellipsis, so it is no known name and no number. */
static bool read_string(const char **at, char out[TEXT]) {
    static const char ellipsis[] = "\xe2\x80\xa6";
    size_t length = 0;
    bool fits = true;
    if (!take(at, '"')) return false;
    for (; **at != '"'; ++*at) {
        char c = **at;
        if ((unsigned char)c < ' ') return false;
        if (c == '\\') {
            static const char letters[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
            const char *letter = *++*at ? strchr(letters, **at) : NULL;
            if (letter) {
                c = meanings[letter - letters];
            } else {
                unsigned code = 0;
                if (**at != 'u') return false;
                for (int digit = 0; digit < 4; digit++) {
                    static const char digits[] = "0123456789abcdefABCDEF";
                    const char *found = *++*at ? strchr(digits, **at) : NULL;
                    if (!found) return false;
                    code = 16 * code + (unsigned)(found - digits) - (found - digits < 16 ? 0 : 6);
                }
                /* Names known here have no other characters. */
                c = code > 0 && code < 0x80 ? (char)code : '?';
            }
        }
        if (length < TEXT - sizeof ellipsis) out[length++] = c; else fits = false;
    }
    ++*at;
    if (!fits) {
        while (length > 0 && (out[length - 1] & 0xc0) == 0x80) length--;
        if (length > 0 && out[length - 1] & 0x80) length--;
        memcpy(out + length, ellipsis, sizeof ellipsis - 1);
        length += sizeof ellipsis - 1;
    }
    out[length] = '\0';
    return true;
}

static bool read_number(const char **at, uint64_t *out) {
    uint64_t number = 0;
    skip_space(at);
    if (**at < '0' || **at > '9') return false;
    for (; **at >= '0' && **at <= '9'; ++*at) {
        uint64_t digit = (uint64_t)(**at - '0');
        if (number > (UINT64_MAX - digit) / 10) return false;
        number = 10 * number + digit;
    }
    *out = number;
    return !strchr(".eE", **at) || **at == '\0';
}

/* Skips any value, of an unknown field. */
static bool skip_value(const char **at, int depth) {
    char unused[TEXT];
    skip_space(at);
    if (**at == '"') return read_string(at, unused);
    if (**at == '{' || **at == '[') {
        bool object = **at == '{';
        char end = object ? '}' : ']';
        ++*at;
        if (depth == 0) return false;
        if (take(at, end)) return true;
        do {
            if (object && !(read_string(at, unused) && take(at, ':'))) return false;
            if (!skip_value(at, depth - 1)) return false;
        } while (take(at, ','));
        return take(at, end);
    }
    size_t length = strspn(*at, "+-.0123456789abcdefghijklmnopqrstuvwxyzE");
    *at += length;
    return length > 0;
}

static bool read_texts(const char **at, struct texts *out) {
    out->count = 0;
    if (!take(at, '{')) return false;
    if (take(at, '}')) return true;
    do {
        if (out->count == COUNT(out->list)) return false;
        if (!read_string(at, out->list[out->count].name) || !take(at, ':')) return false;
        if (!read_string(at, out->list[out->count].value)) return false;
        out->count++;
    } while (take(at, ','));
    return take(at, '}');
}

static bool read_field(const char **at, const char *name, struct request *out) {
    if (!strcmp(name, "ask")) return read_string(at, out->ask);
    if (!strcmp(name, "program")) return read_string(at, out->program);
    if (!strcmp(name, "parameters")) return read_texts(at, &out->parameters);
    if (!strcmp(name, "settings")) return read_texts(at, &out->settings);
    if (!strcmp(name, "workers")) return read_number(at, &out->workers);
    if (!strcmp(name, "warmup")) return read_number(at, &out->warmup);
    if (!strcmp(name, "cold")) out->cold = (skip_space(at), !strncmp(*at, "true", 4));
    if (!strcmp(name, "warmup_parameters") && (skip_space(at), **at == '{')) {
        out->has_warmup_parameters = true;
        return read_texts(at, &out->warmup_parameters);
    }
    return skip_value(at, 32);
}

static bool read_request(const char *line, struct request *out) {
    char name[TEXT];
    memset(out, 0, sizeof *out);
    if (!take(&line, '{')) return false;
    if (!take(&line, '}')) {
        do {
            if (!read_string(&line, name) || !take(&line, ':') || !read_field(&line, name, out)) return false;
        } while (take(&line, ','));
        if (!take(&line, '}')) return false;
    }
    skip_space(&line);
    return *line == '\0';
}

static void write_string(const char *text) {
    putchar('"');
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\') printf("\\%c", c);
        else if (c < ' ') printf("\\u%04x", c);
        else putchar(c);
    }
    putchar('"');
}

/* ---- Parameters ---- */

static const char *given(const struct texts *set, const char *name) {
    const char *value = NULL;
    for (size_t i = 0; i < set->count; i++) {
        if (!strcmp(set->list[i].name, name)) value = set->list[i].value;
    }
    return value;
}

/* Without a given value, leaves `out` unchanged. */
static bool whole(const struct texts *set, const char *name, uint64_t least, uint64_t most, uint64_t *out) {
    const char *text = given(set, name);
    if (!text) return true;
    uint64_t number = 0;
    bool any = false, good = true;
    for (const char *digit = text; *digit; digit++) {
        if (*digit == '_') continue;
        any = true;
        good = good && *digit >= '0' && *digit <= '9' && number <= most;
        if (good) number = 10 * number + (uint64_t)(*digit - '0');
    }
    if (!any || !good || number < least || number > most) {
        return wrong("%s=`%s` is not a whole number from %" PRIu64 " to %" PRIu64, name, text, least, most);
    }
    *out = number;
    return true;
}

static bool real(const struct texts *set, const char *name, double most, double *out) {
    const char *text = given(set, name);
    if (!text) return true;
    char *end = NULL;
    double number = strtod(text, &end);
    bool plain = *text && text[strspn(text, "+-.0123456789eE")] == '\0' && *end == '\0';
    if (!plain || !(number >= 0 && number <= most)) {
        return wrong("%s=`%s` is not a number from 0 to %g", name, text, most);
    }
    *out = number;
    return true;
}

static bool word(const struct texts *set, const char *name, const char *const *words, size_t count, int *out) {
    const char *text = given(set, name);
    if (!text) return true;
    for (size_t i = 0; i < count; i++) {
        if (!strcasecmp(words[i], text)) {
            *out = (int)i;
            return true;
        }
    }
    return wrong("%s=`%s` is not known here", name, text);
}

/* ---- Data ---- */

#ifdef ADAPTER
#include "scheduler.h"
#else
/* The size of a tree, or of the subtree at a node. */
struct count {
    uint64_t nodes, leaves;
    uint32_t depth;
};

/* A node of the tree is the SHA-1 hash of its parent and its index. */
struct node {
    uint32_t state[5], height;
};
#endif

union answer {
    uint64_t number;
    struct count tree;
};

/* ---- UTS: Olivier et al., "UTS: An Unbalanced Tree Search Benchmark", LCPC 2006 ---- */

enum kind { BINOMIAL, GEOMETRIC, HYBRID };
enum shape { LINEAR, EXPONENTIAL, CYCLIC, FIXED };

static const char *const KINDS[] = {"binomial", "geometric", "hybrid"};
static const char *const SHAPES[] = {"linear", "exponential", "cyclic", "fixed"};

struct definition {
    int kind, shape;
    uint64_t depth;
    double b, q;
    uint64_t m, seed;
};

static const char *const TREES[] = {
    "T1", "T2", "T3", "T4", "T5", "T1S", "T3S", "T1L", "T2L", "T3L", "T1XL", "T1XXL", "T3XXL", "custom",
};
static const struct definition DEFINITIONS[COUNT(TREES)] = {
    {GEOMETRIC, FIXED, 10, 4, 0.234375, 4, 19},
    {GEOMETRIC, CYCLIC, 16, 6, 0.234375, 4, 502},
    {BINOMIAL, LINEAR, 6, 2000, 0.124875, 8, 42},
    {HYBRID, LINEAR, 16, 6, 0.234375, 4, 1},
    {GEOMETRIC, LINEAR, 20, 4, 0.234375, 4, 34},
    {GEOMETRIC, FIXED, 9, 4, 0.234375, 4, 19},
    {BINOMIAL, LINEAR, 6, 2000, 0.124875, 8, 23},
    {GEOMETRIC, FIXED, 13, 4, 0.234375, 4, 29},
    {GEOMETRIC, CYCLIC, 23, 7, 0.234375, 4, 220},
    {BINOMIAL, LINEAR, 6, 2000, 0.200014, 5, 7},
    {GEOMETRIC, FIXED, 15, 4, 0.234375, 4, 29},
    {GEOMETRIC, FIXED, 15, 4, 0.234375, 4, 19},
    {BINOMIAL, LINEAR, 6, 2000, 0.499995, 2, 316},
    {GEOMETRIC, LINEAR, 6, 4, 0.234375, 4, 0},
};

struct tree {
    struct definition definition;
    /* ln(1 - p) of the geometric distribution at each height that was computed beforehand. */
    double *scale;
    uint32_t scales;
    uint32_t binomial_from;
    /* A node has children if its random number is smaller (binomial). */
    uint32_t threshold;
};

static uint32_t rotate(uint32_t x, int by) { return x << by | x >> (32 - by); }

/* SHA-1 of five or six words: always one block. */
static void hash(const uint32_t *words, uint32_t count, uint32_t out[5]) {
    static const uint32_t start[5] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
    uint32_t w[80] = {0};
    memcpy(w, words, count * sizeof *words);
    w[count] = 0x80000000;
    w[15] = 32 * count;
    for (int i = 16; i < 80; i++) w[i] = rotate(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
    uint32_t a = start[0], b = start[1], c = start[2], d = start[3], e = start[4];
    for (int i = 0; i < 80; i++) {
        uint32_t f = i < 20   ? ((b & c) | (~b & d)) + 0x5a827999
                     : i < 40 ? (b ^ c ^ d) + 0x6ed9eba1
                     : i < 60 ? ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdc
                              : (b ^ c ^ d) + 0xca62c1d6;
        uint32_t next = rotate(a, 5) + f + e + w[i];
        e = d, d = c, c = rotate(b, 30), b = a, a = next;
    }
    out[0] = start[0] + a, out[1] = start[1] + b, out[2] = start[2] + c, out[3] = start[3] + d, out[4] = start[4] + e;
}

static struct node root(const struct tree *tree) {
    const uint32_t words[5] = {0, 0, 0, 0, (uint32_t)tree->definition.seed};
    struct node node = {.height = 0};
    hash(words, 5, node.state);
    return node;
}

/* Out of line, so that the recursion's frames do not hold the hash's block. */
static OUT_OF_LINE struct node child(const struct node *parent, uint32_t index) {
    uint32_t words[6];
    struct node node = {.height = parent->height + 1};
    memcpy(words, parent->state, sizeof parent->state);
    words[5] = index;
    hash(words, 6, node.state);
    return node;
}

/* The mean number of children at a height, by the shape. */
static double mean(const struct definition *tree, uint32_t height) {
    const double pi = 3.14159265358979323846;
    double b = tree->b, d = height, limit = (double)tree->depth;
    if (height == 0) return b;
    switch (tree->shape) {
    case LINEAR: return height >= tree->depth ? 0 : b * (1 - d / limit);
    case EXPONENTIAL: return b * pow(d, -log(b) / log(limit));
    case CYCLIC: return height > 5 * tree->depth ? 0 : pow(b, sin(2 * pi * d / limit));
    default: return height < tree->depth ? b : 0;
    }
}

static double scale_at(const struct definition *tree, uint32_t height) {
    return log(1 - 1 / (1 + mean(tree, height)));
}

static OUT_OF_LINE uint32_t geometric(const struct tree *tree, const struct node *node, uint32_t random) {
    const double most = 100;
    double scale;
    if (node->height < tree->scales) scale = tree->scale[node->height];
    else if (tree->definition.shape == EXPONENTIAL) scale = scale_at(&tree->definition, node->height);
    else return 0;
    double children = floor(log(1 - random / 2147483648.0) / scale);
    /* 0 / 0 is not a number. */
    return children >= 1 ? (uint32_t)fmin(children, most) : 0;
}

static uint32_t children(const struct tree *tree, const struct node *node) {
    uint32_t random = node->state[4] & 0x7fffffff;
    if (node->height < tree->binomial_from) return geometric(tree, node, random);
    if (node->height == 0 && tree->definition.kind == BINOMIAL) return (uint32_t)tree->definition.b;
    return random < tree->threshold ? (uint32_t)tree->definition.m : 0;
}

static bool same(const struct definition *a, const struct definition *b) {
    bool shape = a->shape == b->shape && a->depth == b->depth, chance = a->q == b->q && a->m == b->m;
    return a->kind == b->kind && a->b == b->b && a->seed == b->seed && (shape || a->kind == BINOMIAL)
           && (chance || a->kind == GEOMETRIC);
}

static bool define(const struct texts *set, struct definition *out) {
    int tree = 0;
    if (!word(set, "tree", TREES, COUNT(TREES), &tree)) return false;
    *out = DEFINITIONS[tree];
    bool good = word(set, "type", KINDS, COUNT(KINDS), &out->kind)
                && word(set, "shape", SHAPES, COUNT(SHAPES), &out->shape)
                && whole(set, "depth", 1, 1000000, &out->depth) && whole(set, "m", 0, 1000000, &out->m)
                && whole(set, "seed", 0, INT32_MAX, &out->seed) && real(set, "b", 1e6, &out->b)
                && real(set, "q", 1, &out->q);
    if (!good) return false;
    if (out->kind != BINOMIAL && out->shape == EXPONENTIAL && out->depth < 2) {
        return wrong("an exponential shape has a depth of at least 2");
    }
    /* Some published trees with a mean of 1 or more happen to be finite. */
    bool finite = out->kind == GEOMETRIC || out->q * (double)out->m < 1;
    for (size_t i = 0; i < COUNT(DEFINITIONS); i++) finite = finite || same(out, &DEFINITIONS[i]);
    return finite || wrong("the tree is infinite: q times m is not below 1");
}

static bool grow(const struct texts *set, struct tree *out) {
    /* The number of means computed beforehand for an exponential shape, which never ends. */
    const uint32_t exponential = 1 << 12;
    struct definition definition;
    if (!define(set, &definition)) return false;
    uint32_t depth = (uint32_t)definition.depth;
    out->definition = definition;
    out->threshold = (uint32_t)ceil(definition.q * 2147483648.0);
    out->binomial_from = definition.kind == BINOMIAL ? 0 : definition.kind == HYBRID ? (depth + 1) / 2 : UINT32_MAX;
    out->scales = 1
                  + (definition.kind == BINOMIAL        ? 0
                     : definition.shape == CYCLIC      ? 5 * depth + 1
                     : definition.shape == EXPONENTIAL ? exponential
                                                       : depth);
    free(out->scale);
    out->scale = malloc(out->scales * sizeof *out->scale);
    if (!out->scale) return wrong("no memory for the tree");
    for (uint32_t height = 0; height < out->scales; height++) out->scale[height] = scale_at(&definition, height);
    return true;
}

/* ---- Programs ---- */

static double seconds(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

struct input {
    uint64_t n, cutoff;
    struct tree tree;
};

struct program {
    const char *name;
    const char *parameters[9];
    bool (*make)(const struct texts *, struct input *);
    union answer (*run)(const struct input *);
    void (*show)(const struct input *, union answer);
    /* Optional: restores the input; returns whether the memory after a run is right. */
    void (*reset)(const struct input *);
    bool (*check)(const struct input *);
};

static bool make_fib(const struct texts *set, struct input *out) {
    uint64_t largest = 90;
    out->n = 36, out->cutoff = 0;
    return whole(set, "n", 0, largest, &out->n) && whole(set, "cutoff", 0, largest, &out->cutoff);
}

static void show_number(const struct input *input, union answer answer) {
    (void)input;
    printf("%" PRIu64, answer.number);
}

static bool make_uts(const struct texts *set, struct input *out) { return grow(set, &out->tree); }

static void show_tree(const struct input *input, union answer answer) {
    struct count tree = answer.tree;
    (void)input;
    printf("%" PRIu64 " nodes, %" PRIu64 " leaves, depth %" PRIu32, tree.nodes, tree.leaves, tree.depth);
}

#ifdef ADAPTER
#include "adapter.h"
#else
/* Two real calls each time, as in the sequential program: a compiler that inlines some levels shares their common calls,
 * and one that turns the last call into a loop halves their number. */
static OUT_OF_LINE uint64_t fib(uint64_t n) {
    if (n < 2) return n;
    uint64_t left = fib(n - 1), right = fib(n - 2);
    OPAQUE(right);
    return left + right;
}

/* Nothing is forked here, so a cut-off changes nothing. */
static union answer run_fib(const struct input *input) { return (union answer){.number = fib(input->n)}; }

static struct count search(const struct tree *tree, const struct node *node) {
    uint32_t many = children(tree, node);
    struct count sum = {.nodes = 1, .leaves = many == 0, .depth = node->height};
    for (uint32_t index = 0; index < many; index++) {
        struct node next = child(node, index);
        struct count below = search(tree, &next);
        sum.nodes += below.nodes;
        sum.leaves += below.leaves;
        if (below.depth > sum.depth) sum.depth = below.depth;
    }
    return sum;
}

static union answer run_uts(const struct input *input) {
    struct node node = root(&input->tree);
    return (union answer){.tree = search(&input->tree, &node)};
}

static const char *const NAME = "plain-c", *const SETTINGS = "", *const LIMIT = ",\"most_workers\":1";

static const struct program PROGRAMS[] = {
    {.name = "fib", .parameters = {"n", "cutoff"}, .make = make_fib, .run = run_fib, .show = show_number},
    {.name = "uts",
     .parameters = {"tree", "type", "shape", "depth", "b", "q", "m", "seed"},
     .make = make_uts,
     .run = run_uts,
     .show = show_tree},
};

static const char *version(void) { return "1"; }

static bool can_run(const struct program *program) {
    (void)program;
    return true;
}

/* Starts the scheduler's threads. */
static bool start_workers(const struct request *order) {
    if (order->workers != 1) return wrong("plain recursion has one worker, not %" PRIu64, order->workers);
    if (order->settings.count == 0) return true;
    return wrong("there are no settings here, so `%s` cannot be set", order->settings.list[0].name);
}

static void stop_workers(void) {}

static void show_counters(void) {}
#endif

static const struct program *find_program(const char *name) {
    for (size_t i = 0; i < COUNT(PROGRAMS); i++) {
        if (!strcmp(PROGRAMS[i].name, name) && can_run(&PROGRAMS[i])) return &PROGRAMS[i];
    }
    return NULL;
}

static bool make(const struct program *program, const struct texts *set, struct input *out) {
    for (size_t i = 0; i < set->count; i++) {
        const char *const *known = program->parameters;
        while (*known && strcmp(*known, set->list[i].name)) known++;
        if (!*known) return wrong("%s has no parameter `%s`", program->name, set->list[i].name);
    }
    return program->make(set, out);
}

static void reset(const struct program *program, const struct input *input) {
    if (program->reset) program->reset(input);
}

/* ---- A runner's life ---- */

static const struct program *start(const struct request *order, struct input *out) {
    const struct program *program = find_program(order->program);
    bool own = order->has_warmup_parameters;
    if (!program) {
        wrong("there is no program `%s` here", order->program);
        return NULL;
    }
    if (!make(program, own ? &order->warmup_parameters : &order->parameters, out) || !start_workers(order)) return NULL;
    for (uint64_t i = 0; i < order->warmup; i++) {
        reset(program, out);
        program->run(out);
    }
    if (own && !make(program, &order->parameters, out)) return NULL;
    reset(program, out);
    return program;
}

/* The bytes of this name in Linux' file about this process, or 0. */
static uint64_t status(const char *name) {
    char line[256];
    uint64_t kib = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && kib == 0 && fgets(line, sizeof line, file)) {
        if (strncmp(line, name, strlen(name)) == 0) kib = strtoull(line + strlen(name), NULL, 10);
    }
    if (file) fclose(file);
    return 1024 * kib;
}

/* Linux counts the memory of the process that started this one in `getrusage`, but not in its file. */
static uint64_t peak_rss(void) {
    uint64_t peak = status("VmHWM:");
    if (peak > 0) return peak;
    struct rusage usage = {0};
    getrusage(RUSAGE_SELF, &usage);
#ifdef __APPLE__
    return (uint64_t)usage.ru_maxrss;
#else
    return 1024 * (uint64_t)usage.ru_maxrss;
#endif
}

static void refuse(void) {
    fputs("{\"tell\":\"refused\",\"why\":", stdout);
    write_string(why);
    puts("}");
}

static void hello(void) {
    printf("{\"tell\":\"hello\",\"protocol\":1,\"scheduler\":\"%s\",\"version\":", NAME);
    write_string(version());
    puts("}");
}

static void describe(void) {
    const char *comma = "";
    fputs("{\"tell\":\"description\",\"programs\":[", stdout);
    for (size_t i = 0; i < COUNT(PROGRAMS); i++) {
        if (!can_run(&PROGRAMS[i])) continue;
        printf("%s{\"name\":\"%s\",\"parameters\":[", comma, PROGRAMS[i].name);
        comma = ",";
        for (const char *const *name = PROGRAMS[i].parameters; *name; name++) {
            printf("%s\"%s\"", name > PROGRAMS[i].parameters ? "," : "", *name);
        }
        fputs("]}", stdout);
    }
    printf("]%s%s}\n", SETTINGS, LIMIT);
}

static void run(const struct program *program, const struct input *input) {
    double used = seconds(CLOCK_PROCESS_CPUTIME_ID), begin = seconds(CLOCK_MONOTONIC);
    /* A call by address, so that the compiler cannot move any of it past the clock. */
    union answer answer = program->run(input);
    double took = seconds(CLOCK_MONOTONIC) - begin;
    used = seconds(CLOCK_PROCESS_CPUTIME_ID) - used;
    uint64_t peak = peak_rss(), files = status("RssFile:");
    printf("{\"tell\":\"ran\",\"seconds\":%.9f,\"answer\":\"", took);
    program->show(input, answer);
    printf("\",\"cpu_seconds\":%.9f,\"peak_rss_bytes\":%" PRIu64 ",\"file_rss_bytes\":%" PRIu64, used, peak, files);
    show_counters();
    if (program->check && !program->check(input)) {
        fputs(",\"error\":", stdout);
        write_string(why);
    }
    puts("}");
}

/* Reserves address space for the deepest trees; only the used part becomes memory. */
static void raise_stack_limit(void) {
    const rlim_t wanted = 64 << 20;
    struct rlimit limit;
    if (getrlimit(RLIMIT_STACK, &limit) || limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= wanted) return;
    limit.rlim_cur = limit.rlim_max == RLIM_INFINITY || limit.rlim_max > wanted ? wanted : limit.rlim_max;
    setrlimit(RLIMIT_STACK, &limit);
}

/* As filch's runners in Rust: a program that makes large arrays shall not get new pages for each run. */
static void keep_freed_memory(void) {
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
    mallopt(M_TRIM_THRESHOLD, INT32_MAX);
#endif
}

int main(void) {
    static struct request request;
    static struct input input;
    const struct program *program = NULL;
    bool is_ready = false;
    char *line = NULL;
    size_t size = 0;
    raise_stack_limit();
    keep_freed_memory();
    hello();
    fflush(stdout);
    while (getline(&line, &size, stdin) > 0) {
        bool good = true;
        if (!read_request(line, &request)) {
            good = wrong("this line is not a valid request");
        } else if (!strcmp(request.ask, "describe") && !program) {
            describe();
        } else if (!strcmp(request.ask, "prepare") && !program) {
            program = start(&request, &input);
            good = is_ready = program != NULL;
            if (good) puts("{\"tell\":\"ready\"}");
        } else if (!strcmp(request.ask, "run") && is_ready) {
            is_ready = false;
            run(program, &input);
        } else if (!strcmp(request.ask, "reset") && program) {
            reset(program, &input);
            is_ready = true;
            puts("{\"tell\":\"ready\"}");
        } else {
            good = wrong("`%s` is not possible, or not at this point", request.ask);
        }
        if (!good) refuse();
        fflush(stdout);
    }
    if (program) stop_workers();
    free(input.tree.scale);
    free(line);
    return 0;
}
