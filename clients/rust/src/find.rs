//! Finds and starts the daemon.
//!
//! The client asks the memsidecar program for the socket: the program reads flags, environment and configuration, and lets only one
//! of several clients start the daemon.

use std::{env, fmt, io, path::PathBuf, process::Stdio};

use hyper_util::rt::TokioIo;
use tokio::{net::UnixStream, process::Command};
use tonic::transport::{Channel, Endpoint};

/// Which daemon to use; by default the user's own.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Path of the daemon's socket. Default: `MEMSIDECAR_SOCKET`, then what the program prints. No daemon is started for it.
    pub socket: Option<PathBuf>,
    /// The memsidecar program. Default: `MEMSIDECAR_PROGRAM`, then memsidecar in `PATH`.
    pub program: Option<PathBuf>,
    /// Do not start a daemon.
    pub no_start: bool,
}

/// Why there is no connection.
#[derive(Debug)]
pub enum ConnectError {
    /// The memsidecar program could not be run. The client needs it to find and start the daemon.
    NoProgram(io::Error),
    /// The program found no daemon; this is its message, for example that the daemon was stopped.
    NoDaemon(String),
    /// The socket is an abstract one, which the daemon never listens on.
    AbstractSocket(String),
    /// The daemon did not answer.
    Failed(Box<tonic::Status>),
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoProgram(err) => {
                write!(f, "the memsidecar program could not be run: {err}; install it, or set MEMSIDECAR_PROGRAM or the socket")
            }
            Self::NoDaemon(message) => f.write_str(message),
            Self::AbstractSocket(address) => {
                write!(f, "socket {address:?}: abstract sockets are not supported; use the path of the daemon's socket")
            }
            Self::Failed(status) => write!(f, "the daemon does not answer: {}", status.message()),
        }
    }
}

impl std::error::Error for ConnectError {}

impl From<tonic::Status> for ConnectError {
    fn from(status: tonic::Status) -> Self {
        Self::Failed(Box::new(status))
    }
}

/// Makes a channel that connects on first use, and again after a restart of the daemon.
pub(crate) async fn channel(options: &Options) -> Result<Channel, ConnectError> {
    let given = options.socket.clone().or_else(|| set("MEMSIDECAR_SOCKET"));
    let path = match given {
        Some(path) => socket_path(path)?,
        None => ask(options).await?,
    };
    Ok(Endpoint::from_static("http://memsidecar").connect_with_connector_lazy(tower::service_fn(move |_| open(path.clone()))))
}

/// Returns the path of a socket that is given as a path, or with `unix:` or `unix://` before it. An abstract socket has
/// no owner that could be checked, so the daemon never listens on one.
fn socket_path(address: PathBuf) -> Result<PathBuf, ConnectError> {
    let Some(text) = address.to_str() else {
        return Ok(address); // a path that is not UTF-8 has no such prefix
    };
    if ["@", "\0", "unix-abstract:", "unix:@"].iter().any(|p| text.starts_with(p)) {
        return Err(ConnectError::AbstractSocket(text.to_owned()));
    }
    let path = text.strip_prefix("unix://").or_else(|| text.strip_prefix("unix:")).unwrap_or(text);
    Ok(PathBuf::from(path))
}

fn set(name: &str) -> Option<PathBuf> {
    env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from)
}

async fn ask(options: &Options) -> Result<PathBuf, ConnectError> {
    let program = options.program.clone().or_else(|| set("MEMSIDECAR_PROGRAM")).unwrap_or_else(|| "memsidecar".into());
    let mut command = Command::new(program);
    command.args(["daemon", "socket"]).stdin(Stdio::null());
    if options.no_start {
        command.arg("--no-start");
    }
    let output = command.output().await.map_err(ConnectError::NoProgram)?;
    if !output.status.success() {
        return Err(ConnectError::NoDaemon(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
    }
    Ok(PathBuf::from(String::from_utf8_lossy(&output.stdout).trim_end_matches('\n')))
}

/// Connects and checks the user of the server: another user's server could read the memories.
async fn open(path: PathBuf) -> io::Result<TokioIo<UnixStream>> {
    let stream = UnixStream::connect(&path).await?;
    let uid = stream.peer_cred()?.uid();
    if uid != rustix::process::getuid().as_raw() && uid != 0 {
        let message = format!("the daemon at {} runs as uid {uid}, not as you", path.display());
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, message));
    }
    Ok(TokioIo::new(stream))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_a_socket() {
        for given in ["/run/s", "unix:/run/s", "unix:///run/s"] {
            assert_eq!(socket_path(given.into()).unwrap(), PathBuf::from("/run/s"));
        }
        for given in ["@s", "\0s", "unix-abstract:s", "unix:@s"] {
            assert!(matches!(socket_path(given.into()), Err(ConnectError::AbstractSocket(_))), "{given:?}");
        }
    }
}
