use std::collections::HashMap;

use tonic::{Code, Status};
use tonic_types::StatusExt;

/// An invalid field of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Its path, such as `items[0].salience`.
    pub field: String,
    /// For people.
    pub description: String,
}

/// The error of a call, read from its status.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The gRPC code.
    pub code: Code,
    /// `UPPER_SNAKE` and stable, such as `STALE_REVISION`; empty if no daemon answered.
    pub reason: String,
    /// For people.
    pub message: String,
    /// Details of the reason.
    pub metadata: HashMap<String, String>,
    /// All invalid fields of the request.
    pub violations: Vec<Violation>,
}

impl From<&Status> for Failure {
    fn from(status: &Status) -> Self {
        let info = status.get_details_error_info();
        let violations = status
            .get_details_bad_request()
            .map(|bad| bad.field_violations.into_iter().map(|v| Violation { field: v.field, description: v.description }).collect());
        Self {
            code: status.code(),
            message: status.message().to_owned(),
            reason: info.as_ref().map(|i| i.reason.clone()).unwrap_or_default(),
            metadata: info.map(|i| i.metadata).unwrap_or_default(),
            violations: violations.unwrap_or_default(),
        }
    }
}
