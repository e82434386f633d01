//! What a reader of a release would load: which columns, of which types, in how many files.
//!
//! The hashes cover the values of a column, not what a reader takes them for. So the certificate names every column
//! with its type, and whatever it does not name is refused.

use crate::columns::ElementType;
use scumble_core::release::Encoding;
use serde::{Deserialize, Serialize};

/// The released columns in the order of the file, and the number of files that hold their rows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Layout {
    /// Files that hold rows: 1, or as many as a folder has. What is stored beside an `.npy` is not counted.
    pub files: u64,
    /// `id` and `label` where there are any, then `sketch`.
    pub columns: Vec<ColumnLayout>,
}

/// One column.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ColumnLayout {
    /// `id`, `label` or `sketch`.
    pub name: String,
    /// Type of one element.
    #[serde(rename = "type")]
    pub element: ElementType,
    /// Elements per row, of a sketch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub width: Option<u64>,
}

impl ColumnLayout {
    /// A column of ids (`id`) or labels (`label`).
    pub fn carried(name: &str, element: ElementType) -> Self {
        Self { name: name.to_owned(), element, width: None }
    }

    /// Sketches of `width` elements per row.
    pub fn sketch(element: ElementType, width: usize) -> Self {
        Self { name: "sketch".to_owned(), element, width: Some(width as u64) }
    }

    /// The sketches that an encoding makes of `k` coordinates.
    pub fn encoded(encoding: Encoding, k: usize) -> Self {
        let element = match encoding {
            Encoding::F32 => ElementType::Float32,
            Encoding::I16 => ElementType::Int16,
            Encoding::B8 => ElementType::Int8,
            Encoding::B4 | Encoding::B1 | Encoding::Symbols { .. } | Encoding::Word { .. } => ElementType::Bytes,
        };
        Self::sketch(element, encoding.bytes_per_row(k) / element.size())
    }
}

impl Layout {
    /// The columns that exist, in order.
    pub fn new(ids: Option<ElementType>, labels: Option<ElementType>, sketch: ColumnLayout) -> Self {
        let carried = [("id", ids), ("label", labels)];
        let carried = carried.into_iter().filter_map(|(name, element)| Some(ColumnLayout::carried(name, element?)));
        Self { files: 1, columns: carried.chain([sketch]).collect() }
    }

    /// The type of a column, if it exists.
    pub fn element(&self, name: &str) -> Option<ElementType> {
        self.columns.iter().find(|column| column.name == name).map(|column| column.element)
    }

    /// True if a certificate with this encoding, ids and labels may state it.
    pub(super) fn fits(&self, sketch: &ColumnLayout, ids: bool, labels: bool) -> bool {
        use ElementType::{Float64, Int64, Text};
        let (id, label) = (self.element("id"), self.element("label"));
        let canonical = Self { files: self.files, ..Self::new(id, label, sketch.clone()) };
        *self == canonical
            && self.files > 0
            && (id.is_some(), label.is_some()) == (ids, labels)
            && matches!(id, None | Some(Int64 | Text))
            && matches!(label, None | Some(Int64 | Float64 | Text))
    }

    /// The columns in a few words.
    pub fn words(&self) -> String {
        let one = |column: &ColumnLayout| {
            let element = format!("{:?}", column.element).to_lowercase();
            let width = column.width.map(|width| format!(" x {width}")).unwrap_or_default();
            format!("{} {element}{width}", column.name)
        };
        let columns: Vec<String> = self.columns.iter().map(one).collect();
        let files = if self.files == 1 { "1 file".to_owned() } else { format!("{} files", self.files) };
        format!("{}, in {files}", columns.join(", "))
    }
}
