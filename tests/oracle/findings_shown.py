"""What torch makes of the places that the default check names in public repositories: the second judgement, by running.

    python tests/oracle/findings_shown.py FOLDER

FOLDER is that of check_precision.py. The definitions of each file are executed one by one, without what cannot be imported,
and the class is built on a small size: THEIR CODE IS RUN, so do not give it what you would not run yourself. It needs torch,
torchvision and einops. It prints for each place of check_findings.txt what was seen, and ends with 1 where a place is not shown.
What that is worth (real, harmless, false) was judged of it apart from the first judgement, in check_findings_again.txt.
"""

from __future__ import annotations

import ast
import copy
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from torch import nn

HERE = Path(__file__).parent


def definitions(file: Path, **given: Any) -> dict[str, Any]:
    """What the top of a file defines, without what cannot be had; what is given stands for what it imports."""
    names: dict[str, Any] = {"__name__": "shown", **given}
    for statement in ast.parse(file.read_bytes()).body:
        if isinstance(statement, ast.If):
            continue
        one = compile(ast.Module([statement], []), str(file), "exec")
        try:
            exec(one, names)
        except Exception:
            continue
        names.update(given)
    return names


def unheld(model: nn.Module, *attributes: str) -> str:
    """How many parameters the modules under attributes have, and how many of these the model knows."""
    known = {id(each) for each in model.parameters()}
    inside = [each for name in attributes for child in getattr(model, name) for each in child.parameters()]
    assert inside
    assert not known & {id(each) for each in inside}
    return f"{len(inside)} parameters in {', '.join(attributes)}, none of them in parameters(), which has {len(known)}"


def one_for_many(model: nn.Module, *attributes: str) -> str:
    """How many places of the containers under attributes are one and the same module with parameters."""
    told = []
    for name in attributes:
        places = [each for each in getattr(model, name) if any(True for _ in each.parameters())]
        assert len({id(each) for each in places}) < len(places)
        told.append(f"{name}: {len(places)} places, {len({id(each) for each in places})} modules")
    return "; ".join(told)


def raised(action: Callable[[], object], at: int | None = None, file: str = "") -> str:
    """The error of an action, which has to be raised in a line of a file where one is given."""
    try:
        action()
    except Exception as error:
        lines, trace = [], error.__traceback__
        while trace is not None:
            if trace.tb_frame.f_code.co_filename.endswith(file):
                lines.append(trace.tb_lineno)
            trace = trace.tb_next
        assert at is None or lines[-1] == at, lines
        return f"{type(error).__name__}: {error}"
    raise AssertionError("nothing was raised")


def not_python(file: Path, line: int) -> str:
    """What Python says of the line."""
    try:
        ast.parse(file.read_bytes())
    except SyntaxError as error:
        return (
            f"SyntaxError: {error.msg}" if error.lineno == line else f"not shown: the error is in line {error.lineno}"
        )
    return "not shown: it is Python"


def cast_away(make: Callable[[str], nn.Module], name: str) -> str:
    """Whether an attribute is a Parameter of the model on the CPU, and on another device."""
    here, there = make("cpu"), make("meta")
    assert isinstance(getattr(here, name), nn.Parameter)
    assert not isinstance(getattr(there, name), nn.Parameter)
    assert name in here.state_dict()
    assert name not in there.state_dict()
    return f"{name} is in state_dict() on the CPU, and on no other device"


def _focal(file: Path, _: int) -> str:
    return raised(lambda: definitions(file)["SoftmaxFocalLoss"](2), 33, "loss.py")


def _sparse(file: Path, _: int) -> str:
    return raised(lambda: definitions(file)["SparseAttention"](), 50, "SelfAttention_Family.py")


def _separable(file: Path, _: int) -> str:
    return raised(lambda: definitions(file)["SeparableConv2d"](4, 4), 12, "deeplab_xception.py")


def _pranet(file: Path, line: int) -> str:
    return raised(lambda: definitions(file)["ResNet"]()(torch.zeros(1, 3, 32, 32)), line, "ResNet.py")


def _average(file: Path, line: int) -> str:
    made = definitions(file)["ModelWithSharedParameter"]()
    return raised(lambda: made(torch.zeros(1, dtype=torch.long)), line, "test_average_checkpoints.py")


def _polar(file: Path, line: int) -> str:
    return raised(lambda: definitions(file)["PolarMask"]()(torch.zeros(1, 3, 64, 64)), line, "PolarMask.py")


def _forward_forward(file: Path, _: int) -> str:
    arguments = SimpleNamespace(lr=0.1, threshold=1, epochs=1, log_interval=1)
    net = definitions(file, args=arguments, device="cpu")["Net"]([4, 3, 2])
    return f"{unheld(net, 'layers')}; the state dict that is saved has {len(net.state_dict())} entries"


def _mixnet(file: Path, _: int) -> str:
    return unheld(definitions(file)["MDConv"](8, [3, 5], 1), "layers")


def _psa(name: str) -> Callable[[Path, int], str]:
    return lambda file, _: unheld(definitions(file)["PSA"](16, 2, 2), name)


def _mixer(file: Path, _: int) -> str:
    return unheld(definitions(file)["MlpMixer"](2, 2, 2, 4, 4, 4, 4), "mlp_blocks")


def _nrde(file: Path, _: int) -> str:
    return one_for_many(definitions(file)["_NRDEFunc"](15, 3, num_layers=3), "net")


def _tide(name: str, task: str) -> Callable[[Path, int], str]:
    def show(file: Path, _: int) -> str:
        sizes = dict.fromkeys(("seq_len", "label_len", "pred_len", "d_model", "c_out", "d_ff"), 4)
        options = SimpleNamespace(**sizes, task_name=task, e_layers=3, d_layers=3, freq="h", dropout=0.1)
        return one_for_many(definitions(file)["Model"](options), name)

    return show


def _auto_encoder(owner: str, name: str) -> Callable[[Path, int], str]:
    def show(file: Path, _: int) -> str:
        layers = definitions(file.parent / "gcl.py")
        names = definitions(file, **{each: layers[each] for each in ("GCL", "GCL_rf", "E_GCL") if each in layers})
        return cast_away(lambda device: names[owner](8, 8, device=device, n_layers=1), name)

    return show


def _coords_range(file: Path, _: int) -> str:
    model = definitions(file)["E_GCL"](4, 4, 4, tanh=True)
    assert not isinstance(model.coords_range, nn.Parameter)
    assert "coords_range" not in model.state_dict()
    read = sum(each.read_text(encoding="utf-8").count("coords_range") for each in file.parents[1].rglob("*.py"))
    copied = raised(lambda: copy.deepcopy(model))
    return f"coords_range is no Parameter, and no file reads it: the word stands {read} time; copying: {copied[:60]}"


def _dropouts(file: Path, _: int) -> str:
    class Encoder(nn.Module):
        def __init__(self, dictionary: object) -> None:
            super().__init__()

    dropout = definitions(file.parents[3] / "fairseq/modules/fairseq_dropout.py", logger=None)["FairseqDropout"]
    names = definitions(file, FairseqEncoder=Encoder, FairseqDropout=dropout)
    model = names["W2lConvGluEncoder"](10, 8, 1, [(8, 3, 1, 0.5)]).eval()
    source = torch.ones(1, 6, 8)
    first, second = (model(source, torch.tensor([6]))["encoder_out"] for _ in range(2))
    assert all(each.training for each in model.dropouts)
    assert not torch.equal(first, second)
    return "after eval() the dropouts are in training mode, and two calls with one input give different results"


def _hyena(file: Path, _: int) -> str:
    base = next(each for each in file.parents if "+" in each.name) / "standalone_hyena.py"
    names = definitions(file, OptimModule=definitions(base)["OptimModule"])
    model = names["HyenaFilter"](8, emb_dim=3, order=4, seq_len=8)
    places = [each for each in model.implicit_filter if type(each).__name__ == "Sin"]
    assert len(places) == 3
    assert len({id(each.freq) for each in places}) == 1
    return "three sines between the layers have one frequency, which is learnt"


def _comma(file: Path, line: int) -> str:
    class Module(nn.Module):
        transposed = True

    names = definitions(file, SequenceModule=Module, LinearActivation=nn.Identity)
    made = names["DownPool2d"](4, 4)
    return raised(lambda: made(torch.zeros(1, 4, 4, 4)), line, "pool.py")


def _time_mixer(file: Path, _: int) -> str:
    model = definitions(file)["Model"]
    sizes = {"enc_in": 2, "down_sampling_window": 2, "down_sampling_layers": 1, "down_sampling_method": "conv"}
    plain = SimpleNamespace(configs=SimpleNamespace(**sizes))
    first, second = (model._Model__multi_scale_process_inputs(plain, torch.ones(1, 8, 2), None) for _ in range(2))
    assert not torch.equal(first[0][-1], second[0][-1])
    return "two calls with one input give different results: the convolution is made in between"


def _muse(file: Path, _: int) -> str:
    model = definitions(file)["MUSEAttention"](8, 8, 8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    given = model.dy_paras
    model(*[torch.ones(1, 3, 8)] * 3).sum().backward()
    assert any(given is each for each in optimizer.param_groups[0]["params"])
    assert given is not model.dy_paras
    assert given.grad is None
    return "dy_paras is another Parameter after forward, and the optimizer's has no gradient"


def _extractor(file: Path, _: int) -> str:
    reader = SimpleNamespace(max_chunk=1)
    names = definitions(file, HubertFeatureReader=lambda *_: reader, ApplyKmeans=lambda _: None)
    made = names["HubertUnitExtractor"](SimpleNamespace(hubert_ckpt_path="", hubert_layer=0, hubert_km_path=""))
    told = raised(lambda: made(torch.zeros(1, 0)))
    assert "hooks" in told
    return told


TIDE = {73: ("encoders", "long_term_forecast"), 75: ("decoders", "long_term_forecast")}
TIDE |= {79: ("decoders", "imputation"), 83: ("decoders", "anomaly_detection")}
ENCODERS = {91: ("AE_rf", "w"), 92: ("AE_rf", "b"), 121: ("AE_EGNN", "w"), 122: ("AE_EGNN", "b")}
SHOWN: dict[tuple[str, str], Callable[[Path, int], str]] = {
    ("CoinCheung/BiSeNet", "old/loss.py:33"): _focal,
    ("DengPingFan/PraNet", "lib/ResNet.py:132"): _pranet,
    ("HazyResearch/safari", "src/models/sequence/hyena.py:167"): _hyena,
    ("HazyResearch/safari", "src/models/sequence/pool.py:335"): _comma,
    ("HazyResearch/safari", "standalone_hyena.py:156"): _hyena,
    ("cure-lab/LTSF-Linear", "FEDformer/layers/SelfAttention_Family.py:50"): _sparse,
    ("facebookresearch/fairseq", "examples/speech_recognition/models/w2l_conv_glu_enc.py:103"): _dropouts,
    ("facebookresearch/fairseq", "examples/speech_to_speech/benchmarking/core.py:226"): _extractor,
    ("facebookresearch/fairseq", "tests/test_average_checkpoints.py:31"): _average,
    ("jfzhang95/pytorch-deeplab-xception", "doc/deeplab_xception.py:12"): _separable,
    ("pytorch/examples", "mnist_forward_forward/main.py:38"): _forward_forward,
    ("shanglianlm0525/PyTorch-Networks", "InstanceSegmentation/PolarMask.py:91"): _polar,
    ("shanglianlm0525/PyTorch-Networks", "Lightweight/MixNet.py:41"): _mixnet,
    ("state-spaces/s4", "src/models/baselines/nrde.py:184"): _nrde,
    ("state-spaces/s4", "src/models/sequence/modules/pool.py:329"): _comma,
    ("thuml/Time-Series-Library", "models/TimeMixer.py:296"): _time_mixer,
    **{("thuml/Time-Series-Library", f"models/TiDE.py:{line}"): _tide(*each) for line, each in TIDE.items()},
    **{("vgsatorras/egnn", f"models/ae.py:{line}"): _auto_encoder(*each) for line, each in ENCODERS.items()},
    ("vgsatorras/egnn", "models/gcl.py:186"): _coords_range,
    ("xmu-xiaoma666/External-Attention-pytorch", "model/attention/MUSEAttention.py:95"): _muse,
    ("xmu-xiaoma666/External-Attention-pytorch", "model/attention/PSA.py:14"): _psa("convs"),
    ("xmu-xiaoma666/External-Attention-pytorch", "model/attention/PSA.py:18"): _psa("se_blocks"),
    ("xmu-xiaoma666/External-Attention-pytorch", "model/mlp/mlp_mixer.py:49"): _mixer,
    ("yuqinie98/PatchTST", "PatchTST_supervised/Formers/FEDformer/layers/SelfAttention_Family.py:50"): _sparse,
}


def places() -> Iterator[tuple[str, str, str]]:
    """(repository, file:line, rule) of each finding that was judged."""
    for line in (HERE / "check_findings.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            repository, place, code, _ = line.split(maxsplit=3)
            yield repository, place, code


def main() -> int:
    """Prints what is seen of each place; 1 where one is not shown."""
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    warnings.simplefilter("ignore")
    left = 0
    for repository, place, code in places():
        name, _, line = place.rpartition(":")
        show = not_python if code == "MG001" else SHOWN.get((repository, place))
        try:
            told = "no program shows it"
            if show is not None:
                told = show(Path(sys.argv[1]) / repository.replace("/", "+") / name, int(line))
        except Exception as error:
            told, show = f"not shown: {type(error).__name__}: {error}", None
        left += show is None or told.startswith("not shown")
        print(f"{repository} {place} {code}: {told}")
    return int(left > 0)


if __name__ == "__main__":
    sys.exit(main())
