//! Saves a memory, finds it and undoes the write: `cargo run --example remember`.

use memsidecar::{Client, Options, v1};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut client = Client::connect(Options::default()).await?;
    let memory = v1::NewMemory { content: "We deploy with make release".into(), category: "facts".into(), ..Default::default() };
    let added = client.memory.add(v1::MemoryServiceAddRequest { items: vec![memory], ..Default::default() }).await?.into_inner();
    let operation = added.result.unwrap_or_default().operation_id;

    let query = v1::SearchServiceSearchRequest { query: "how do we deploy".into(), ..Default::default() };
    for hit in client.searches.search(query).await?.into_inner().hits {
        println!("{:.3}  {}", hit.score, hit.memory.unwrap_or_default().content);
    }
    if !operation.is_empty() {
        client.operations.undo(v1::OperationServiceUndoRequest { id: operation.clone(), ..Default::default() }).await?;
        println!("undid operation {operation}");
    }
    Ok(())
}
