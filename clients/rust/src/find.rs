//! Where the daemon listens, and how it is started.
//!
//! Flags, environment and configuration may all have a say in that, and two clients must not start a daemon at once: so the memsidecar
//! program is asked.

use std::{env, fmt, io, path::PathBuf, process::Stdio};

use hyper_util::rt::TokioIo;
use tokio::{net::UnixStream, process::Command};
use tonic::transport::{Channel, Endpoint};

/// Which daemon to talk to. The default is the user's own.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Path of the daemon's socket; default `MEMSIDECAR_SOCKET`, else what the program says. No daemon is started for it.
    pub socket: Option<PathBuf>,
    /// The memsidecar program; default `MEMSIDECAR_PROGRAM`, else memsidecar from `PATH`.
    pub program: Option<PathBuf>,
    /// Leave a daemon that does not run alone.
    pub no_start: bool,
}

/// Why there is no connection.
#[derive(Debug)]
pub enum ConnectError {
    /// The memsidecar program, which knows where the daemon listens and starts it, could not be run.
    NoProgram(io::Error),
    /// The program could not say where a daemon listens; this is what it said instead, such as that the daemon was stopped on purpose.
    NoDaemon(String),
    /// The daemon did not answer.
    Failed(Box<tonic::Status>),
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoProgram(err) => {
                write!(f, "the memsidecar program could not be run: {err}; install it, or set MEMSIDECAR_PROGRAM or the socket")
            }
            Self::NoDaemon(said) => f.write_str(said),
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

/// Makes a channel that connects when it is used, and again after a daemon was restarted.
pub(crate) async fn channel(options: &Options) -> Result<Channel, ConnectError> {
    let given = options.socket.clone().or_else(|| set("MEMSIDECAR_SOCKET"));
    let path = match given {
        Some(path) => path,
        None => ask(options).await?,
    };
    Ok(Endpoint::from_static("http://memsidecar").connect_with_connector_lazy(tower::service_fn(move |_| open(path.clone()))))
}

fn set(name: &str) -> Option<PathBuf> {
    env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from)
}

async fn ask(options: &Options) -> Result<PathBuf, ConnectError> {
    let program = options.program.clone().or_else(|| set("MEMSIDECAR_PROGRAM")).unwrap_or_else(|| "memsidecar".into());
    let mut command = Command::new(program);
    command.arg("socket").stdin(Stdio::null());
    if options.no_start {
        command.arg("--no-start");
    }
    let output = command.output().await.map_err(ConnectError::NoProgram)?;
    if !output.status.success() {
        return Err(ConnectError::NoDaemon(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
    }
    Ok(PathBuf::from(String::from_utf8_lossy(&output.stdout).trim_end_matches('\n')))
}

/// Connects, and asks the kernel who listens: memory must not be told to a stranger's server.
async fn open(path: PathBuf) -> io::Result<TokioIo<UnixStream>> {
    let stream = UnixStream::connect(&path).await?;
    let uid = stream.peer_cred()?.uid();
    if uid != rustix::process::getuid().as_raw() && uid != 0 {
        let message = format!("the daemon at {} runs as uid {uid}, not as you", path.display());
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, message));
    }
    Ok(TokioIo::new(stream))
}
