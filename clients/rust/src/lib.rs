//! Client of memsidecar, the local daemon that owns an agent's long-term memory.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use memsidecar::{Client, Options, v1};
//!
//! let mut client = Client::connect(Options::default()).await?;
//! let found = client
//!     .searches
//!     .search(v1::SearchServiceSearchRequest { query: "how do we deploy".into(), ..Default::default() })
//!     .await?;
//! # Ok(()) }
//! ```
//!
//! The clients are the generated ones. A write is durable when its call returns. A write with an `idempotency_key` can be retried
//! after [`tonic::Code::Unavailable`]; [`Failure`] reads the other errors of a call.

mod failure;
mod find;

pub use failure::{Failure, Violation};
pub use find::{ConnectError, Options};

use tonic::transport::Channel;

/// Messages and generated clients of the API.
#[allow(clippy::all, missing_docs)]
pub mod v1 {
    tonic::include_proto!("memsidecar.v1");
}

/// A connection to the daemon, by service. Clones share it.
#[derive(Clone, Debug)]
pub struct Client {
    pub memory: v1::memory_service_client::MemoryServiceClient<Channel>,
    pub searches: v1::search_service_client::SearchServiceClient<Channel>,
    pub sessions: v1::session_service_client::SessionServiceClient<Channel>,
    pub logs: v1::log_service_client::LogServiceClient<Channel>,
    pub operations: v1::operation_service_client::OperationServiceClient<Channel>,
    pub files: v1::file_service_client::FileServiceClient<Channel>,
    pub admin: v1::admin_service_client::AdminServiceClient<Channel>,
}

impl Client {
    /// Finds the daemon, starts it if necessary and allowed, and checks that it answers. The client reconnects by itself after a
    /// restart of the daemon. It rejects a daemon that runs as another user.
    pub async fn connect(options: Options) -> Result<Self, ConnectError> {
        let channel = find::channel(&options).await?;
        let mut client = Self {
            memory: v1::memory_service_client::MemoryServiceClient::new(channel.clone()),
            searches: v1::search_service_client::SearchServiceClient::new(channel.clone()),
            sessions: v1::session_service_client::SessionServiceClient::new(channel.clone()),
            logs: v1::log_service_client::LogServiceClient::new(channel.clone()),
            operations: v1::operation_service_client::OperationServiceClient::new(channel.clone()),
            files: v1::file_service_client::FileServiceClient::new(channel.clone()),
            admin: v1::admin_service_client::AdminServiceClient::new(channel),
        };
        client.admin.info(v1::AdminServiceInfoRequest {}).await?;
        Ok(client)
    }
}
