//! A small real data set inside: 6,100 handwritten digits of MNIST. `data/mnist/PROVENANCE.md` has origin and licence.

use flate2::read::GzDecoder;
use std::io::Read;

/// Pixels of an image, 28 rows of 28.
pub const PIXELS: usize = 28 * 28;

/// Images.
pub const IMAGES: usize = 6100;

static IMAGES_GZ: &[u8] = include_bytes!("../data/mnist/images-idx3-ubyte.gz");
static LABELS_GZ: &[u8] = include_bytes!("../data/mnist/labels-idx1-ubyte.gz");

/// The images, one after the other: one byte per pixel, 0 is paper and 255 is ink.
pub fn images() -> Vec<u8> {
    body(IMAGES_GZ, 16)
}

/// The digit that each image shows.
pub fn labels() -> Vec<u8> {
    body(LABELS_GZ, 8)
}

/// An IDX file without its head.
fn body(file: &[u8], head: usize) -> Vec<u8> {
    let mut all = Vec::new();
    GzDecoder::new(file).read_to_end(&mut all).expect("the file is a part of the program");
    all.split_off(head)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_image_has_a_label() {
        let (images, labels) = (images(), labels());
        assert_eq!((images.len(), labels.len()), (IMAGES * PIXELS, IMAGES));
        // The first image of MNIST's test set is a 7; pixel (7, 6) is its first ink.
        assert_eq!((labels[0], images[7 * 28 + 6], images[..7 * 28 + 6].iter().max()), (7, 84, Some(&0)));
        assert_eq!((0..10).map(|digit| labels.iter().filter(|&&l| l == digit).count()).sum::<usize>(), IMAGES);
    }
}
