//! Makes the fixture of internal/search/embedding/bert: for each text of a JSON array its token ids and the unit vector of the original model.
//! reference MODEL_DIR TEXTS.json > reference.json
use anyhow::{Error, Result};
use candle_core::{DType, Device, Tensor};
use candle_nn::VarBuilder;
use candle_transformers::models::bert::{BertModel, Config};
use tokenizers::{Tokenizer, TruncationParams};

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().collect();
    let dir = &args[1];
    let config: Config = serde_json::from_slice(&std::fs::read(format!("{dir}/config.json"))?)?;
    let mut tokenizer = Tokenizer::from_file(format!("{dir}/tokenizer.json")).map_err(Error::msg)?;
    let cut = TruncationParams { max_length: 256, ..Default::default() };
    tokenizer.with_padding(None).with_truncation(Some(cut)).map_err(Error::msg)?;
    let device = Device::Cpu;
    let weights = std::fs::read(format!("{dir}/model.safetensors"))?;
    let model = BertModel::load(VarBuilder::from_buffered_safetensors(weights, DType::F32, &device)?, &config)?;

    let texts: Vec<String> = serde_json::from_slice(&std::fs::read(&args[2])?)?;
    println!("[");
    for (i, text) in texts.iter().enumerate() {
        let ids = tokenizer.encode(text.as_str(), true).map_err(Error::msg)?.get_ids().to_vec();
        let input = Tensor::new(ids.as_slice(), &device)?.unsqueeze(0)?;
        let hidden = model.forward(&input, &input.zeros_like()?, None)?;
        let mean = hidden.mean(1)?.squeeze(0)?;
        let unit = mean.broadcast_div(&mean.sqr()?.sum_all()?.sqrt()?)?.to_vec1::<f32>()?;
        let vector: String = unit.iter().map(|f| format!("{:08x}", f.to_bits())).collect();
        let end = if i + 1 < texts.len() { "," } else { "" };
        println!("{}{end}", serde_json::json!({"text": text, "ids": ids, "vector": vector}));
    }
    println!("]");
    Ok(())
}
