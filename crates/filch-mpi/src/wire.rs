//! How tasks and results travel.

/// A value that can be sent to another rank.
///
/// ```
/// use filch_mpi::Wire;
///
/// let bytes = (7_u32, vec![1_u64, 2]).to_bytes();
/// assert_eq!(Wire::decode(&mut &bytes[..]), Some((7_u32, vec![1_u64, 2])));
/// assert_eq!(u64::decode(&mut &bytes[..3]), None);
/// ```
pub trait Wire: Send + Sized {
    /// Appends the value.
    fn encode(&self, bytes: &mut Vec<u8>);

    /// Takes a value from the front; `None` if there is none.
    fn decode(bytes: &mut &[u8]) -> Option<Self>;

    /// Encodes the value alone.
    fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.encode(&mut bytes);
        bytes
    }

    /// Appends many values, as a vector of them does.
    fn encode_all(values: &[Self], bytes: &mut Vec<u8>) {
        (values.len() as u64).encode(bytes);
        values.iter().for_each(|value| value.encode(bytes));
    }
}

macro_rules! wire_for_numbers {
    ($($number:ty),*) => { $(
        impl Wire for $number {
            #[inline]
            fn encode(&self, bytes: &mut Vec<u8>) {
                bytes.extend_from_slice(&self.to_le_bytes());
            }

            #[inline]
            fn decode(bytes: &mut &[u8]) -> Option<Self> {
                let (number, rest) = bytes.split_first_chunk()?;
                *bytes = rest;
                Some(Self::from_le_bytes(*number))
            }
        }
    )* };
}

wire_for_numbers!(u8, u16, u32, u64, i32, i64, f64);

impl<T: Wire> Wire for Vec<T> {
    fn encode(&self, bytes: &mut Vec<u8>) {
        T::encode_all(self, bytes);
    }

    fn decode(bytes: &mut &[u8]) -> Option<Self> {
        (0..u64::decode(bytes)?).map(|_| T::decode(bytes)).collect()
    }
}

impl<T: Wire, const N: usize> Wire for [T; N] {
    fn encode(&self, bytes: &mut Vec<u8>) {
        self.iter().for_each(|item| item.encode(bytes));
    }

    fn decode(bytes: &mut &[u8]) -> Option<Self> {
        let items = [(); N].map(|()| T::decode(bytes));
        items.iter().all(Option::is_some).then(|| items.map(|item| item.expect("all are there")))
    }
}

impl<A: Wire, B: Wire> Wire for (A, B) {
    fn encode(&self, bytes: &mut Vec<u8>) {
        self.0.encode(bytes);
        self.1.encode(bytes);
    }

    fn decode(bytes: &mut &[u8]) -> Option<Self> {
        Some((A::decode(bytes)?, B::decode(bytes)?))
    }
}

/// A value of a type that `serde` knows, encoded by `postcard`.
///
/// ```
/// use filch_mpi::{Serde, Wire};
///
/// let bytes = Serde(("task".to_owned(), Some(7_u8))).to_bytes();
/// let Serde(task): Serde<(String, Option<u8>)> = Wire::decode(&mut &bytes[..]).unwrap();
/// assert_eq!(task, ("task".to_owned(), Some(7)));
/// ```
#[cfg(feature = "serde")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Serde<T>(pub T);

#[cfg(feature = "serde")]
impl<T: serde::Serialize + serde::de::DeserializeOwned + Send> Wire for Serde<T> {
    /// # Panics
    /// If the value refuses to be serialised.
    fn encode(&self, bytes: &mut Vec<u8>) {
        *bytes = postcard::to_extend(&self.0, std::mem::take(bytes)).expect("tasks can be serialised");
    }

    fn decode(bytes: &mut &[u8]) -> Option<Self> {
        let (value, rest) = postcard::take_from_bytes(bytes).ok()?;
        *bytes = rest;
        Some(Self(value))
    }
}
