"""The covariance estimate from sums, with its known noise level."""

from __future__ import annotations

import json
from dataclasses import dataclass

from ._answers import Answer, Floats, made
from ._native import Aggregate, _covariance


@dataclass(frozen=True, eq=False)
class Mean(Answer):
    """An unbiased estimate of the mean of the bounded records, of a task with centring.

    Attributes
    ----------
    values : ndarray of shape (d,)
        In the units of the encoded features.
    noise_deviation : float
        Standard deviation that the mechanism gives to one entry.
    in_column_units : ndarray of shape (d,) or None
        In the units of the columns; None under unit norm, where the mean is that of directions.
    noise_factor : float
        The deviation of a covariance entry, as a multiple of what it would be without centring.
    share : float or None
        The part of the second moments about zero that is due to the mean; None where noise makes their total 0 or less.
    """

    values: Floats
    noise_deviation: float
    in_column_units: Floats | None
    noise_factor: float
    share: float | None


@dataclass(frozen=True, eq=False)
class Covariance(Answer):
    """An unbiased estimate of the second moments of the bounded records or, with centring, of their covariance.

    Attributes
    ----------
    matrix : ndarray of shape (d, d)
        In the units of the encoded features, symmetric. Not positive semidefinite unless denoised: small eigenvalues
        may be negative.
    records : int
        The number of reports.
    feature_names : list of str
        The names of the d features.
    noise_deviation : float
        Standard deviation that the mechanism gives to one off-diagonal entry.
    noise_edge : float
        The largest eigenvalue that noise alone would give. A component below it cannot be distinguished from noise.
    mean : Mean or None
        The mean, of a task with centring.
    denoising : str
        The treatment of the noise.
    eigenvalues : ndarray or None
        The new values of the eigenvalues above the noise, descending, where they were shrunk.
    bulk : float or None
        The level that all other eigenvalues were set to.
    """

    matrix: Floats
    records: int
    feature_names: list[str]
    noise_deviation: float
    noise_edge: float
    mean: Mean | None
    denoising: str
    eigenvalues: Floats | None
    bulk: float | None

    def __repr__(self) -> str:
        """The shape and the level of the noise."""
        d = len(self.feature_names)
        return f"Covariance(dimension={d}, records={self.records}, noise_deviation={self.noise_deviation:.3e})"


def covariance(aggregate: Aggregate, *, fold: int | None = None, denoise: str = "none") -> Covariance:
    """Estimate the covariance of the records whose reports were summed.

    Parameters
    ----------
    aggregate : Aggregate
        The sums.
    fold : int, optional
        Take only this fold's reports, counted from 0.
    denoise : {'none', 'frobenius', 'operator', 'psd'}
        The treatment of the noise: none; eigenvalues shrunk by the known noise for the least Frobenius distance to
        the truth, or to the true variances, the rest flattened to one level; negative eigenvalues set to zero.

    Raises
    ------
    RecoveryError
        Without reports, for a fold that does not exist, and for shrinking with centring, whose noise is not
        the same in all directions.
    """
    matrix, text = _covariance(aggregate, fold, denoise)
    return made(Covariance, {"matrix": matrix, **json.loads(text)}, mean=Mean)
