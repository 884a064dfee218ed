//! blake3: a cryptographic hash. `update_rayon` halves the input again and again with `rayon_core::join`, down to a few
//! KiB.

use blake3::Hasher;

use crate::numbers::numbers;

/// Returns a run: two hashes of 64 MiB, the second with a key.
pub(crate) fn make() -> Box<dyn FnMut() -> u64> {
    let input: Vec<u8> = numbers(8 << 20).into_iter().flat_map(u64::to_le_bytes).collect();
    let key = [7; 32];
    let serial = [blake3::hash(&input), blake3::keyed_hash(&key, &input)];
    Box::new(move || {
        let hash = |mut hasher: Hasher| hasher.update_rayon(&input).finalize();
        let hashes = [hash(Hasher::new()), hash(Hasher::new_keyed(&key))];
        assert_eq!(hashes, serial);
        u64::from_le_bytes(*hashes[1].as_bytes().first_chunk().unwrap())
    })
}
