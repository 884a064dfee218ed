//! tokenizers: splits text for language models. Training counts words through a `par_bridge` and merges pairs with many
//! short `par_iter`s; a batch is encoded by another one.

use tokenizers::models::TrainerWrapper;
use tokenizers::models::bpe::{BPE, BpeTrainerBuilder};
use tokenizers::normalizers::unicode::NFC;
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::{AddedToken, Tokenizer};

use crate::checksum::checksum;
use crate::numbers::numbers;

/// Returns a run: trains a vocabulary of 400 tokens on 500 lines, and encodes these.
pub(crate) fn make() -> Box<dyn FnMut() -> u64> {
    const SYLLABLES: [&str; 16] =
        ["an", "be", "cor", "di", "en", "fu", "ga", "hil", "in", "jo", "ka", "lu", "mer", "no", "or", "st"];
    let word = |n: &u64| {
        // One to four syllables, the first ones of the list more often.
        let syllable = |i| SYLLABLES[((n >> (8 + 8 * i)) % 16 * ((n >> (12 + 8 * i)) % 16) / 15) as usize];
        (0..1 + n % 4).map(syllable).collect::<String>()
    };
    let line = |numbers: &[u64]| numbers.iter().map(word).collect::<Vec<_>>().join(" ");
    let lines: Vec<String> = numbers(20_000).chunks(40).map(line).collect();
    Box::new(move || {
        let special = vec![AddedToken::from("<s>", true), AddedToken::from("<unk>", true)];
        let trainer = BpeTrainerBuilder::new().show_progress(false).vocab_size(400).special_tokens(special).build();
        let mut tokenizer = Tokenizer::new(BPE::default());
        tokenizer
            .with_normalizer(Some(NFC))
            .unwrap()
            .with_pre_tokenizer(Some(ByteLevel::default()))
            .with_decoder(Some(ByteLevel::default()));
        tokenizer.train(&mut TrainerWrapper::from(trainer), lines.iter()).unwrap();
        assert_eq!(tokenizer.get_vocab_size(true), 400);
        let encodings = tokenizer.encode_batch(lines.iter().map(String::as_str).collect(), false).unwrap();
        let sentences: Vec<&[u32]> = encodings.iter().map(|encoding| encoding.get_ids()).collect();
        let decoded = tokenizer.decode_batch(&sentences, false).unwrap();
        assert!(decoded.iter().zip(&lines).all(|(decoded, line)| decoded.trim() == line));
        checksum(sentences.into_iter().flatten().copied())
    })
}
