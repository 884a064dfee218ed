//! Square matrices in recursive blocks: their sizes.

use super::{ParamError, ParamSpec, Settings};

/// The number by which the sides of tiles are divisible: as much of a row as fits a few registers.
pub const GROUP: usize = 8;

/// Where the elements of a matrix are.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// Rows and columns, without padding.
    pub n: usize,
    /// Rows and columns of a tile.
    pub tile: usize,
    /// How often the matrix is quartered.
    pub levels: u32,
}

impl Layout {
    /// The layout for order `n` with tiles of order `most` or a little more.
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
        ParamSpec { name: "cutoff", help: "no forks for so many rows or fewer", default: "64" },
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

    /// Bytes of a matrix.
    pub fn matrix_bytes(&self) -> u64 {
        8 * self.layout().elements() as u64
    }

    /// Bytes of two factors, their product, and so many temporary quadrants on each level for each processor.
    pub fn bytes_with(&self, quadrants: u64) -> u64 {
        let processors = std::thread::available_parallelism().map_or(1, usize::from) as u64;
        (3 + quadrants * processors / 3 + 1) * self.matrix_bytes()
    }

    /// Forks of a product by quadrants, four of its eight products at a time.
    pub fn forks(&self) -> u64 {
        // Every level has two times three forks, and eight times as many products as the one above.
        (0..self.layout().levels).fold(0, |forks, _| 6 + 8 * forks)
    }
}
