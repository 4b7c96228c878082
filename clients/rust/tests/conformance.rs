//! Runs clients/conformance against a real daemon.

use std::{collections::BTreeMap, env, fs, path::Path, process::Command};

use memsidecar::{Client, ConnectError, Failure, Options, v1};
use prost::Message;
use prost_reflect::{DescriptorPool, DynamicMessage, SerializeOptions};
use serde::Deserialize;
use serde_json::Value;
use tonic::Status;

#[derive(Deserialize)]
struct Case {
    name: String,
    steps: Vec<Step>,
}

#[derive(Deserialize)]
struct Step {
    call: String,
    request: Value,
    #[serde(default)]
    expect: Value,
    #[serde(default)]
    save: BTreeMap<String, String>,
    error: Option<Expected>,
}

#[derive(Deserialize)]
struct Expected {
    code: String,
    reason: String,
    #[serde(default)]
    metadata: BTreeMap<String, String>,
    #[serde(default)]
    fields: Vec<String>,
}

type Variables = BTreeMap<String, String>;

/// A user of its own, whose daemon is stopped at the end.
struct Home {
    directory: String,
    program: String,
}

impl Home {
    fn new() -> Self {
        let directory = format!("/tmp/msr{}", std::process::id()); // short: a socket's path is limited
        fs::create_dir_all(&directory).unwrap();
        let program = env::var("MEMSIDECAR_PROGRAM").unwrap_or_else(|_| {
            let program = format!("{directory}/memsidecar");
            let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
            let built = Command::new("go").args(["build", "-o", &program, "./cmd/memsidecar"]).current_dir(root).status();
            assert!(built.unwrap().success());
            program
        });
        for name in ["XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "MEMSIDECAR_SOCKET", "MEMSIDECAR_DATA"] {
            // SAFETY: the test of this program is a single one, and starts its threads later.
            unsafe { env::remove_var(name) };
        }
        for (name, value) in [("HOME", &directory), ("XDG_RUNTIME_DIR", &directory), ("MEMSIDECAR_PROGRAM", &program)] {
            // SAFETY: as above.
            unsafe { env::set_var(name, value) };
        }
        Self { directory, program }
    }

    fn stop(&self) {
        Command::new(&self.program).args(["daemon", "stop"]).output().unwrap();
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        self.stop();
        let _ = fs::remove_dir_all(&self.directory);
    }
}

#[test]
fn conformance() {
    let home = Home::new();
    let cases = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../conformance/cases.json")).unwrap();
    let cases: Vec<Case> = serde_json::from_str(&cases).unwrap();
    let pool = DescriptorPool::decode(include_bytes!(concat!(env!("OUT_DIR"), "/descriptors.bin")).as_slice()).unwrap();
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let mut client = Client::connect(Options::default()).await.unwrap();
        for (i, case) in cases.iter().enumerate() {
            println!("{}", case.name);
            let mut variables = Variables::from([("space".to_owned(), format!("rust-{i}"))]);
            for step in &case.steps {
                run(&mut client, &pool, step, &mut variables).await;
            }
        }
        home.stop();
        let Err(ConnectError::NoDaemon(said)) = Client::connect(Options::default()).await else { panic!("a daemon was started") };
        assert!(said.contains("memsidecar daemon start"), "{said}");
    });
}

async fn run(client: &mut Client, pool: &DescriptorPool, step: &Step, variables: &mut Variables) {
    let (service, method) = step.call.split_once('/').unwrap();
    let descriptor = pool.get_service_by_name(&format!("memsidecar.v1.{service}")).unwrap();
    let descriptor = descriptor.methods().find(|m| m.name() == method).unwrap();
    let request: Value = serde_json::from_str(&substitute(&step.request.to_string(), variables)).unwrap();
    let request = DynamicMessage::deserialize(descriptor.input(), request).unwrap();
    let answer = call(client, &step.call, &request.encode_to_vec()).await;
    let Some(expected) = &step.error else {
        let response = DynamicMessage::decode(descriptor.output(), answer.unwrap().as_slice()).unwrap();
        let got = response.serialize_with_options(serde_json::value::Serializer, &SerializeOptions::new()).unwrap();
        compare(&step.expect, &got, variables, &step.call);
        for (name, path) in &step.save {
            variables.insert(name.clone(), text(at(&got, path)));
        }
        return;
    };
    let failure = Failure::from(&answer.expect_err(&step.call));
    assert_eq!((upper_snake(&format!("{:?}", failure.code)), &failure.reason), (expected.code.clone(), &expected.reason));
    for (key, value) in &expected.metadata {
        assert_eq!(failure.metadata.get(key), Some(&substitute(value, variables)));
    }
    for field in &expected.fields {
        assert!(failure.violations.iter().any(|v| &v.field == field), "no violation of {field}");
    }
}

/// Makes the call by the generated client, and of a stream takes the first message.
async fn call(client: &mut Client, name: &str, request: &[u8]) -> Result<Vec<u8>, Status> {
    macro_rules! calls {
        ($($name:literal => $service:ident.$method:ident),* $(,)?) => {
            match name {
                $($name => Ok(client.$service.$method(tonic::Request::new(Message::decode(request).unwrap())).await?.into_inner().encode_to_vec()),)*
                "OperationService/Watch" => {
                    let request = v1::OperationServiceWatchRequest::decode(request).unwrap();
                    let mut stream = client.operations.watch(request).await?.into_inner();
                    Ok(stream.message().await?.unwrap().encode_to_vec())
                }
                _ => panic!("{name} is not known to this runner"),
            }
        };
    }
    calls! {
        "MemoryService/Add" => memory.add,
        "MemoryService/Get" => memory.get,
        "MemoryService/List" => memory.list,
        "MemoryService/Update" => memory.update,
        "MemoryService/Delete" => memory.delete,
        "MemoryService/Restore" => memory.restore,
        "MemoryService/Consolidate" => memory.consolidate,
        "MemoryService/Save" => memory.save,
        "MemoryService/GetSummary" => memory.get_summary,
        "MemoryService/SetSummary" => memory.set_summary,
        "SearchService/Search" => searches.search,
        "SearchService/Recall" => searches.recall,
        "SessionService/Start" => sessions.start,
        "SessionService/Append" => sessions.append,
        "SessionService/Reflect" => sessions.reflect,
        "SessionService/ListMessages" => sessions.list_messages,
        "LogService/Append" => logs.append,
        "LogService/Get" => logs.get,
        "LogService/List" => logs.list,
        "OperationService/Get" => operations.get,
        "OperationService/List" => operations.list,
        "OperationService/Undo" => operations.undo,
        "FileService/ListEdits" => files.list_edits,
        "FileService/ListProposals" => files.list_proposals,
        "FileService/ResolveProposal" => files.resolve_proposal,
    }
}

fn compare(want: &Value, got: &Value, variables: &Variables, path: &str) {
    match want {
        Value::Null => {}
        Value::String(s) if s == "$present" => assert!(!got.is_null(), "{path} is absent"),
        Value::String(s) if s == "$absent" => assert!(got.is_null(), "{path} is there: {got}"),
        Value::String(s) => assert_eq!(text(got), substitute(s, variables), "{path}"),
        Value::Object(fields) => {
            for (key, value) in fields {
                compare(value, &got[key], variables, &format!("{path}.{key}"));
            }
        }
        Value::Array(items) => {
            assert_eq!(got.as_array().map_or(0, Vec::len), items.len(), "{path}: {got}");
            for (i, value) in items.iter().enumerate() {
                compare(value, &got[i], variables, &format!("{path}[{i}]"));
            }
        }
        Value::Number(n) => assert_eq!(got.as_f64(), n.as_f64(), "{path}"),
        Value::Bool(_) => assert_eq!(want, got, "{path}"),
    }
}

fn at<'a>(value: &'a Value, path: &str) -> &'a Value {
    let found = path.split('.').fold(value, |v, key| key.parse::<usize>().map_or_else(|_| &v[key], |i| &v[i]));
    assert!(!found.is_null(), "there is no {path} in {value}");
    found
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn substitute(text: &str, variables: &Variables) -> String {
    variables.iter().fold(text.to_owned(), |t, (name, value)| t.replace(&format!("${{{name}}}"), value))
}

fn upper_snake(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        if c.is_uppercase() && !out.is_empty() {
            out.push('_');
        }
        out.push(c.to_ascii_uppercase());
    }
    out
}
