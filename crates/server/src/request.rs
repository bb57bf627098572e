//! The parts of a request that handlers get, good or not: a handler itself reports what is wrong, in the order it
//! chooses.

use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path as UrlPath, Query};

/// The id in the path.
pub(super) type Id = Result<UrlPath<String>, PathRejection>;

/// The names and values of the query.
pub(super) type Parameters = Result<Query<Vec<(String, String)>>, QueryRejection>;
