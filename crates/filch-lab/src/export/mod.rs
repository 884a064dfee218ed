//! Views of the measured lines, one file per format.

pub(crate) mod beside;
pub(crate) mod csv;
pub(crate) mod html;
pub(crate) mod json;
pub(crate) mod markdown;
pub(crate) mod rivals;
pub(crate) mod svg;
pub(crate) mod table;
pub(crate) mod tables;
