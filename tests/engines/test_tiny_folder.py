from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest

from hitrate.engines.gguf import Tensor
from hitrate.engines.tiny_folder import safetensors, tiny_model_files, tiny_model_folder
from hitrate.engines.tiny_model import HIDDEN, LAYERS, tensors
from hitrate.engines.vocabulary import load_vocabulary
from hitrate.errors import UsageError

FILES = tiny_model_files()


def weights() -> dict[str, tuple[list[int], bytes]]:
    data = FILES["model.safetensors"]
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    del header["__metadata__"]
    found = {}
    for name, entry in header.items():
        start, end = (8 + length + offset for offset in entry["data_offsets"])
        found[name] = (entry["shape"], data[start:end])
    return found


def test_a_file_of_two_tensors():
    data = safetensors([Tensor("a", (3, 1), b"x" * 12), Tensor("b", (2,), b"y" * 8)])
    (length,) = struct.unpack("<Q", data[:8])
    assert length % 8 == 0 and json.loads(data[8 : 8 + length]) == {
        "__metadata__": {"format": "pt"},
        "a": {"dtype": "F32", "shape": [1, 3], "data_offsets": [0, 12]},
        "b": {"dtype": "F32", "shape": [2], "data_offsets": [12, 20]},
    }
    assert data[8 + length :] == b"x" * 12 + b"y" * 8


def test_the_weights_are_those_of_the_gguf():
    mine = weights()
    theirs = {tensor.name: tensor for tensor in tensors()}
    assert len(mine) == len(theirs) == 3 + 9 * LAYERS
    assert mine["lm_head.weight"] == ([4096, HIDDEN], theirs["output.weight"].data)
    assert mine["model.layers.3.mlp.down_proj.weight"] == ([HIDDEN, 384], theirs["blk.3.ffn_down.weight"].data)
    assert mine["model.layers.0.self_attn.v_proj.weight"][1] == theirs["blk.0.attn_v.weight"].data


@pytest.mark.parametrize(
    ("row", "row_in_gguf"), [(0, 0), (1, 2), (15, 30), (16, 1), (17, 3), (31, 31), (32, 32), (48, 33)]
)
def test_the_pairs_that_a_rotation_turns_are_taken_apart(row: int, row_in_gguf: int):
    size = 4 * HIDDEN
    theirs = {tensor.name: tensor.data for tensor in tensors()}
    for mine, name in (("q_proj", "attn_q"), ("k_proj", "attn_k")):
        data = weights()[f"model.layers.2.self_attn.{mine}.weight"][1]
        start = row_in_gguf * size
        assert data[row * size : (row + 1) * size] == theirs[f"blk.2.{name}.weight"][start : start + size]


def test_the_vocabulary_has_the_ids_of_the_gguf():
    tokenizer = json.loads(FILES["tokenizer.json"])
    tokens = load_vocabulary().tokens
    assert sorted(tokenizer["model"]["vocab"], key=tokenizer["model"]["vocab"].get) == list(tokens)
    assert [(one["id"], one["content"]) for one in tokenizer["added_tokens"]] == list(enumerate(tokens))[-3:]
    config = json.loads(FILES["config.json"])
    assert config["vocab_size"] == 4096 and tokens[config["eos_token_id"]] == "<|im_end|>"
    assert "<|im_start|>" in json.loads(FILES["tokenizer_config.json"])["chat_template"]


def test_the_folder_is_written_once(tmp_path: Path):
    folder = tiny_model_folder(tmp_path / "cache")
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == FILES
    (folder / "config.json").write_bytes(b"{}")
    assert tiny_model_folder(tmp_path / "cache") == folder
    assert [file.name for file in (tmp_path / "cache").iterdir()] == [folder.name]


def test_where_nothing_can_be_written(tmp_path: Path):
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match=r"the tiny model cannot be written to .*/file: .*; free it or set"):
        tiny_model_folder(tmp_path / "file")
