//! Wang & Xu (2019; the journal version of 2020): local, without interaction. All of them are rates.

use super::Setting;

impl Setting {
    /// Their effective noise variance (1), `lambda_1 lambda_{k+1} / gap^2`.
    fn effective_noise(&self) -> Option<f64> {
        let gap = self.gap();
        (gap > 0.0).then(|| self.first * self.next / (gap * gap))
    }

    fn signal(&self) -> Option<f64> {
        let gap = self.gap();
        (gap > 0.0).then(|| (self.first / gap).powi(2))
    }

    /// `sigma^2 k p / (n eps^2)`, for p/4 <= k <= 3p/4 and eps <= 1/2.
    pub(super) fn wang_xu_1(&self, n: f64) -> Option<f64> {
        let fits = self.epsilon <= 0.5 && 4.0 * self.k >= self.d && 4.0 * self.k <= 3.0 * self.d;
        self.effective_noise().filter(|_| fits).map(|noise| noise * self.k * self.d / (n * self.epsilon.powi(2)))
    }

    /// `lambda_1^2 k p log(1/delta) / (gap^2 n eps^2)`.
    pub(super) fn wang_xu_2(&self, n: f64) -> Option<f64> {
        let logarithm = libm::log(1.0 / self.delta);
        self.signal().map(|signal| signal * self.k * self.d * logarithm / (n * self.epsilon.powi(2)))
    }

    /// `sigma^2 s (k + log p) / (n eps^2)`, for 2k <= s - k <= p - k, p/4 <= k <= 3p/4 and eps <= 1/2.
    pub(super) fn wang_xu_3(&self, n: f64, s: f64) -> Option<f64> {
        let fits = self.epsilon <= 0.5
            && 2.0 * self.k <= s - self.k
            && s <= self.d
            && 4.0 * self.k >= self.d
            && 4.0 * self.k <= 3.0 * self.d;
        self.effective_noise()
            .filter(|_| fits)
            .map(|noise| noise * s * (self.k + libm::log(self.d)) / (n * self.epsilon.powi(2)))
    }

    /// `lambda_1^2 s^2 log p / (gap^2 n eps^2)`, for eps < 1.
    pub(super) fn wang_xu_4(&self, n: f64, s: f64) -> Option<f64> {
        self.signal()
            .filter(|_| self.epsilon < 1.0)
            .map(|signal| signal * s * s * libm::log(self.d) / (n * self.epsilon.powi(2)))
    }

    /// `s^2 lambda_1^2 log(1/delta) log p (8 lambda_1 + gap) / (eps^2 gap^2)`: condition (6) with alpha = 1, the best
    /// case.
    pub(super) fn wang_xu_5(&self, s: f64) -> Option<f64> {
        let logarithms = libm::log(1.0 / self.delta) * libm::log(self.d);
        self.signal()
            .filter(|_| self.epsilon < 1.0)
            .map(|signal| signal * s * s * logarithms * (8.0 * self.first + self.gap()) / self.epsilon.powi(2))
    }
}
