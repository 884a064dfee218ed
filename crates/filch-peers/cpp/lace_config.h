/* Lace's build makes this file of its options, which are flags of the compiler here. */
