//! Libraries of others that use rayon, on the drop-in: see `tests`.
