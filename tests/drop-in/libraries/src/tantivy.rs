//! tantivy: a search engine. It merges segments in own pools (`spawn`), and searches all segments in another one
//! (`scope` with one task for each segment).

use tantivy::collector::{Count, TopDocs};
use tantivy::directory::RamDirectory;
use tantivy::indexer::{IndexWriterOptions, NoMergePolicy};
use tantivy::query::QueryParser;
use tantivy::schema::{Schema, TEXT};
use tantivy::{Index, IndexSettings, IndexWriter, doc};

use crate::numbers::numbers;

fn writer(index: &Index) -> IndexWriter {
    // By default four merge threads.
    let options = IndexWriterOptions::builder().num_merge_threads(rayon::current_num_threads()).build();
    let writer: IndexWriter = index.writer_with_options(options).unwrap();
    // Merges only as told, so that the segments do not depend on the time it takes.
    writer.set_merge_policy(Box::new(NoMergePolicy));
    writer
}

/// Returns a run: opens an index of 6000 documents in 12 segments, merges these to 6, and searches them.
pub(crate) fn make() -> Box<dyn FnMut() -> u64> {
    let mut schema = Schema::builder();
    let body = schema.add_text_field("body", TEXT);
    let original = RamDirectory::create();
    let index = Index::create(original.clone(), schema.build(), IndexSettings::default()).unwrap();
    // Indexing is no part of a run: it has threads of its own.
    let mut indexing = writer(&index);
    // Few words are frequent and many are rare.
    let word = |n: &u64| format!("w{:x}", (n >> 52) >> (n % 12));
    let texts: Vec<u64> = numbers(6000 * 30);
    for segment in texts.chunks(500 * 30) {
        for text in segment.chunks(30) {
            let text = text.iter().map(word).collect::<Vec<_>>().join(" ");
            indexing.add_document(doc!(body => text)).unwrap();
        }
        indexing.commit().unwrap();
    }
    Box::new(move || {
        let directory = RamDirectory::create();
        original.persist(&directory).unwrap();
        let mut index = Index::open(directory).unwrap();
        let mut writer = writer(&index);
        let segments = index.searchable_segment_ids().unwrap();
        let merges: Vec<_> = segments.chunks(2).map(|pair| writer.merge(pair)).collect();
        merges.into_iter().for_each(|merge| drop(merge.wait().unwrap()));
        writer.wait_merging_threads().unwrap();

        index.set_multithread_executor(rayon::current_num_threads()).unwrap();
        let searcher = index.reader().unwrap().searcher();
        assert_eq!((searcher.segment_readers().len(), searcher.num_docs()), (6, 6000));
        let parser = QueryParser::for_index(&index, vec![body]);
        let search = |n: u64| {
            let query = parser.parse_query(&format!("w{n:x} w{:x} OR (w1 AND w{:x})", n + 3, n / 2)).unwrap();
            let (top, count) = searcher.search(&query, &(TopDocs::with_limit(10).order_by_score(), Count)).unwrap();
            assert!(top.len() == count.min(10) && top.is_sorted_by(|left, right| left.0 >= right.0));
            count as u64
        };
        (1..300).map(search).sum()
    })
}
