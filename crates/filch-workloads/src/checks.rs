//! Comparisons shared by the checks of answers.

use filch_catalogue::programs::hash;

/// Hashes a multiset of words. Two different multisets collide with probability 2⁻⁶⁴.
pub(crate) fn multiset(words: impl IntoIterator<Item = u64>) -> u64 {
    words.into_iter().fold(0, |sum, word| sum.wrapping_add(hash(0x5eed, word)))
}

/// Hashes a sequence of words. Two different sequences collide with probability 2⁻⁶⁴.
pub(crate) fn sequence(words: impl IntoIterator<Item = u64>) -> u64 {
    words.into_iter().fold(0, hash)
}

/// Describes the first place where two sequences of numbers differ in a bit.
pub(crate) fn same_bits(found: &[f64], right: &[f64]) -> Result<(), String> {
    if found.len() != right.len() {
        return Err(format!("there are {} numbers, but there should be {}", found.len(), right.len()));
    }
    match found.iter().zip(right).position(|(found, right)| found.to_bits() != right.to_bits()) {
        None => Ok(()),
        Some(at) => Err(format!("number {at} is {}, but it should be {}", found[at], right[at])),
    }
}

/// Checks that keys are in order and are those of the input, given the [`multiset`] of the input.
pub(crate) fn sorted<T: Copy + PartialOrd>(keys: &[T], word: impl Fn(T) -> u64, input: u64) -> Result<(), String> {
    if let Some(at) = keys.windows(2).position(|pair| pair[0] > pair[1]) {
        return Err(format!("keys {at} and {} are out of order", at + 1));
    }
    if multiset(keys.iter().map(|&key| word(key))) != input {
        return Err("the keys are in order, but they are not those of the input".to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_sequences_depend_on_order() {
        assert_eq!(multiset([1, 2, 2]), multiset([2, 1, 2]));
        assert_ne!(multiset([1, 2, 2]), multiset([1, 1, 2]));
        assert_ne!(sequence([1, 2]), sequence([2, 1]));
    }

    #[test]
    fn zeros_of_different_sign_differ() {
        assert_eq!(same_bits(&[1.0, 0.0], &[1.0, 0.0]), Ok(()));
        assert!(same_bits(&[1.0, 0.0], &[1.0, -0.0]).expect_err("they differ").starts_with("number 1 is 0"));
        assert!(same_bits(&[1.0], &[]).is_err());
    }

    #[test]
    fn sorted_keys_are_those_of_the_input() {
        let input = multiset([3, 1, 2]);
        assert_eq!(sorted(&[1, 2, 3_u32], u64::from, input), Ok(()));
        assert!(sorted(&[1, 3, 2_u32], u64::from, input).is_err());
        assert!(sorted(&[1, 2, 2_u32], u64::from, input).is_err());
    }
}
