//! What is tried: from mechanisms, sizes and public knowledge to candidates. Every front end takes them from here.

use super::sweep::{Candidate, SweepError};
use scumble::mechanism::{MechanismId, NotionKind, OutputKind, Parameters};
use scumble::plan::{Ask, Public, Request};
use scumble::projection::{Partition, ProjectionKind, Seed};
use scumble::vectors::{Rows, TableHash};

/// The failure probability of mechanisms that need one, if none is given.
pub const DELTA: f64 = 1e-6;

/// Mechanisms and sizes to try on one's own data.
#[derive(Debug, Clone)]
pub struct Menu<'a> {
    /// What all have in common; mechanism and k are not looked at. Delta, clip and encoding go to the mechanisms that take
    /// them. Bins are measured beside OPORP.
    pub ask: Ask,
    /// Mechanisms; `None` is what the plan chooses at each epsilon.
    pub mechanisms: Vec<Option<MechanismId>>,
    /// Sizes of the sketch. With public knowledge a plan chooses its own.
    pub k: Vec<usize>,
    /// What a plan may know beyond numbers: public rows, none of them among those that are evaluated.
    pub public: Public<'a>,
}

impl Menu<'_> {
    /// The candidates for these tables, at these epsilons. Structure learned from one of the tables is refused: what it
    /// keeps of them says nothing about other rows.
    pub fn candidates(&self, tables: &[Rows<'_>], epsilons: &[f64]) -> Result<Vec<Candidate>, SweepError> {
        let dim = tables.first().map_or(0, |table| table.dim());
        let mut candidates = Vec::new();
        for mechanism in &self.mechanisms {
            match *mechanism {
                None => candidates.extend(self.planned(dim, epsilons)?),
                Some(id) => candidates.extend(self.of(id, dim)?),
            }
        }
        // A plan learns from the public rows also where no structure carries their hash.
        let public = self.public.sample.map(|rows| TableHash::of(rows).finish());
        let samples: Vec<[u8; 32]> = candidates.iter().flat_map(Candidate::samples).chain(public).collect();
        let taught = |table: &Rows<'_>| samples.contains(&TableHash::of(*table).finish());
        if !samples.is_empty() && tables.iter().any(taught) {
            return Err(SweepError::LearnedFromThese);
        }
        Ok(candidates)
    }

    fn planned(&self, dim: usize, epsilons: &[f64]) -> Result<Vec<Candidate>, SweepError> {
        let sizes: Vec<Option<usize>> = match self.public.is_nothing() {
            true => self.k.iter().copied().map(Some).collect(),
            false => vec![None],
        };
        let open = Ask { bins: None, encoding: None, sketch_clip: None, ..self.ask.clone() };
        let plan = |k| Candidate::auto(&request(&open, None, k, dim)?, epsilons, self.public);
        sizes.into_iter().map(plan).collect()
    }

    /// One mechanism at every size, and with the bins.
    fn of(&self, id: MechanismId, dim: usize) -> Result<Vec<Candidate>, SweepError> {
        let ask = Ask {
            bins: None,
            delta: match id.notion() {
                NotionKind::Pure => None,
                NotionKind::Either => self.ask.delta,
                NotionKind::Approximate | NotionKind::Individual => self.ask.delta.or(Some(DELTA)),
            },
            encoding: self.ask.encoding.filter(|_| id.output() == OutputKind::Values),
            ..self.ask.for_one(id)
        };
        let named = |k: usize, bins: Option<&Partition>| {
            let Request { parameters, encoding, .. } = request(&ask, Some(id), Some(k), dim)?;
            Ok::<_, SweepError>(Candidate::new(Parameters { k, bins: bins.cloned(), ..parameters }, encoding))
        };
        let sizes = if id.is_raw() { vec![dim] } else { self.k.clone() };
        let mut candidates = Vec::new();
        for k in sizes {
            let candidate = named(k, None)?;
            if id == MechanismId::DpSignoporpCeil {
                candidates.push(candidate.clone().with_coin_at_zero()); // beside it, what the paper's coin costs
            }
            candidates.push(candidate);
        }
        let takes_bins = id.default_projection(1) == ProjectionKind::Oporp { repeats: 1 } && !id.is_record();
        for bins in self.ask.bins.iter().filter(|_| takes_bins) {
            let sizes = match bins {
                Partition::Grid(_) => self.k.clone(),
                Partition::File(_) => bins.suggested_k(1.0).into_iter().collect(), // as many as it has
            };
            for k in sizes {
                candidates.push(named(k, Some(bins))?);
            }
        }
        Ok(candidates)
    }
}

/// The request for one mechanism. A sweep draws its own seeds.
fn request(ask: &Ask, mechanism: Option<MechanismId>, k: Option<usize>, dim: usize) -> Result<Request, SweepError> {
    Ok(Ask { mechanism, k, seed: Some(Seed([0; 32])), ..ask.clone() }.request(dim, None)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluate::sweep::{AUTO, AUTO_BY_IMAGES, AUTO_BY_SAMPLE};
    use scumble::plan::{images_like, plan_with_public};
    use scumble::privacy::Unit;
    use scumble::recall::Fixed;
    use scumble::vectors::{Range, Scalars};

    const DIM: usize = 64;

    /// Attributes that move in fours.
    fn fours(n: usize, start: u64) -> Vec<f32> {
        let mut random = Fixed::new(start);
        (0..n * DIM / 4).flat_map(|_| [random.uniform() as f32; 4]).collect()
    }

    fn menu<'a>(mechanisms: &[Option<MechanismId>], public: Public<'a>) -> Menu<'a> {
        let ask = Ask::new(1.0, Range { lo: 0.0, hi: 1.0 });
        Menu { ask, mechanisms: mechanisms.to_vec(), k: vec![16, 32], public }
    }

    /// What the plan chooses at each epsilon, learned from the public rows; never from those that are evaluated.
    #[test]
    fn auto_is_what_the_plan_chooses_from_public_rows() {
        let (own, shown) = (fours(60, 1), fours(200, 2));
        let (own, shown) = (Rows::dense(Scalars::F32(&own), DIM), Rows::dense(Scalars::F32(&shown), DIM));
        let public = Public { sample: Some(shown), ..Public::default() };
        let found = menu(&[None], public).candidates(&[own], &[2.0]).unwrap();
        let [auto] = &found[..] else { panic!("one k: its own") };
        assert_eq!(auto.name, AUTO_BY_SAMPLE);
        let ask = Ask { seed: Some(Seed([0; 32])), ..Ask::new(2.0, Range { lo: 0.0, hi: 1.0 }) };
        let best = plan_with_public(&ask.request(DIM, None).unwrap(), public).unwrap().best;
        assert_eq!(auto.at(2.0), (best.mechanism.parameters(), Some(best.encoding)));
        assert_eq!(auto.samples(), [TableHash::of(shown).finish()], "bins");
        assert_eq!(menu(&[None], public).candidates(&[shown], &[5.0]).unwrap_err(), SweepError::LearnedFromThese);
        let mut named = menu(&[Some(MechanismId::DpOporpStaircase)], Public::default());
        named.ask.bins = best.mechanism.parameters().bins.clone();
        assert!(named.candidates(&[own], &[2.0]).is_ok());
        assert_eq!(named.candidates(&[own, shown], &[2.0]).unwrap_err(), SweepError::LearnedFromThese);
    }

    /// Records learn components or a book; images need no rows; numbers alone keep the sizes that are asked for.
    #[test]
    fn each_kind_of_public_knowledge_has_its_name() {
        let (own, shown) = (fours(60, 1), fours(200, 2));
        let (own, shown) = (Rows::dense(Scalars::F32(&own), DIM), Rows::dense(Scalars::F32(&shown), DIM));
        let mut of_records = menu(&[None], Public { sample: Some(shown), ..Public::default() });
        of_records.ask.unit = Some(Unit::Record);
        let [records] = &of_records.candidates(&[own], &[12.0]).unwrap()[..] else { panic!() };
        assert_eq!(records.at(12.0).0.unit, Unit::Record);
        let images = Public { images: Some(images_like("images:8x8").unwrap()), ..Public::default() };
        let [blocks] = &menu(&[None], images).candidates(&[own], &[1.0]).unwrap()[..] else { panic!() };
        assert_eq!(blocks.name, AUTO_BY_IMAGES);
        assert!(matches!(blocks.at(1.0).0.bins, Some(Partition::Grid(_))));
        let numbers = menu(&[None], Public::default()).candidates(&[own], &[1.0]).unwrap();
        let sizes: Vec<_> = numbers.iter().map(|c| (&*c.name, c.at(1.0).0.k)).collect();
        assert_eq!(sizes, [(AUTO, 16), (AUTO, 32)]);
    }

    /// Delta, clip and encoding go where they are taken; bins stand beside OPORP.
    #[test]
    fn every_mechanism_gets_what_it_takes() {
        let own = fours(60, 1);
        let own = Rows::dense(Scalars::F32(&own), DIM);
        let ids = [
            MechanismId::DpOporpStaircase,
            MechanismId::DpSignoporpCeil,
            MechanismId::DpOporp,
            MechanismId::RawStaircase,
        ];
        let mut menu = menu(&ids.map(Some), Public::default());
        menu.ask.encoding = Some(scumble::release::Encoding::B8);
        (menu.ask.sketch_clip, menu.ask.bins) = (Some(0.5), Some(Partition::Grid("grid:8x8".parse().unwrap())));
        let found = menu.candidates(&[own], &[1.0]).unwrap();
        let names: Vec<_> = found.iter().map(|c| (&*c.name, c.parameters.k, c.parameters.delta)).collect();
        let delta = Some(DELTA);
        assert_eq!(
            names,
            [
                ("dp-oporp-staircase, clip 0.5, b8", 16, None),
                ("dp-oporp-staircase, clip 0.5, b8", 32, None),
                ("dp-oporp-staircase, clip 0.5, b8, blocks", 16, None),
                ("dp-oporp-staircase, clip 0.5, b8, blocks", 32, None),
                ("dp-signoporp-ceil, coin at 0", 16, None),
                ("dp-signoporp-ceil", 16, None),
                ("dp-signoporp-ceil, coin at 0", 32, None),
                ("dp-signoporp-ceil", 32, None),
                ("dp-signoporp-ceil, blocks", 16, None),
                ("dp-signoporp-ceil, blocks", 32, None),
                ("dp-oporp, b8", 16, delta),
                ("dp-oporp, b8", 32, delta),
                ("dp-oporp, b8, blocks", 16, delta),
                ("dp-oporp, b8, blocks", 32, delta),
                ("raw-staircase, clip 0.5, b8", 64, None),
            ]
        );
        menu.ask.delta = Some(1e-3);
        assert_eq!(menu.candidates(&[own], &[1.0]).unwrap()[10].parameters.delta, Some(1e-3));
    }
}
