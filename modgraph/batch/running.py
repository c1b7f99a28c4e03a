"""`modgraph.analyze_all`: every root model of a tree, each in a process of its own, and one index of them."""

from __future__ import annotations

import itertools
import os
import queue
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, wait
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from modgraph.batch.capacity import cores, free_memory
from modgraph.batch.keys import Keys
from modgraph.batch.manifest import Manifest, Record, hash_of
from modgraph.batch.places import folder_of
from modgraph.batch.tasks import Outcome, Task, run_task, stop_running
from modgraph.doors.signals import deferred
from modgraph.doors.threads import start_thread
from modgraph.errors import ConfigError, ExitStatus, ModgraphError
from modgraph.names import last_name
from modgraph.options import DEFAULT_DIRECTORY, Device, Mode, OnnxOptions, TraceOptions
from modgraph.source.targets import Target
from modgraph.source.tree_roots import LeftOut, TreeRoots, find_tree_roots

if TYPE_CHECKING:
    from modgraph.arguments.choosing import Seek
    from modgraph.export import PictureOptions
    from modgraph.export.picture.overview import Overview

DEFAULT_TIMEOUT = 300.0
"""Seconds for the code of one model."""
_USUAL_MEMORY = 2 * 2**30
"""Bytes that a model is taken to need where no limit says more, with torch."""
_OWN_MEMORY = 2**29
_POLL_SECONDS = 0.2
_MOST_AT_WORK = 256
"""Tasks that an executor is given at once: some for each worker of a cluster. Their results are held until they are
written."""


_PICTURE = ("depth", "fold", "direction", "views", "idioms", "color", "style", "width")
"""What every model is drawn with."""


class Executor(Protocol):
    """What `concurrent.futures` calls an executor: Dask's `Client.get_executor()`, and others."""

    def submit(self, fn: Callable[..., Any], /, *args: Any) -> Any:
        """A future with `add_done_callback`, `result` and `cancel`."""


@dataclass(frozen=True, slots=True)
class Batch:
    """What came of a tree."""

    records: tuple[Record, ...]
    """One for each model, by name."""
    left_out: tuple[LeftOut, ...]
    """Models that cannot be built, and files that cannot be read, with the reason."""
    executed: int
    """Models that were analyzed now; the others were finished before."""
    output: Path
    n_files: int
    """Files of Python that were read."""
    problems: tuple[ModgraphError, ...] = ()
    """What of the tree could not be looked at: folders, and configurations."""
    distrusted: ModgraphError | None = None
    """Why it is not known what git ignores, and left out nothing of it."""

    def overview(self, n_open: int = 0) -> Overview:
        """All of it as the page shows it."""
        from modgraph.export.picture.overview import Entry, Overview

        entries = (Entry(one.name, one.file, one.state, one.reason, one.facts, one.files) for one in self.records)
        return Overview(tuple(entries), tuple((one.place, one.reason) for one in self.left_out), n_open)

    @property
    def index(self) -> Path:
        """The page that shows them all."""
        return self.output / "index.html"

    @property
    def status(self) -> ExitStatus:
        """That of the worst model; where there is none, nothing was written."""
        worst = ExitStatus.OK if self.records and not self.problems else ExitStatus.FAILED
        for record in self.records:
            if record.state != "complete":
                worst = max(worst, ExitStatus.PARTIAL if record.files else ExitStatus.FAILED)
        return worst


def analyze_all(
    path: str | os.PathLike[str],
    executor: Executor | None = None,
    *,
    output: str | os.PathLike[str] = DEFAULT_DIRECTORY,
    formats: Sequence[str] | None = None,
    static: bool = False,
    device: Device = "cpu",
    mode: Mode = "eval",
    backward: bool = False,
    stats: bool = False,
    verify: bool = False,
    profile: bool = False,
    timeout: float | None = DEFAULT_TIMEOUT,
    memory_limit: int | None = None,
    assume: bool = True,
    forward: bool = True,
    jobs: int | None = None,
    retry: bool = False,
    on_result: Callable[[Record, int, int], None] | None = None,
) -> Batch:
    """Analyze every root model below the folder `path`: those that no other one uses as a part, and that can be built.

    Args:
        executor: runs the tasks; by default threads of this process, each waiting for a process of its own. Workers on
            other machines need the tree and modgraph under the same paths; results come back as data.
        output: folder for the graphs, `index.html`, `index.md` and the manifest. What is finished there, and has not
            changed, is not done again.
        formats: as of `modgraph analyze --format`; by default "svg" and "json".
        static: predict only; nothing is executed, and torch is not needed.
        timeout: seconds for the code of each model; None is no limit.
        memory_limit: bytes for it.
        assume: a class whose arguments nothing says is given those that the names of its parameters suggest, and its
            graph is partial; otherwise it is left out.
        forward: also predict what `forward` does.
        jobs: how many at once, without an executor; by default as many as there are cores and memory for.
        retry: do again what failed.
        on_result: told of each record as it comes, and how many of how many are done.

    Raises:
        TargetError: there is no such folder.
        ConfigError: an option cannot be used.
        ExportError: a format does not exist, or the output cannot be written.
    """
    runs = TraceOptions(device=device, mode=mode, backward=backward, stats=stats, verify=verify, profile=profile)
    return analyze_tree(
        path,
        replace(runs, timeout=timeout, memory_limit=memory_limit),
        executor=executor,
        output=output,
        formats=formats,
        static=static,
        assume=assume,
        forward=forward,
        jobs=jobs,
        retry=retry,
        on_result=on_result,
    )


def analyze_tree(
    path: str | os.PathLike[str],
    options: TraceOptions,
    *,
    executor: Executor | None = None,
    output: str | os.PathLike[str] = DEFAULT_DIRECTORY,
    formats: Sequence[str] | None = None,
    static: bool = False,
    picture: PictureOptions | None = None,
    onnx: OnnxOptions | None = None,
    assume: bool = True,
    forward: bool = True,
    jobs: int | None = None,
    retry: bool = False,
    on_result: Callable[[Record, int, int], None] | None = None,
) -> Batch:
    """`analyze_all`, with the options of the runs as one, and those of what is written.

    Args:
        picture: its `depth`, `fold`, `direction`, `views`, `idioms`, `color`, `style` and `width`.
    """
    from modgraph.export import PictureOptions, make_default
    from modgraph.source.cache_home import analysing
    from modgraph.source.wire import encode_fields

    _check(formats, executor, jobs)
    shown = picture or PictureOptions()
    writing = {
        "formats": tuple(formats or ("svg", "json")),
        "asked": formats is not None,
        "picture": {name: getattr(shown, name) for name in _PICTURE},
        "onnx": asdict(onnx or OnnxOptions()),
        "forward": forward,
    }
    folder, place = Path(path), Path(output)
    analysing(str(folder))
    arguments = _Arguments()
    left_out = (*_excluded(folder), *_inside(folder, place))
    found = _roots(folder, left_out, arguments, static=static, assume=assume)
    make_default(place)
    keys = Keys(Path(os.path.realpath(folder)))
    given = encode_fields(options)
    seeks = _seeks(found, assume=assume)
    tasks = list(_tasks(folder, seeks, keys, arguments, given, writing, cwd=os.getcwd(), static=static))
    problems = (*found.problems, *(_unusable(error, folder) for error in keys.problems.values()))
    manifest = Manifest(place)
    done = {task.name: each for task in tasks if (each := manifest.finished(task.name, task.key, retry=retry))}
    todo = [task for task in tasks if task.name not in done]
    n_done = 0
    try:
        for task, outcome in _run(todo, executor, jobs or usual_jobs(options.memory_limit)):
            record = _kept(task, outcome, place)
            manifest.add(record)
            n_done += 1
            if on_result is not None:
                on_result(record, len(done) + n_done, len(tasks))
    finally:  # also after Ctrl-C: what there is can be looked at
        manifest.keep({task.name: task.key for task in tasks})
        records = tuple(manifest.records.values())
        batch = Batch(records, found.left_out, n_done, place, found.n_files, problems, found.distrusted)
        _write_index(batch, n_open=len(tasks) - len(batch.records))
    return batch


def _check(formats: Sequence[str] | None, executor: Executor | None, jobs: int | None) -> None:
    """Raises ConfigError or ExportError where an option cannot be used."""
    from modgraph.export import check_format

    for name in formats or ():
        check_format(name)
    if executor is not None and jobs is not None:
        raise ConfigError("jobs is of no use with an executor, which has workers of its own", hint="leave one out")
    if jobs is not None and jobs < 1:
        raise ConfigError(f"jobs={jobs} is not possible", hint="a whole number above 0")


def _roots(folder: Path, exclude: Sequence[str], arguments: _Arguments, *, static: bool, assume: bool) -> TreeRoots:
    """The root models, with those for which arguments are found or, with `assume`, assumed."""
    return find_tree_roots(
        folder,
        exclude=exclude,
        static=static,
        are_known=lambda root: bool(arguments.of(root, "found")),
        are_assumed=lambda root, alone: assume and bool(arguments.of(root, "assumed" if alone else "called")),
    )


class _Arguments:
    """What is found, or assumed, for classes that need arguments, and where; looked for once."""

    def __init__(self) -> None:
        self._found: dict[tuple[Path | None, str, Seek], list[str]] = {}

    def of(self, target: Target, seek: Seek) -> list[str]:
        """As text; [] where nothing is looked for, or found."""
        from modgraph.arguments.choosing import sought

        key = target.file, target.text, seek
        if key not in self._found:
            self._found[key] = [
                f"{each.origin.file}:{each.origin.line} {each.target.arguments!r} {each.target.keywords!r}"
                for each in sought(target, seek)
            ]
        return self._found[key]

    def fields(self, target: Target, seek: Seek) -> dict[str, Any]:
        """Of its key: the result depends on them."""
        found = self.of(target, seek)
        return {"arguments": found, "seek": seek} if found else {}


def _seeks(found: TreeRoots, *, assume: bool) -> list[tuple[Target, Seek]]:
    """Each target, and what it is given where it needs arguments: as where its file is analyzed by itself."""
    in_file = Counter(target.file for target in found.targets)

    def seek(target: Target) -> Seek:
        if not assume:
            return "found"
        alone = in_file[target.file] == 1 or (target.text, target.model) in found.assumed
        return "assumed" if alone else "called"

    return [(target, seek(target)) for target in found.targets]


def _excluded(folder: Path) -> tuple[str, ...]:
    from modgraph.config import FILE, Configs

    return Configs().of(str(folder / FILE)).exclude


def _unusable(error: ConfigError, folder: Path) -> ConfigError:
    """What is said of a configuration within the tree."""
    file = None if error.file is None else os.path.relpath(error.file, os.path.realpath(folder)).replace(os.sep, "/")
    hint = f"{error.hint}; " if error.hint else ""
    return ConfigError(error.message, file=file, hint=f"{hint}the graphs of the models below it have no findings")


def _inside(folder: Path, output: Path) -> tuple[str, ...]:
    """The output folder, where it lies in the tree: it holds no models of the project."""
    inner, outer = output.resolve(), folder.resolve()
    return (f"{inner.relative_to(outer).as_posix()}/",) if inner != outer and inner.is_relative_to(outer) else ()


def usual_jobs(memory_limit: int | None) -> int:
    """As many as there are cores, and no more than fit into the memory that is free."""
    free = free_memory()
    each = _OWN_MEMORY + (memory_limit or _USUAL_MEMORY)
    return cores() if free is None else max(1, min(cores(), free // each))


def _tasks(
    folder: Path,
    targets: Sequence[tuple[Target, Seek]],
    keys: Keys,
    arguments: _Arguments,
    options: Mapping[str, Any],
    writing: Mapping[str, Any],
    *,
    cwd: str,
    static: bool,
) -> Iterator[Task]:
    from modgraph.export import file_stems
    from modgraph.source.wire import encode_fields

    folder = Path(os.path.realpath(folder))
    by_file: dict[Path, list[tuple[Target, Seek]]] = {}
    for target, seek in targets:
        assert target.file is not None
        by_file.setdefault(target.file, []).append((target, seek))
    for file, models in by_file.items():
        stems = file_stems(last_name(target.name) for target, _ in models)
        shown = file.relative_to(folder).as_posix()
        for (target, seek), stem in zip(models, stems, strict=True):
            depends = {"options": options, "static": static, "stem": stem, **arguments.fields(target, seek), **writing}
            yield Task(
                name=f"{shown}:{target.model}",
                file=shown,
                key=keys.of(target, depends),
                target=encode_fields(target),
                options=options,
                static=static,
                seek=seek,
                stem=stem,
                cwd=cwd,
                **writing,
            )


def _run(tasks: Sequence[Task], executor: Executor | None, jobs: int) -> Iterator[tuple[Task, Outcome]]:
    """Each task with its outcome, as they come; no more results are held than are at work at once."""
    finished: queue.Queue[int] = queue.Queue()
    own = _Threads() if executor is None else None
    at_work: dict[int, Any] = {}
    most = _MOST_AT_WORK if own is None else jobs
    todo = enumerate(tasks)
    try:
        while True:
            for number, task in itertools.islice(todo, most - len(at_work)):
                with deferred():  # a task that is not noted here would not be ended
                    at_work[number] = _submitted(own if executor is None else executor, task)
                at_work[number].add_done_callback(partial(_tell, finished, number))
            if not at_work:
                return
            number = finished.get()
            yield tasks[number], _outcome(at_work.pop(number))
    finally:
        with deferred():
            for future in at_work.values():
                future.cancel()
            while own is not None and wait(at_work.values(), timeout=_POLL_SECONDS if at_work else 0).not_done:
                stop_running()  # again and again: a thread may have been about to start one


class _Threads:
    """What runs each task in a thread of its own, which only waits for the process of the task."""

    def submit(self, function: Callable[[Task], Outcome], task: Task) -> Future[Outcome]:
        """Raises ResourceError where the system has no thread left."""
        future: Future[Outcome] = Future()
        future.set_running_or_notify_cancel()  # from now on it ends with its task
        start_thread(partial(self._fulfil, future, function, task))
        return future

    @staticmethod
    def _fulfil(future: Future[Outcome], function: Callable[[Task], Outcome], task: Task) -> None:
        try:
            future.set_result(function(task))
        except BaseException as error:  # handed over to whoever waits
            future.set_exception(error)


def _submitted(executor: Any, task: Task) -> Any:
    """Its future; one that has failed, where the executor takes no more: all of its workers may be gone."""
    try:
        return executor.submit(run_task, task)
    except Exception as error:
        refused: Future[Any] = Future()
        refused.set_exception(error)
        return refused


def _tell(finished: queue.Queue[int], number: int, _: Any) -> None:
    finished.put(number)


def _outcome(done: Any) -> Outcome:
    """What a future gives; a worker of the executor that is lost costs its task, and no other."""
    try:
        outcome: Outcome = done.result()
    except Exception as error:
        return Outcome("failed", f"the executor lost it: {type(error).__name__}: {error}")
    return outcome


def _kept(task: Task, outcome: Outcome, output: Path) -> Record:
    """Write the files of a model where they belong."""
    from modgraph.export import write_file

    folder = folder_of(task.file)
    files = {f"{folder}/{name}": outcome.files[name] for name in sorted(outcome.files)}
    for file, content in files.items():
        write_file(output / file, content, below=output)
    hashes = tuple(map(hash_of, files.values()))
    return Record(task.name, task.file, task.key, outcome.state, outcome.reason, outcome.facts, tuple(files), hashes)


def _write_index(batch: Batch, *, n_open: int) -> None:
    from modgraph.export import write_file
    from modgraph.export.picture.overview import html, markdown

    overview = batch.overview(n_open)
    write_file(batch.output / "index.html", html(overview), below=batch.output)
    write_file(batch.output / "index.md", markdown(overview), below=batch.output)
