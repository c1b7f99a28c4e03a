"""What is true of every file in `samples/`: plain data, for the tests of the samples and for end-to-end tests.

`test_samples.py` holds each entry against torch. Counts that torch can tell (modules, parameters) are not written here.
As the test folders are no packages, load this file by its path: `runpy.run_path(path)["SAMPLES"]`.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Input:
    """One tensor argument of `forward`."""

    name: str
    shape: tuple[int, ...]
    dtype: str = "float32"
    high: int = 2
    """Integers are drawn below this; of no meaning for other types."""

    @property
    def spec(self) -> str:
        """The same for `--input`: "tokens=1x12:int64"."""
        shape = "x".join(str(size) for size in self.shape)
        return f"{self.name}={shape}" + ("" if self.dtype == "float32" else f":{self.dtype}")


@dataclass(frozen=True, kw_only=True)
class Model:
    """One model of a file: how to make it, how to call it, and what the run must show."""

    target: str
    """What stands behind the colon of a target: "ResNet", "build(depth=2)"."""
    class_name: str
    """Name of the root's class, without its module."""
    inputs: tuple[Input, ...]
    outputs: tuple[tuple[int, ...], ...] = ()
    """Shapes of all output tensors for these inputs, nested ones in order; () where forward raises."""
    hidden: tuple[str, ...] = ()
    """Modules that forward calls and no tree holds; only the outermost ones."""
    never_called: tuple[str, ...] = ()
    """Registered modules that no run in eval mode calls, whatever the input; a ModuleList, which has no forward to call,
    is not one of them."""
    called_by_data: tuple[str, ...] = ()
    """Registered modules that a run may leave out, depending on the data; each stands for what is inside it too."""
    aliases: tuple[tuple[str, str], ...] = ()
    """(path, first path of the same instance)."""
    tied: tuple[tuple[str, str], ...] = ()
    """(parameter, first name of the same parameter), where their modules differ."""
    fails_in: str | None = None
    """Path of the innermost module whose forward raises."""
    error: str | None = None
    """A part of the message."""


@dataclass(frozen=True, kw_only=True)
class Sample:
    """One file."""

    file: str
    """Relative to `samples/`."""
    roots: tuple[str, ...]
    """What discovery finds: classes that no other class of the file uses as a part, and instances."""
    models: tuple[Model, ...]
    example_inputs: bool = False
    """The file says what a call looks like."""
    needs_arguments: tuple[str, ...] = ()
    """Roots that cannot be built without arguments."""
    status: int = 0
    """Exit status of `modgraph analyze FILE`; where a root needs arguments, of the file's factory."""


def _image(*shape: int, name: str = "x") -> Input:
    return Input(name=name, shape=shape)


def _ids(name: str, length: int, vocabulary: int) -> Input:
    return Input(name=name, shape=(1, length), dtype="int64", high=vocabulary)


def _one(
    file: str, name: str, inputs: tuple[Input, ...], outputs: tuple[tuple[int, ...], ...], **facts: object
) -> Sample:
    """A file with one root class, built without arguments."""
    model = Model(target=name, class_name=name, inputs=inputs, outputs=outputs, **facts)  # type: ignore[arg-type]
    return Sample(file=file, roots=(name,), models=(model,))


_STACK_INPUT = (_image(1, 16),)

SAMPLES: tuple[Sample, ...] = (
    _one("mlp.py", "MLP", (_image(1, 1, 28, 28),), ((1, 10),)),
    _one("distributed.py", "Net", (_image(4, 8),), ((4, 3),)),
    _one("resnet.py", "ResNet", (_image(1, 3, 224, 224),), ((1, 1000),)),
    _one("unet.py", "UNet", (_image(1, 3, 32, 32),), ((1, 2, 32, 32),)),
    _one(
        "transformer_lm.py",
        "TransformerLM",
        (_ids("input_ids", 16, 256),),
        ((1, 16, 256),),
        tied=(("head.weight", "token_embedding.weight"),),
    ),
    _one("lstm_classifier.py", "LSTMClassifier", (_ids("tokens", 12, 1000),), ((1, 5), (4, 1, 48), (4, 1, 48))),
    Sample(
        file="vae.py",
        roots=("VAE",),
        models=(
            Model(
                target="VAE",
                class_name="VAE",
                inputs=(_image(1, 1, 28, 28),),
                outputs=((1, 1, 28, 28), (1, 16), (1, 16)),
            ),
        ),
        example_inputs=True,
    ),
    Sample(
        file="gan.py",
        roots=("Generator", "Discriminator"),
        models=(
            Model(
                target="Generator",
                class_name="Generator",
                inputs=(_image(1, 32, name="z"),),
                outputs=((1, 1, 16, 16),),
            ),
            Model(
                target="Discriminator",
                class_name="Discriminator",
                inputs=(_image(1, 1, 16, 16, name="image"),),
                outputs=((1, 1),),
            ),
        ),
    ),
    _one(
        "moe.py",
        "MoE",
        (_image(1, 3, 16),),  # three tokens, two experts each: at least two of the eight stay idle
        ((1, 3, 10),),
        called_by_data=tuple(f"moe.experts.{i}" for i in range(8)),
    ),
    _one("plain_list.py", "PlainListNet", (_image(1, 20),), ((1, 4),), hidden=("blocks[0]", "blocks[1]", "blocks[2]")),
    _one("never_called.py", "SmallCNN", (_image(1, 3, 32, 32),), ((1, 10),), never_called=("bn2",)),
    _one(
        "shared_layer.py",
        "SharedLayers",
        (_ids("source", 7, 100), _ids("target", 5, 100)),
        ((1, 5, 100),),
        aliases=(
            ("target_embedding", "source_embedding"),
            ("layers.1", "layers.0"),
            ("layers.1.norm", "layers.0.norm"),
            ("layers.1.linear", "layers.0.linear"),
            ("layers.2", "layers.0"),
            ("layers.2.norm", "layers.0.norm"),
            ("layers.2.linear", "layers.0.linear"),
        ),
    ),
    _one("two_files/model.py", "TextClassifier", (_ids("input_ids", 10, 500),), ((1, 6),)),
    Sample(
        file="raises.py",
        roots=("Classifier",),
        models=(
            Model(
                target="Classifier",
                class_name="Classifier",
                inputs=(_image(1, 3, 16, 16),),
                never_called=("decoder.head.linear", "decoder.softmax"),
                fails_in="decoder.head",
                error="the head was built for 16 features, the encoder gives 32",
            ),
        ),
        status=1,
    ),
    _one("siamese.py", "SiameseNet", (_image(1, 1, 28, 28, name="left"), _image(1, 1, 28, 28, name="right")), ((1,),)),
    _one(
        "diffusion_unet_tiny.py",
        "DiffusionUNet",
        (_image(1, 1, 16, 16), Input(name="t", shape=(1,), dtype="int64", high=1000)),
        ((1, 1, 16, 16),),
    ),
    _one(
        "vit.py",
        "VisionTransformer",
        (_image(1, 3, 32, 32),),
        ((1, 10),),
        never_called=tuple(f"encoder.{i}.attention.out_proj" for i in range(3)),
    ),
    Sample(
        file="gnn.py",
        roots=("GCN",),
        models=(
            Model(
                target="GCN",
                class_name="GCN",
                inputs=(_image(6, 8), _image(6, 6, name="adj")),
                outputs=((6, 3),),
            ),
        ),
        example_inputs=True,
    ),
    _one("side_effect.py", "Autoencoder", (_image(1, 12),), ((1, 12),)),
    Sample(
        file="instance.py",
        roots=("net",),
        models=(
            Model(
                target="net",
                class_name="Sequential",
                inputs=(_image(1, 1, 28, 28, name="input"),),
                outputs=((1, 10),),
            ),
        ),
    ),
    Sample(
        file="factory.py",
        roots=("Stack",),
        models=(
            Model(target="build", class_name="Stack", inputs=_STACK_INPUT, outputs=((1, 16),)),
            Model(target="build(depth=2)", class_name="Stack", inputs=_STACK_INPUT, outputs=((1, 16),)),
            Model(target="Stack(16, depth=3)", class_name="Stack", inputs=_STACK_INPUT, outputs=((1, 16),)),
        ),
        needs_arguments=("Stack",),
    ),
)
