//! The font of the figures' files, which needs no font of the system: texts as outlines, and their widths.

use std::fmt::Write;
use std::sync::LazyLock;

use ttf_parser::{Face, OutlineBuilder};

/// A weight of DejaVu Sans.
pub(super) fn face(is_bold: bool) -> &'static Face<'static> {
    static REGULAR: LazyLock<Face<'static>> = LazyLock::new(|| parsed(dejavu::sans::regular()));
    static BOLD: LazyLock<Face<'static>> = LazyLock::new(|| parsed(dejavu::sans::bold()));
    if is_bold { &BOLD } else { &REGULAR }
}

fn parsed(font: &'static [u8]) -> Face<'static> {
    Face::parse(font, 0).expect("the font is part of the program")
}

/// The width of a text of this size, in pixels; that in a page's font is hardly larger.
pub(super) fn width(text: &str, size: f32, is_bold: bool) -> f32 {
    let face = face(is_bold);
    text.chars().map(|letter| advance(face, letter)).sum::<f32>() * size / f32::from(face.units_per_em())
}

fn advance(face: &Face<'_>, letter: char) -> f32 {
    face.glyph_index(letter).and_then(|glyph| face.glyph_hor_advance(glyph)).map_or(0.0, f32::from)
}

/// Returns the path of a text that begins at this place.
pub(super) fn outline(text: &str, (x, y): (f32, f32), size: f32, is_bold: bool) -> String {
    let face = face(is_bold);
    let scale = size / f32::from(face.units_per_em());
    let mut path = Path { text: String::new(), at: (x, y), scale };
    for letter in text.chars() {
        if let Some(glyph) = face.glyph_index(letter) {
            face.outline_glyph(glyph, &mut path);
        }
        path.at.0 += advance(face, letter) * scale;
    }
    path.text
}

/// A path under construction, in the font's units; its vertical axis points upward.
struct Path {
    text: String,
    at: (f32, f32),
    scale: f32,
}

impl Path {
    fn put(&mut self, command: char, points: &[(f32, f32)]) {
        self.text.push(command);
        for &(x, y) in points {
            let _ = write!(self.text, "{:.2} {:.2} ", self.at.0 + x * self.scale, self.at.1 - y * self.scale);
        }
    }
}

impl OutlineBuilder for Path {
    fn move_to(&mut self, x: f32, y: f32) {
        self.put('M', &[(x, y)]);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        self.put('L', &[(x, y)]);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        self.put('Q', &[(x1, y1), (x, y)]);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        self.put('C', &[(x1, y1), (x2, y2), (x, y)]);
    }

    fn close(&mut self) {
        self.text.push('Z');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_have_the_widths_of_their_outlines() {
        let path = outline("HH", (10.0, 20.0), 10.0, false);
        let numbers: Vec<f32> =
            path.split(|c: char| !(c.is_ascii_digit() || c == '.')).filter_map(|n| n.parse().ok()).collect();
        let right = numbers.iter().step_by(2).copied().fold(0.0, f32::max);
        let end = 10.0 + width("HH", 10.0, false);
        assert!(right < end && end - right < 2.0, "{right} {end}");
        assert!(width("HH", 10.0, true) > width("HH", 10.0, false));
        // What our plots write.
        for letter in "µ·−≤≥σδ×–✓✗é[".chars() {
            assert!(face(true).glyph_index(letter).is_some() && face(false).glyph_index(letter).is_some(), "{letter}");
        }
    }
}
