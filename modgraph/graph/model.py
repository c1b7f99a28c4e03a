"""`Graph` and its parts: frozen, flat, linked by paths and indices.

The fields are those of the JSON form (`serial.py`), where an optional field that is absent there is None or empty here.
Parents, children and neighbours are looked up through `GraphIndex`. A graph is made by a `GraphBuilder`, which checks
that everything an index or a path names exists.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from modgraph.findings import Finding as Finding
from modgraph.graph.distributed import RankDifference, Sharding
from modgraph.graph.measures import Profile, Verification
from modgraph.graph.stored import Stored
from modgraph.graph.suggestions import Suggestion
from modgraph.options import Direction, Look, Measure

if TYPE_CHECKING:
    import networkx

    from modgraph.graph.no_gradient import WithoutGradient
    from modgraph.graph.nonfinite import NonFinite

Shape = tuple[int | str | None, ...]
"""Sizes of a tensor in elements; a str is a symbolic size, None one that is not known."""

Stage = Literal["predict", "forward", "trace", "merge", "export"]


@dataclass(frozen=True, slots=True)
class SourceLocation:
    """A place in the source.

    `file` is relative to the directory from which its module is imported (`model.py`, `torch/nn/modules/conv.py`), so
    that it is the same on every machine and in every working directory.
    """

    file: str
    line: int
    """1-based."""
    column: int | None = field(default=None, compare=False)
    """1-based, in characters; not part of the JSON."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistics:
    """Summary of a tensor's finite values; each is None where it has no meaning (an empty or a fake tensor, ...)."""

    mean: float | None = None
    std: float | None = None
    min: float | None = None
    max: float | None = None
    numel: int | None = None
    nan: int = 0
    """Values that are no number."""
    inf: int = 0
    """Values that are infinite."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorInfo:
    """One tensor, as it was seen at a call, on an edge, or as a gradient."""

    name: str
    """Where it stood: a parameter name of `forward` ("x", "mask"), "output", or a place inside ("states[0]")."""
    shape: Shape | None
    """None where the number of dimensions is not known."""
    dtype: str | None
    """torch's name without the prefix: "float32"."""
    device: str | None = None
    statistics: Statistics | None = None
    sharding: Sharding | None = None
    """How it is spread over the ranks; `shape` is that of the whole."""
    unknown: str | None = None
    """Of a place in what a predicted call gives of which nothing is known: why. A tensor may stand there, several, or
    none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParameterInfo:
    """A parameter that a module registers itself (not those of its children)."""

    name: str
    shape: Shape | None
    """None for a lazy one, or where it cannot be known."""
    dtype: str | None
    trainable: bool | None = True
    """None where it cannot be known."""
    alias_of: str | None = None
    """Full path ("encoder.weight") of the first parameter that is the same object, where this one is tied to it."""
    sharding: Sharding | None = None
    """How it is spread over the ranks; `shape` is that of the whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BufferInfo:
    """A buffer that a module registers itself."""

    name: str
    shape: Shape | None
    dtype: str | None
    persistent: bool | None = True
    alias_of: str | None = None
    sharding: Sharding | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HookInfo:
    """A hook of the user's own."""

    kind: str
    """forward_pre, forward, full_backward_pre, full_backward, backward, state_dict_pre, state_dict,
    load_state_dict_pre, load_state_dict_post, tensor, post_accumulate_grad; a global one begins with `global_`."""
    name: str
    """Import path of its function, or of the class of a callable object."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeat:
    """One of `count` neighbouring siblings that are alike; `group` is the path of the first of them."""

    group: str
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ModuleNode:
    """One entry of the `_modules` tree, or a module hidden from it.

    `predicted` and `observed` have three answers: True, False, or None where that half did not run.
    """

    path: str
    """ "layer1.0.conv1"; "" is the root; "blocks[0]" one held in a list; one ending in ".?" (or "?" at the root) is a
    place where further children may stand."""
    class_name: str | None
    """Definition site, "torch.nn.modules.conv.Conv2d"; "NoneType" for a name registered with None; None if unknown."""
    predicted: bool | None = None
    observed: bool | None = None
    registered: bool = True
    """False: held in a list, dict, closure, ...; no parameter, state dict or `.to()` of the parent reaches it."""
    alias_of: str | None = None
    """First path of the same instance."""
    calls: tuple[int, ...] = ()
    """Indices into `Graph.calls`; () = never called (or not run)."""
    repeat: Repeat | None = None
    parameters: tuple[ParameterInfo, ...] = ()
    buffers: tuple[BufferInfo, ...] = ()
    hooks: tuple[HookInfo, ...] = ()
    arguments: Mapping[str, Any] = field(default_factory=dict)
    """Of the constructor, by parameter name, those that equal a default left out: JSON values; what is not a literal is
    its short text, as {"$repr": "..."}
    or, for a class or function, {"$ref": "torch.nn.modules.activation.ReLU"}."""
    unknown_arguments: tuple[str, ...] = ()
    """Those that were given and could not be predicted, so that they are not in `arguments`."""
    defaults: Mapping[str, Any] = field(default_factory=dict)
    """Of a class that is not torch's: what those are that `arguments` leaves out as they equal a default; {"$repr":
    "..."} for one that is not known."""
    source: SourceLocation | None = None
    """Where the instance is made; for one that only the trace knows, where its class is defined."""
    made_in_forward: bool = False
    """It was not there before the run: `forward` made it, so no constructor predicts it."""
    lazy_class: str | None = None
    """The class that it had before the run gave it its sizes, where that was another."""
    own_state_dict: bool = False
    """Its class overrides what `state_dict` is made of, or a hook changes it: the keys that it and those below it have
    there need not be those of their parameters and buffers."""
    extra_state: tuple[str, ...] = ()
    """Which of "get" and "set" its class defines, `get_extra_state` and `set_extra_state`: the first saves a key
    `_extra_state` beside those of its parameters and buffers, the second asks for it."""
    torch_base: str | None = None
    """Of a class that is not torch's, the nearest of its bases that is a layer or container of torch.nn; None where
    none is, or it is not known."""
    wrappers: tuple[str, ...] = ()
    """Classes of torch.distributed that are put around it and seen through, the outermost first."""
    ranks: tuple[int, ...] | None = None
    """The processes that called it; None in a graph of one process."""
    certain: bool = True
    """False where it depends on the surroundings, or on what is not known, whether there is such a module."""
    condition: Condition | None = None
    """On what it depends; None where it is certain."""
    untaken: str = ""
    """Of a module that a run has not called, in a graph that has no more than the run: on what it depends that it is
    called. Not written down: what is saved has the calls themselves."""

    @property
    def class_is_open(self) -> bool:
        """Its class is not known, and with it what else it may hold. A file that was read (of weights, say) names no
        classes either, and holds what it holds."""
        return self.class_name is None and not (self.predicted is None and self.observed is None)


OPEN_TURNS = "depends on how many turns the loop takes"
"""The text of a condition, or a part of it: what depends on it may happen more often than is told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """On what it depends whether something happens in `forward`."""

    text: str
    """ "self.training"."""
    file: str | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call of one module."""

    index: int
    module: str
    """Path of a `ModuleNode`."""
    parent: int | None
    """The call inside which it ran; None for the root's."""
    inputs: tuple[TensorInfo, ...] = ()
    outputs: tuple[TensorInfo, ...] = ()
    source: SourceLocation | None = None
    """The line that made the call."""
    error: str | None = None
    """ "ValueError: ..." of the exception that left it."""
    direct: bool = False
    """`module.forward(...)` was called, past `__call__` and every hook."""
    recomputed: bool = False
    """Ran again inside backward, for a checkpoint."""
    ranks: tuple[int, ...] = ()
    """The processes that made it, where not all did."""
    predicted: bool | None = None
    """The static half predicted it; None where it predicted no `forward`."""
    observed: bool | None = True
    """The run had it; None where there was no run; False where it was predicted, and the run did not take it."""
    certain: bool = True
    """False where it depends on a branch or loop that cannot be decided."""
    condition: Condition | None = None
    """On what it depends; None where it is certain."""
    held: Condition | None = None
    """Of what a run did: the test of the program that was met, where it would not have been done else."""
    may_repeat: bool = False
    """It stands in a loop of which nobody knows how many turns it takes, in some way through `forward`: it may be made
    more often than it is told."""

    @property
    def depends_on(self) -> Condition | None:
        """The test without which it is not done, whether that is open or was met."""
        return self.condition or self.held


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """A torch function that ran inside a call and outside any child's."""

    id: str
    """ "op:0"."""
    name: str
    """ "torch.add", "torch.Tensor.view"."""
    call: int | None
    """Index of the innermost open call; None outside every call."""
    source: SourceLocation | None = None
    ranks: tuple[int, ...] = ()
    """The processes that ran it, where not all did."""
    predicted: bool | None = None
    """The static half predicted it; None where it predicted no `forward`."""
    observed: bool | None = True
    """The run had it; None where there was no run; False where it was predicted, and the run did not take it."""
    certain: bool = True
    """False where it depends on a branch or loop that cannot be decided."""
    condition: Condition | None = None
    """On what it depends; None where it is certain."""
    held: Condition | None = None
    """Of what a run did: the test of the program that was met, where it would not have been done else."""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    """Literals that it was given and on which its meaning hangs, by the names of torch's schemas: {"dim": -1}. JSON
    values; the key of an indexing is its text, "..., ::2"."""

    @property
    def depends_on(self) -> Condition | None:
        """The test without which it is not done, whether that is open or was met."""
        return self.condition or self.held


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """A tensor that went from the innermost producer to the innermost consumer.

    Ends are `call:N` (a call that made no child call), `op:N`, `input:NAME`, `output:NAME` or `output:I`, `param:PATH`
    (a parameter or buffer that a non-leaf used directly), `const:N` (a tensor made outside).
    """

    producer: str
    consumer: str
    tensor: TensorInfo
    or_from: tuple[str, ...] = ()
    """Ends that had given the very same tensor before: the producer gave it back as it was, and a run does not tell
    which of them it was taken from."""
    or_others: bool = False
    """There were more of them than `or_from` names."""
    output: int | None = None
    """Of an operation that gave several tensors, which of them this is, from 0."""
    made_by: str | None = None
    """Of a call that gave several tensors, the operation inside it that made this one."""
    ranks: tuple[int, ...] = ()
    """The processes in which it went there, where not in all."""
    predicted: bool | None = None
    """The static half predicted it; None where it predicted no `forward`."""
    observed: bool | None = True
    """The run had it; None where there was no run; False where it was predicted, and the run did not take it."""
    certain: bool = True
    """False where it depends on a branch or loop that cannot be decided."""
    condition: Condition | None = None
    """On what it depends; None where it is certain."""

    @property
    def is_open(self) -> bool:
        """The tensor may have been taken from another end, which had given the very same one."""
        return bool(self.or_from) or self.or_others


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """A value left torch here (`item`, `tolist`, `numpy`, `bool`, ...), so the dataflow beyond it is not known."""

    kind: str
    call: int | None
    source: SourceLocation | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BackwardRecord:
    """Gradients that passed one module, in the order observed."""

    module: str
    grad_inputs: tuple[TensorInfo, ...] = ()
    grad_outputs: tuple[TensorInfo, ...] = ()
    call: int | None = None


NOT_BUILT = "the model cannot be built:"
"""How the message of a problem begins of a constructor that is predicted to raise."""
INFERRED_IN_VAIN = "inputs were inferred, and"
"""How the message of a problem begins of a forward that ran with none of them."""
MAY_HIDE = "may hold further modules in"
"""In the message of a problem: it may be of modules that are not registered, and nothing else of its module is open."""
IN_ANY_ORDER = "may hold what it registers in another order"
"""In the message of a problem: all of that is shown, and nothing else of its module is open."""


REFUSED = " is refused: "
"""In what is said of shapes that are not known: between one that was tried, and why it is none that the model takes."""
_FOUND_WHEN_RUN = re.compile(r"depends on ([\w.]+(?:\(\))?)")
"""A reason that completes a sentence, where no sentence is in front of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenPlace:
    """One of the places that the cause of a problem leaves open."""

    message: str
    """What is not known there, and how that comes of the cause."""
    module: str | None = None
    file: str | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Something that this graph leaves open, and why. Any problem makes the graph partial."""

    stage: Stage
    message: str
    """What is not known, and why; where several places are left open for one cause, the cause."""
    module: str | None = None
    """The smallest module whose content is left open; None where it is the whole model."""
    file: str | None = None
    line: int | None = None
    places: tuple[OpenPlace, ...] = ()
    """Each of the places that the cause leaves open, where these are several."""

    @property
    def headline(self) -> str:
        """The message, with the number of places that depend on it."""
        if not self.places:
            return self.message
        outside = _FOUND_WHEN_RUN.fullmatch(self.message)
        cause = self.message if outside is None else f"what {outside[1]} gives is known only when it runs"
        return f"{cause}; {len(self.places):,} places depend on it"

    @property
    def apart(self) -> tuple[Problem, ...]:
        """A problem for each place that is left open, with the cause in its message: itself where it is of one."""
        return tuple(
            Problem(
                stage=self.stage,
                message=f"{each.message}: {self.message}",
                module=each.module,
                file=each.file,
                line=each.line,
            )
            for each in self.places
        ) or (self,)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapeMismatch:
    """A key of the state dict that model and checkpoint both have, with shapes that cannot be the same."""

    key: str
    model: Shape
    checkpoint: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointComparison:
    """The model's state dict against that of a checkpoint; what the checkpoint has alone is named as it is there."""

    file: str
    """The checkpoint's name, without folders."""
    entry: str = ""
    """Where in the file the state dict was found: "model" of `{"model": {...}, "epoch": 3}`; "" for the whole; "a + b"
    where those of children of these names were joined."""
    prefix: str = ""
    """Taken off the checkpoint's keys before comparing: "module." of a wrapped model. `load_state_dict` takes the
    checkpoint with it taken off only."""
    matching: int = 0
    """Number of keys that both have, with shapes that agree as far as they are known."""
    missing: tuple[str, ...] = ()
    """The model certainly has them, the checkpoint has not."""
    unexpected: tuple[str, ...] = ()
    """The checkpoint has them, the model certainly has not."""
    mismatched: tuple[ShapeMismatch, ...] = ()
    not_tensors: tuple[str, ...] = ()
    """The model has tensors there, the checkpoint other values."""
    tied: tuple[str, ...] = ()
    """The checkpoint has their tensor under another of its names alone."""
    undecided: tuple[str, ...] = ()
    """Of one side alone, where the graph leaves open what the model has."""

    @property
    def fits(self) -> bool:
        """Nothing is missing, unexpected, of another shape or no tensor, as far as the graph knows; with `entry` taken
        and `prefix` taken off, which is for the code that loads it to do."""
        return not (self.missing or self.unexpected or self.mismatched or self.not_tensors)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelInput:
    """One input of `forward` that the run was given."""

    name: str
    tensors: tuple[TensorInfo, ...] = ()
    """The tensors inside it; none for a literal."""
    literal: str | None = None
    """Text of a value that is no tensor: "True"."""
    origin: Literal["given", "example_inputs", "inferred", "symbols"] = "given"
    rules: tuple[str, ...] = ()
    """How an inferred one was come by, in words."""
    constraints: tuple[str, ...] = ()
    """What its sizes must meet, in Python's notation: "h % 32 == 0"; the model refuses others."""
    followed: tuple[str, ...] = ()
    """What was taken to hold of them besides: with others `forward` may go another way, to the same or other shapes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherArguments:
    """A further call of the model's class, with other arguments."""

    text: str
    """What differs: "depth=12"."""
    file: str
    line: int


MAX_ASSUMED_NAMED = 6
"""Assumed arguments that a text names; `ArgumentsFrom.assumed` has all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArgumentsFrom:
    """Where the arguments of a constructor stand that the target does not give."""

    kind: Literal["call", "default", "config", "assumed"]
    """A call in source; the defaults of the configuration class that the constructor takes, or a configuration file;
    their names alone."""
    text: str = ""
    """Short: "config=GPTConfig(n_layer=4, ...)"."""
    file: str | None = None
    """Of the call or class, or the one that holds the configuration, relative to the directory from which the model's
    module is imported."""
    line: int | None = None
    assumed: tuple[str, ...] = ()
    """Those whose values nothing says."""
    others: tuple[OtherArguments, ...] = ()
    started_by: str | None = None
    """Where the command line stands with which the project starts the script that has the call: "README.md:57"; else
    the script and the words with which it comes to the call: "train.py --model gat"."""
    with_files: tuple[str, ...] = ()
    """Further files that say what is given: data files that the script reads, and the script, where the call stands in
    a function that it calls."""
    left_at_default: tuple[str, ...] = ()
    """Those of `assumed` that the call gives something which is not known, and that have their default instead."""

    @property
    def assumed_names(self) -> str:
        """Short: "config.n_embd, config.n_head and 7 more"."""
        return _some_of([name for name in self.assumed if name not in self.left_at_default])

    @property
    def default_names(self) -> str:
        """Those that are left at their default, as short."""
        return _some_of(self.left_at_default)


def _some_of(names: Sequence[str]) -> str:
    more = len(names) - MAX_ASSUMED_NAMED
    named = ", ".join(names[:MAX_ASSUMED_NAMED])
    return f"{named} and {more} more" if more > 0 else named


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What is taken for granted of the surroundings of a predicted run, where they decide what it does."""

    text: str
    """Of these, what the code asks for, in words: "no environment variable is set"."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Environment variables."""
    cuda: bool = False
    """A device other than the processor is there."""
    tracing: bool = False
    scripting: bool = False
    compiling: bool = False
    autocast: bool = False
    distributed: bool = False
    """A process group is there."""
    sets_in_order: bool = False
    """Sets are walked in the order in which they were filled."""

    @property
    def condition(self) -> Condition:
        """As the condition of what holds with them alone."""
        return Condition(text=self.text)


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingWeights:
    """Weights that the model's code asks for and that were not there, so that it was built without them."""

    source: str
    """A URL, or the path of a file."""
    error: str | None = None
    """What came of asking for them; None where nobody asked, as others were not there already."""
    file: str | None = None
    """Of the user's line that asks for them."""
    line: int | None = None


NO_END = "did not end within"
"""How `LeftOut.error` begins of a statement that raised nothing."""
ENDED = "ended the process"
"""The same of one that let nothing follow it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """Statements of the model's project that had no part in the run, as its import fails or does not end with them."""

    file: str
    line: int
    last_line: int
    error: str | None = None
    """What the statement raised, that it "did not end within 100 s" or "ended the process" and how; None where they
    were not run, as the model needs none of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelInfo:
    """The model as a whole."""

    name: str
    class_name: str | None
    target: str | None
    """ "model.py:Net", relative like `SourceLocation.file`; None for a live model given in Python."""
    parameters: int | None = None
    """Number of elements, once per storage; None where one is not known."""
    trainable_parameters: int | None = None
    buffers: int | None = None
    """Number of elements of all buffers."""
    inputs: tuple[ModelInput, ...] = ()
    hooks: tuple[HookInfo, ...] = ()
    """Global hooks of the user's own, present when it was traced."""
    mode: Literal["eval", "train"] | None = None
    device: str | None = None
    backward: bool = False
    """The backward pass was to be run too."""
    ranks: tuple[int, ...] = ()
    """The processes that this graph tells of; none where it ran in one that is no part of a group."""
    world_size: int | None = None
    """Number of processes that the model ran in."""
    arguments_from: ArgumentsFrom | None = None
    """Where the constructor's arguments were found; None where the target gives them, or it needs none."""
    assumed: Surroundings | None = None
    """Under what modules, calls, operations and edges hold of which that is the condition; None where nothing had to be
    taken for granted."""
    absent_packages: tuple[str, ...] = ()
    """Packages that are not installed and that its code imports: placeholders stood for them in the run."""
    no_calls: OpenPlace | None = None
    """Why the graph has no calls, where `forward` was to be predicted and could not be; None where it has some, and
    where nobody asked for them."""
    open_shapes: OpenPlace | None = None
    """From which operation on a predicted `forward` does not know shapes, and why; None where there is none."""
    open_ways: OpenPlace | None = None
    """Where what `forward` does with other arguments, or in another mode, is not known, and why: a module that no call
    is told of may be called then. None where all that is known, and where it was not asked for."""
    missing_weights: tuple[MissingWeights, ...] = ()
    """Weights without which it was built for the run: modules, calls and shapes are its own, values are random."""
    left_out: tuple[LeftOut, ...] = ()
    """What of its project was left out, as it cannot be imported otherwise. In a complete graph it changes nothing of
    the model; where it may, that is a problem."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Graph:
    """A model: predicted, observed, or both. Immutable; made by `GraphBuilder.build()`."""

    model: ModelInfo
    modules: tuple[ModuleNode, ...]
    """Registration order, depth first; the root, path "", is the first."""
    calls: tuple[Call, ...] = ()
    """In the order in which they began; `calls[i].index == i`."""
    operations: tuple[Operation, ...] = ()
    edges: tuple[Edge, ...] = ()
    gaps: tuple[Gap, ...] = ()
    backward: tuple[BackwardRecord, ...] = ()
    parameter_gradients: tuple[TensorInfo, ...] = ()
    """What the backward pass left in each parameter's `grad`, named by the parameter's first path; a parameter that is
    not here got none."""
    findings: tuple[Finding, ...] = ()
    problems: tuple[Problem, ...] = ()
    checkpoint: CheckpointComparison | None = None
    """What was found of the checkpoint that the model was compared with; None where there was none."""
    rank_differences: tuple[RankDifference, ...] = ()
    """What was not the same in all processes, where their graphs were merged."""
    verification: Verification | None = None
    """What came of running it again from its edges; None where that was not asked for."""
    profile: Profile | None = None
    """What it costs; None where that was not asked for."""
    stored: Stored | None = None
    """The file of weights, or the exported program, that it was read from; None where it was read from none."""
    suggestions: tuple[Suggestion, ...] = ()
    """Names that were proposed for other tools; empty where none were asked for."""

    def __repr__(self) -> str:
        """Name and counts: all of a graph is as long as its JSON, which `to_json` gives."""
        held: dict[str, tuple[object, ...]] = {
            "module": self.modules,
            "call": self.calls,
            "operation": self.operations,
            "edge": self.edges,
            "finding": self.findings,
            "problem": self.problems,
        }
        counts = [f"{len(each)} {name}{'s' * (len(each) != 1)}" for name, each in held.items() if each]
        halves = [name for name, ran in (("predicted", self.predicted), ("traced", self.traced)) if ran]
        return f"<Graph {self.model.name[:80]!r}: {', '.join([*counts, ' and '.join(halves)]).rstrip(', ')}>"

    @property
    def complete(self) -> bool:
        """Nothing is left open: there is no problem."""
        return not self.problems

    @property
    def nonfinite(self) -> tuple[NonFinite, ...]:
        """Where the first infinite value came from, and the first NaN; empty where there is none, or no statistics."""
        from modgraph.graph.nonfinite import nonfinite

        return nonfinite(self)

    @property
    def without_gradient(self) -> tuple[WithoutGradient, ...]:
        """Parameters that the backward pass brought no gradient, each with the reason as far as it can be told."""
        from modgraph.graph.no_gradient import without_gradient

        return without_gradient(self)

    @property
    def open_places(self) -> tuple[Problem, ...]:
        """The problems, with one for each place that is left open: those that share a cause are one in `problems`."""
        return tuple(each for problem in self.problems for each in problem.apart)

    @property
    def predicted(self) -> bool:
        """The static pass ran."""
        return self.modules[0].predicted is not None

    @property
    def traced(self) -> bool:
        """The model was built and walked (its run may still have failed)."""
        return self.modules[0].observed is not None

    def to_json(self) -> str:
        """The graph as JSON text of schema `modgraph/1`; the same graph gives the same text."""
        from modgraph.graph.serial import to_json

        return to_json(self)

    def to_networkx(self, view: Literal["hierarchy", "dataflow", "both"] = "both") -> networkx.MultiDiGraph:
        """The graph for networkx: modules with `contains` edges, dataflow nodes with `dataflow` edges, or both."""
        from modgraph.graph.network import to_networkx

        return to_networkx(self, view)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """What a notebook shows: the summary as text, and the picture where it can be drawn and is small."""
        from modgraph.export import mime_bundle

        return mime_bundle(self, include, exclude)

    def save(
        self,
        path: str | Path,
        *,
        depth: int | None = None,
        fold: bool = True,
        direction: Direction = "TB",
        focus: str = "",
        views: bool = False,
        idioms: bool = True,
        color: Measure = "kind",
        style: Look = "screen",
        width: float | str | None = None,
    ) -> None:
        """Write it to `path` in the format its suffix names (`.json`, `.svg`, `.html`, `.png`, `.pdf`, `.onnx`, ...).

        Args:
            depth: levels of containers that a picture opens; None for as many as can be read.
            fold: blocks that are alike are drawn once.
            direction: a picture runs from top to bottom, or from left to right.
            focus: path of the one module that is drawn, with its neighbours as inputs and outputs.
            views: draw views and shape bookkeeping too.
            idioms: say what readers know by a name, where it is proven: "multi-head attention · 8 heads of 64".
            color: what the colours of a picture say; `flops`, `time` and `memory` need a graph with a profile.
            style: `dark` draws for a dark ground; `paper` a figure to be printed: text of at least 7 points at its
                width, no colour needed.
            width: of a figure: points, or "3.25in", "180mm"; by default 6.5 inches.

        As ONNX it is the structure alone, which a warning says; `modgraph.export_onnx` writes a model that runs.

        Raises:
            ExportError: the suffix is no format, what draws it is not installed, or the graph has no such module or
                figures.
        """
        from modgraph.export import PictureOptions, save

        options = PictureOptions(
            depth=depth,
            fold=fold,
            direction=direction,
            focus=focus,
            views=views,
            idioms=idioms,
            color=color,
            style=style,
            width=width,
        )
        save(self, Path(path), options)
