//! lopdf: reads and writes PDF. With its feature `rayon` it parses all objects by a `par_iter`, and the objects within
//! each compressed object stream by another one in that.

use lopdf::content::{Content, Operation};
use lopdf::{Document, Object, SaveOptions, Stream, dictionary};

use crate::numbers::numbers;

/// Returns a run: loads a file of 250 pages and 15,000 small objects, most of them in compressed streams.
pub(crate) fn make() -> Box<dyn FnMut() -> u64> {
    let (mut document, numbers) = (Document::with_version("1.5"), numbers(15_000));
    let pages = document.new_object_id();
    let mut kids: Vec<Object> = Vec::new();
    for page in numbers.chunks(60) {
        let numbers = page.iter().map(|n| format!("{n:x}"));
        let operations: Vec<_> = numbers.map(|text| Operation::new("Tj", vec![Object::string_literal(text)])).collect();
        let mut stream = Stream::new(dictionary! {}, Content { operations }.encode().unwrap());
        stream.compress().unwrap();
        let contents = document.add_object(stream);
        let note = |n: &u64| {
            let rectangle: Vec<Object> = (0..4).map(|i| i64::from((n >> (16 * i)) as u16).into()).collect();
            let text = Object::string_literal(format!("The {n}th note, about {}", n / 7));
            document.add_object(dictionary! {
                "Type" => "Annot", "Subtype" => "Text", "Number" => (n >> 1) as i64, "Rect" => rectangle,
                "Contents" => text, "C" => vec![0.into(), Object::Real((n % 8) as f32 / 8.0)],
            })
        };
        let notes: Vec<Object> = page.iter().map(note).map(Object::from).collect();
        let page = dictionary! { "Type" => "Page", "Parent" => pages, "Contents" => contents, "Annots" => notes };
        kids.push(document.add_object(page).into());
    }
    let count = kids.len();
    document.objects.insert(pages, dictionary! { "Type" => "Pages", "Count" => count as i64, "Kids" => kids }.into());
    let catalog = document.add_object(dictionary! { "Type" => "Catalog", "Pages" => pages });
    document.trailer.set("Root", catalog);
    let mut file = Vec::new();
    let options = SaveOptions::builder().use_object_streams(true).use_xref_streams(true).compression_level(6).build();
    document.save_with_options(&mut file, options).unwrap();
    let expected = numbers.iter().fold(0, |sum: u64, n| sum.wrapping_add(n >> 1));
    Box::new(move || {
        let document = Document::load_mem(&file).unwrap();
        assert_eq!(document.get_pages().len(), count);
        let number = |object: &Object| object.as_dict().ok()?.get(b"Number").ok()?.as_i64().ok();
        let numbers = document.objects.values().filter_map(number);
        let found = numbers.fold(0, |sum: u64, n| sum.wrapping_add(n as u64));
        assert_eq!(found, expected);
        found
    })
}
