"""Which published models become ONNX files that run and keep their modules, and whether they give PyTorch's numbers.

    python tests/oracle/onnx_coverage.py --path FOLDER -o docs/onnx.md --record onnx_coverage.jsonl [NAME ...]

Each model is built with random weights in a process of its own; weights and BatchNorm statistics are perturbed, because
at initialisation many models give next to nothing, where any tolerance passes. The output must vary before it is
compared. What is done already stands in the record and is not done again. `--path` is where libraries lie that are
installed without their dependencies. Without names, all models.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import Any

TORCHVISION = [
    "alexnet",
    "convnext_tiny",
    "densenet121",
    "densenet201",
    "efficientnet_b0",
    "efficientnet_v2_s",
    "googlenet",
    "inception_v3",
    "maxvit_t",
    "mnasnet0_5",
    "mnasnet1_0",
    "mobilenet_v2",
    "mobilenet_v3_large",
    "mobilenet_v3_small",
    "regnet_x_400mf",
    "regnet_y_400mf",
    "resnet18",
    "resnet50",
    "resnext50_32x4d",
    "shufflenet_v2_x0_5",
    "squeezenet1_0",
    "squeezenet1_1",
    "swin_t",
    "swin_v2_t",
    "vgg11_bn",
    "vit_b_32",
    "wide_resnet50_2",
]
TIMM = [
    "resnet26d",
    "seresnet33ts",
    "resnest14d",
    "ecaresnet26t",
    "res2net50_26w_4s",
    "dpn48b",
    "hrnet_w18_small",
    "dla34",
    "ghostnet_100",
    "mobilenetv3_small_100",
    "mobilenetv4_conv_small",
    "efficientnet_lite0",
    "tf_efficientnetv2_b0",
    "mixnet_s",
    "regnetx_002",
    "rexnet_100",
    "convnext_atto",
    "convnextv2_atto",
    "nfnet_l0",
    "vgg11",
    "vit_tiny_patch16_224",
    "deit_tiny_patch16_224",
    "swin_tiny_patch4_window7_224",
    "mixer_s32_224",
    "poolformer_s12",
    "levit_128s",
    "xcit_nano_12_p16_224",
    "efficientformer_l1",
    "coat_lite_tiny",
    "pvt_v2_b0",
]
TRANSFORMERS = [
    "BertModel",
    "GPT2LMHeadModel",
    "DistilBertModel",
    "RobertaModel",
    "AlbertModel",
    "ElectraModel",
    "LlamaForCausalLM",
    "MistralForCausalLM",
    "Qwen2ForCausalLM",
    "GPTNeoXForCausalLM",
    "T5EncoderModel",
    "ViTModel",
    "DeiTModel",
    "MPNetModel",
    "MixtralForCausalLM",
]
SMALL = {
    "hidden_size": 64,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
    "intermediate_size": 128,
    "vocab_size": 99,
    "max_position_embeddings": 64,
    "n_embd": 64,
    "n_layer": 4,
    "n_head": 4,
    "n_positions": 64,
    "dim": 64,
    "n_layers": 4,
    "n_heads": 4,
    "hidden_dim": 128,
    "embedding_size": 64,
    "head_dim": 16,
    "d_model": 64,
    "num_layers": 4,
    "num_heads": 4,
    "d_kv": 16,
    "d_ff": 128,
    "image_size": 32,
    "patch_size": 8,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "num_local_experts": 4,
    "use_cache": False,
    "return_dict": True,
}
"""Sizes that the configurations of small transformers are given, where they know them."""
SECONDS = 600
CLOSE = 1e-4
MARKS = ("<!-- coverage: begin -->", "<!-- coverage: end -->")


def build(name: str) -> tuple[Any, tuple[Any, ...]]:
    """A model "library:name" and its arguments."""
    import torch

    library, _, model = name.partition(":")
    if library == "torchvision":
        import torchvision

        wanted = getattr(torchvision.models, model)
        options = {"aux_logits": False} if model in ("googlenet", "inception_v3") else {}
        side = 299 if model == "inception_v3" else 224
        return wanted(weights=None, init_weights=False, **options) if options else wanted(), (
            torch.randn(1, 3, side, side),
        )
    if library == "timm":
        import timm

        made = timm.create_model(model, pretrained=False)
        return made, (torch.randn(1, *made.default_cfg["input_size"]),)
    import transformers

    kind = getattr(transformers, model)
    known = kind.config_class()
    config = kind.config_class(**{key: value for key, value in SMALL.items() if hasattr(known, key)})
    if hasattr(known, "image_size"):
        return kind(config), (torch.randn(1, 3, 32, 32),)
    return kind(config), (torch.randint(3, 99, (1, 12)),)


def perturb(model: Any) -> None:
    """Weights and statistics that are nobody's initial values."""
    import torch

    generator = torch.Generator().manual_seed(1)
    for module in model.modules():
        for name, buffer in module._buffers.items():
            if name == "running_mean":
                buffer.copy_(0.1 * torch.randn(buffer.shape, generator=generator))
            elif name == "running_var":
                buffer.copy_(0.5 + torch.rand(buffer.shape, generator=generator))
    for parameter in model.parameters():
        spread = float(parameter.detach().float().std()) if parameter.numel() > 1 else 0.0
        noise = torch.randn(parameter.shape, generator=generator) * max(0.1 * spread, 0.02)
        parameter.data.add_(noise.to(parameter.dtype))


def tensors_of(result: Any) -> list[Any]:
    """The tensors of a result, flat."""
    import torch
    from torch.utils import _pytree

    return [leaf for leaf in _pytree.tree_leaves(result) if isinstance(leaf, torch.Tensor)]


def one(name: str) -> dict[str, Any]:
    """What became of one model."""
    import onnx
    import onnxruntime
    import torch

    import modgraph

    torch.manual_seed(0)
    model, args = build(name)
    model.eval()
    with torch.no_grad():
        perturb(model)
        results = [result.numpy() for result in tensors_of(model(*args))]
    spread = float(results[0].std())
    assert spread > 1e-3, f"the output hardly varies: {spread}"
    record: dict[str, Any] = {"name": name, "std": spread}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "net.onnx"
        started = time.monotonic()
        graph = modgraph.export_onnx(model, file, args)
        record["seconds"] = round(time.monotonic() - started, 1)
        record["problems"] = [problem.message for problem in graph.problems if problem.stage == "export"]
        onnx.checker.check_model(str(file), full_check=True)
        loaded = onnx.load(str(file))
        facts = {entry.key: entry.value for entry in loaded.metadata_props}
        record["tier"], record["rung"] = facts["modgraph.tier"], facts.get("modgraph.rung")
        record["functions"] = len(loaded.functions)
        record["calls"] = sum(
            len(json.loads(entry.value))
            for function in loaded.functions
            for entry in function.metadata_props
            if entry.key == "modgraph.members"
        )
        if facts["modgraph.kind"] != "executable":
            return record
        session = onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
        feeds = {value.name: tensor.numpy() for value, tensor in zip(session.get_inputs(), args, strict=True)}
        got = session.run(None, feeds)
        assert [value.shape for value in got] == [value.shape for value in results], "other outputs"
        record["difference"] = max(
            float(abs(left.astype("f8") - right.astype("f8")).max() / abs(right).max())
            for left, right in zip(got, results, strict=True)
        )
    return record


def child(name: str, folders: list[str]) -> dict[str, Any]:
    """The same in a process of its own."""
    command = [sys.executable, __file__, "--one", name, *(part for folder in folders for part in ("--path", folder))]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return {"name": name, "error": f"no result in {SECONDS} s"}
    lines = [line for line in done.stdout.splitlines() if line.startswith("RECORD ")]
    if lines:
        return dict(json.loads(lines[-1].removeprefix("RECORD ")))
    return {"name": name, "error": (done.stderr.strip().splitlines() or ["no output"])[-1][:300]}


def table(records: dict[str, dict[str, Any]]) -> str:
    """The records as markdown, with what they come to."""
    done = list(records.values())
    files = [record for record in done if "tier" in record]
    tier_a = [record for record in files if record["tier"] == "A"]
    close = [record for record in files if record.get("difference", 1) <= CLOSE]
    lines = [
        f"{len(done)} models: {len(files)} files, {len(tier_a)} of tier A, {len(close)} within {CLOSE:g} of PyTorch.",
        "",
        "| model | tier | rung | module calls → functions | difference | seconds |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for record in done:
        if "tier" not in record:
            lines.append(f"| {record['name']} | no file | {record['error'].replace('|', ' ')} | | | |")
            continue
        apart = f"{record['difference']:.1e}" if "difference" in record else ""
        rung = record["rung"] or "; ".join(record["problems"]).replace("|", " ")[:160]
        counts = f"{record['calls']} → {record['functions']}"
        lines.append(f"| {record['name']} | {record['tier']} | {rung} | {counts} | {apart} | {record['seconds']} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="library:name; default: all")
    parser.add_argument("--path", action="append", default=[], help="a folder of libraries")
    parser.add_argument("--record", type=Path, default=Path("onnx_coverage.jsonl"))
    parser.add_argument("-o", "--output", type=Path, help="a page with the marks between which the table goes")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        sys.path.extend(arguments.path)
        try:
            record = one(arguments.one)
        except Exception as error:
            traceback.print_exc()
            record = {"name": arguments.one, "error": f"{type(error).__name__}: {error}"[:300]}
        print("RECORD " + json.dumps(record))
        return
    names = arguments.names or [
        *(f"torchvision:{name}" for name in TORCHVISION),
        *(f"timm:{name}" for name in TIMM),
        *(f"transformers:{name}" for name in TRANSFORMERS),
    ]
    records: dict[str, dict[str, Any]] = {}
    if arguments.record.exists():
        lines = arguments.record.read_text("utf-8").splitlines()
        records = {record["name"]: record for record in map(json.loads, lines)}
    for name in names:
        if name not in records:
            records[name] = child(name, arguments.path)
            with arguments.record.open("a", encoding="utf-8") as file:
                file.write(json.dumps(records[name]) + "\n")
            print(json.dumps(records[name]), flush=True)
    if arguments.output:
        text = arguments.output.read_text("utf-8")
        before, _, rest = text.partition(MARKS[0])
        after = rest.partition(MARKS[1])[2]
        arguments.output.write_text(f"{before}{MARKS[0]}\n\n{table(records)}\n\n{MARKS[1]}{after}", "utf-8")


if __name__ == "__main__":
    main()
