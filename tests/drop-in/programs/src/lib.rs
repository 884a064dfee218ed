//! Other people's libraries that use rayon, on the drop-in: see `tests`.
