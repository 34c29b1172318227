//! What is said about a number of measurements: the middle, the spread, the slow end.

/// Measurements of one thing, at least one.
#[derive(Clone, Debug)]
pub struct Sample {
    sorted: Vec<f64>,
}

impl Sample {
    /// `None` without any measurement.
    pub fn new(mut values: Vec<f64>) -> Option<Self> {
        values.sort_by(f64::total_cmp);
        (!values.is_empty()).then_some(Self { sorted: values })
    }

    /// A thing that is measured once, such as a number of errors.
    pub fn one(value: f64) -> Self {
        Self { sorted: vec![value] }
    }

    pub fn len(&self) -> usize {
        self.sorted.len()
    }

    pub fn median(&self) -> f64 {
        self.quantile(0.5)
    }

    /// The first and the third quartile: between them lies the middle half.
    pub fn quartiles(&self) -> (f64, f64) {
        (self.quantile(0.25), self.quantile(0.75))
    }

    pub fn max(&self) -> f64 {
        self.quantile(1.0)
    }

    /// The value below which this share of the measurements lies, between two of them in proportion.
    #[expect(clippy::cast_precision_loss, reason = "there are far fewer than 2^52 measurements")]
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it lies within the measurements")]
    pub fn quantile(&self, share: f64) -> f64 {
        let place = share * (self.sorted.len() - 1) as f64;
        let (below, above) = (place.floor() as usize, place.ceil() as usize);
        self.sorted[below] + (self.sorted[above] - self.sorted[below]) * place.fract()
    }
}

/// How many times the other's median ours is.
pub fn ratio(ours: &Sample, other: &Sample) -> f64 {
    ours.median() / other.median()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(values: &[f64]) -> Sample {
        Sample::new(values.to_vec()).expect("values")
    }

    #[track_caller]
    fn same(one: f64, other: f64) {
        assert!((one - other).abs() < 1e-9, "{one} is not {other}");
    }

    #[test]
    fn the_median_does_not_depend_on_the_order() {
        same(sample(&[9.0, 1.0, 5.0]).median(), 5.0);
    }

    #[test]
    fn the_median_of_an_even_number_lies_between_the_middle_two() {
        same(sample(&[4.0, 1.0, 2.0, 9.0]).median(), 3.0);
    }

    #[test]
    fn the_quartiles_enclose_the_middle_half() {
        let (first, third) = sample(&[1.0, 2.0, 3.0, 4.0, 5.0]).quartiles();
        same(first, 2.0);
        same(third, 4.0);
    }

    #[test]
    fn a_single_value_is_its_own_median_quartiles_and_maximum() {
        let one = Sample::one(7.0);
        assert_eq!(one.len(), 1);
        for value in [one.median(), one.quartiles().0, one.quartiles().1, one.max(), one.quantile(0.99)] {
            same(value, 7.0);
        }
    }

    #[test]
    fn one_outlier_moves_the_maximum_and_not_the_median() {
        let sample = sample(&[1.0, 1.0, 1.0, 1.0, 1000.0]);
        same(sample.median(), 1.0);
        same(sample.max(), 1000.0);
    }

    #[test]
    fn a_ratio_is_that_of_the_medians() {
        same(ratio(&sample(&[3.0, 3.0, 900.0]), &sample(&[2.0, 1.0, 4.0])), 1.5);
    }

    #[test]
    fn nothing_measured_is_no_sample() {
        assert!(Sample::new(Vec::new()).is_none());
    }
}
