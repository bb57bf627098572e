//! What handlers are given of a request, good or not: they say themselves what is wrong, in the order that they choose.

use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path as UrlPath, Query};

/// The id in the path.
pub(super) type Id = Result<UrlPath<String>, PathRejection>;

/// The names and values of the query.
pub(super) type Parameters = Result<Query<Vec<(String, String)>>, QueryRejection>;
