//! Reports in your own web service: `cargo run --release -p ldp-pca-server --example handler`.
//!
//! Two axum handlers: one accepts reports, the other answers with the leading component. Sums are in memory.
//! `ldp-pca serve` is the full aggregator, which keeps reports on disk, sums many tasks, and limits what strangers may
//! send.

use std::collections::HashSet;
use std::error::Error;
use std::sync::{Arc, Mutex, PoisonError};

use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::{get, post};
use axum::{Json, Router};
use ldp_pca::{
    Accumulator, Bounding, Covariance, Epsilon, Folds, MechanismSpec, Rank, Report, ReportId, Schema, Task,
    principal_components,
};

/// A collection that is under way. Ids are remembered so that a report that is sent twice counts once.
struct Collection {
    task: Task,
    sums: Mutex<(Accumulator, HashSet<ReportId>)>,
}

/// The body is one report.
async fn accept(State(collection): State<Arc<Collection>>, body: Bytes) -> Result<StatusCode, (StatusCode, String)> {
    let refused = |error: &dyn Error| (StatusCode::UNPROCESSABLE_ENTITY, error.to_string());
    let report = Report::from_bytes(&body, &collection.task).map_err(|error| refused(&error))?;
    let mut sums = collection.sums.lock().unwrap_or_else(PoisonError::into_inner);
    let (accumulator, ids) = &mut *sums;
    if !ids.insert(report.id()) {
        return Ok(StatusCode::OK);
    }
    accumulator.push(report).map_err(|error| refused(&error))?;
    Ok(StatusCode::CREATED)
}

/// The leading component of all reports so far. With hundreds of features it belongs on a thread of its own
/// (`spawn_blocking`).
async fn component(State(collection): State<Arc<Collection>>) -> Result<Json<Vec<f64>>, (StatusCode, String)> {
    // Copied, so that reports do not wait for the recovery.
    let sums = collection.sums.lock().unwrap_or_else(PoisonError::into_inner).0.clone();
    let recover = || -> Result<Vec<f64>, ldp_pca::Error> {
        let mut sums = sums;
        let covariance = Covariance::estimate(sums.aggregate()?, &collection.task)?;
        Ok(principal_components(covariance.matrix(), Rank::new(1)?)?.vectors.as_slice().to_vec())
    };
    recover().map(Json).map_err(|error| (StatusCode::CONFLICT, error.to_string()))
}

#[tokio::main]
pub(crate) async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let task = Task::new(
        Schema::numeric(3)?,
        Bounding::UnitNorm,
        MechanismSpec::double_cap(Epsilon::new(2.0)?),
        Folds::new(1)?,
    )?;
    let sums = Mutex::new((Accumulator::new(&task), HashSet::new()));
    let collection = Arc::new(Collection { task: task.clone(), sums });
    let routes =
        Router::new().route("/reports", post(accept)).route("/component", get(component)).with_state(collection);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(axum::serve(listener, routes).into_future());

    // A hundred devices, and somebody who asks.
    let asked = tokio::task::spawn_blocking(move || -> Result<String, Box<dyn Error + Send + Sync>> {
        for _ in 0..100 {
            let record = task.bound(vec![3.0, 1.0, -2.0])?;
            let report = task.randomize(&record, None)?.to_bytes();
            // The second one is a retry.
            for status in [201, 200] {
                assert_eq!(ureq::post(format!("http://{address}/reports")).send(&report)?.status(), status);
            }
        }
        Ok(ureq::get(format!("http://{address}/component")).call()?.body_mut().read_to_string()?)
    });
    println!("the component of a hundred reports: {}", asked.await??);
    Ok(())
}
