//! Square matrices in recursive blocks: their parameters.

use super::{ParamError, ParamSpec, Settings};

/// The sides of tiles are multiples of this: the part of a row that fits a few registers.
pub const GROUP: usize = 8;

/// The places of a matrix's elements.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// Rows and columns, without padding.
    pub n: usize,
    /// Rows and columns of a tile.
    pub tile: usize,
    /// The number of times the matrix is quartered.
    pub levels: u32,
}

impl Layout {
    /// Returns the layout for order `n`, with tiles of order `most` or slightly more.
    pub fn new(n: usize, most: usize) -> Self {
        let levels = n.div_ceil(most).next_power_of_two().ilog2();
        let tile = n.div_ceil(1 << levels).next_multiple_of(GROUP);
        Self { n, tile, levels }
    }

    /// Rows and columns with padding.
    pub fn order(&self) -> usize {
        self.tile << self.levels
    }

    /// Elements with padding.
    pub fn elements(&self) -> usize {
        self.order() * self.order()
    }
}

/// The parameters of a program that multiplies matrices.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    pub n: usize,
    pub cutoff: usize,
}

impl Size {
    pub const PARAMS: [ParamSpec; 2] = [
        ParamSpec { name: "n", help: "rows and columns", default: "1024" },
        ParamSpec { name: "cutoff", help: "no forks for this many rows or fewer", default: "64" },
    ];

    pub fn parse(settings: &Settings<'_>) -> Result<Self, ParamError> {
        Ok(Self {
            n: settings.whole("n", 1, 1 << 20, "")? as usize,
            cutoff: settings.whole("cutoff", GROUP as u64, 1 << 20, "")? as usize,
        })
    }

    pub fn values(&self) -> Vec<String> {
        vec![self.n.to_string(), self.cutoff.to_string()]
    }

    pub fn layout(&self) -> Layout {
        Layout::new(self.n, self.cutoff)
    }

    /// The bytes of a matrix.
    pub fn matrix_bytes(&self) -> u64 {
        8 * self.layout().elements() as u64
    }

    /// The bytes of two factors, their product, and this many temporary quadrants per level and processor.
    pub fn bytes_with(&self, quadrants: u64) -> u64 {
        let processors = std::thread::available_parallelism().map_or(1, usize::from) as u64;
        (3 + quadrants * processors / 3 + 1) * self.matrix_bytes()
    }

    /// The forks of a product by quadrants, four of its eight products at a time.
    pub fn forks(&self) -> u64 {
        // Each level has two times three forks, and eight times as many products as the level above.
        (0..self.layout().levels).fold(0, |forks, _| 6 + 8 * forks)
    }
}
