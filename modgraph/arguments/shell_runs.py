"""What a shell does for sure, command by command, as far as each of them is known.

A command is taken where it is one of a few whose whole effect is known. With any other the reading ends
(`UnsureError`).
A script of the project, and a folder that is made within it, are taken to end well: that is how the project means it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from modgraph.arguments.shell_places import Places
from modgraph.arguments.shell_programs import MAY_FAIL, ends_well, files_of_tee, may_not_end
from modgraph.arguments.shell_state import Shell
from modgraph.arguments.shell_syntax import Chain, Command, Commands, Group, Pipe, Simple
from modgraph.arguments.shell_values import MANY, is_special
from modgraph.arguments.shell_words import TEXT, Token, UnsureError
from modgraph.prediction.calls_elsewhere import OPEN

_MOST_COMMANDS = 5_000
_TESTS = frozenset(
    ["[", "[[", "test", "grep", "egrep", "fgrep", "which", "type", "command", "cmp", "diff", "expr", "hash", "pgrep"]
)
_BUILTINS = frozenset(
    """
    . alias bg bind break builtin caller cd command compgen complete compopt continue declare dirs disown
    enable eval exec exit export fc fg getopts hash help history jobs kill let local logout mapfile popd
    printf pushd read readarray readonly return set shift shopt source suspend test times trap type typeset
    ulimit umask unalias unset wait pkill killall reboot shutdown if then else elif fi for while until do
    done case esac select function time in
    """.split()  # noqa: SIM905 - a text is read with less effort
)
"""Of these, those are known for which a way is written below."""
_SPECIAL_BUILTINS = frozenset(
    ": . break continue eval exec exit export readonly return set shift times trap unset".split()  # noqa: SIM905
)
"""Source: POSIX, Shell Command Language, "Special Built-In Utilities"."""
_IN_SUBSTITUTES = frozenset(["date", "dirname", "basename", "cd", "pwd", "seq", "hostname", "whoami", "nproc", "echo"])


@dataclass(frozen=True, slots=True)
class Run:
    """A command that starts a program."""

    words: list[str]
    """With OPEN for what is not known of a word, and MANY for any number of words."""
    place: int
    here: str
    is_sure: bool


class Runner(Shell):
    """Of one text, command by command.

    Args:
        finds: told of each command that starts a program; whether it ends well, None of one that is not Python.
        places, is_for_readers: as of a `Shell`.
    """

    def __init__(
        self,
        finds: Callable[[Run], bool | None],
        places: Places,
        *,
        is_for_readers: bool,
    ) -> None:
        super().__init__(places, is_for_readers=is_for_readers)
        self._finds = finds
        self._is_sure = True
        self._looked_at = 0
        """A failure is looked at: the shell does not end there."""
        self._is_left = 0
        """The end of what is run is not waited for."""
        self._left = _MOST_COMMANDS

    def run(self, commands: Commands) -> bool:
        """Whether they end well for sure.

        Raises:
            UnsureError: it is not known what they do.
        """
        ends_well = True
        for chain in commands:
            self._looked_at += chain.is_behind
            self._is_left += chain.is_behind
            ends_well = self._apart(partial(self._chain, chain)) if chain.is_behind else self._chain(chain)
            ends_well = ends_well or chain.is_behind
            self._looked_at -= chain.is_behind
            self._is_left -= chain.is_behind
        return ends_well

    def _apart(self, run: Callable[[], bool]) -> bool:
        """In another shell: what it does to itself is lost."""
        kept, self._nested = self.state.copy(), self._nested + 1
        ends_well = run()
        self.state, self._nested = kept, self._nested - 1
        return ends_well

    def _perhaps(self, run: Callable[[], bool], *, is_there: str | None = None) -> bool:
        """What is run or not: what it changes is not known any more.

        Args:
            is_there: a folder that is there where it is not run.
        """
        kept, was_sure, made = self.state.copy(), self._is_sure, set(self.places.made)
        self._is_sure, self._nested = False, self._nested + 1
        ends_well = run()
        self._is_sure, self._nested = was_sure, self._nested - 1
        self.state.values.forget_differences(kept.values)
        self.state.here = kept.here if kept.here == self.state.here else None
        self.places.made = made | ({is_there} & self.places.made if is_there else set())
        return ends_well

    def _chain(self, chain: Chain) -> bool:
        last = len(chain.pipes) - 1
        ends_well = self._looking(chain.pipes[0], is_looked_at=last > 0)
        for at, (operator, pipe) in enumerate(zip(chain.operators, chain.pipes[1:], strict=True), 1):
            if operator == "&&":
                if ends_well:
                    ends_well = self._looking(pipe, is_looked_at=at < last)
                else:
                    self._perhaps(partial(self._looking, pipe, is_looked_at=at < last))
            elif not ends_well:
                tested = _tested(chain.pipes[at - 1], "-d")
                ends_well = self._perhaps(partial(self._looking, pipe, is_looked_at=at < last), is_there=tested)
        return ends_well

    def _looking(self, pipe: Pipe, *, is_looked_at: bool) -> bool:
        self._looked_at += is_looked_at
        ends_well = self._pipe(pipe)
        self._looked_at -= is_looked_at
        return ends_well

    def _pipe(self, pipe: Pipe) -> bool:
        self._looked_at += pipe.is_negated
        if len(pipe.parts) == 1:
            ends_well = self._command(pipe.parts[0])
        else:
            all_well = [self._part(each, is_last=each is pipe.parts[-1]) for each in pipe.parts]
            ends_well = all(all_well) if "p" in self.state.options else all_well[-1]
        if not ends_well and "e" in self.state.options and not self._looked_at:
            raise UnsureError
        self._looked_at -= pipe.is_negated
        return ends_well and not pipe.is_negated

    def _part(self, command: Command, *, is_last: bool) -> bool:
        """Of a pipe: one writes no longer than the next one reads."""
        is_left = not is_last and isinstance(command, Simple) and command.words and command.words[0].raw == "yes"
        self._is_left += bool(is_left)
        ends_well = self._apart(partial(self._command, command))
        self._is_left -= bool(is_left)
        return ends_well

    def _command(self, command: Command) -> bool:
        self._left -= 1
        if self._left < 0:
            raise UnsureError
        if isinstance(command, Simple):
            return self._simple(command)
        if not self._opens(command.redirects):
            raise UnsureError
        if command.kind == "function":
            if self._nested or command.name in _IN_SUBSTITUTES:
                raise UnsureError
            self.state.functions |= {command.name}
            return True
        if command.kind == "if":
            return self._if(command)
        if command.kind == "for":
            return self._for(command)
        if command.kind == "{":
            return self.run(command.bodies[0])
        if command.kind == "(":
            return self._apart(partial(self.run, command.bodies[0]))
        raise UnsureError

    def _if(self, group: Group) -> bool:
        self._looked_at += 1
        self.run(group.bodies[0])
        self._looked_at -= 1
        begin, ends_well = self.state.copy(), True
        is_alone = len(group.bodies) == 2 and len(group.bodies[0]) == 1
        tested = _tested(group.bodies[0][0].pipes[0], "!", "-d") if is_alone else None
        for at, body in enumerate(group.bodies[1:], 1):
            is_test = at % 2 == 0 and at + 1 < len(group.bodies)
            after, self.state = self.state, begin.copy()
            self._looked_at += is_test
            ends_well &= self._perhaps(partial(self.run, body), is_there=tested) or is_test
            self._looked_at -= is_test
            self.state.values.forget_differences(after.values)
            self.state.here = after.here if after.here == self.state.here else None
        return ends_well

    def _for(self, loop: Group) -> bool:
        first, has_more = self._turns(loop)
        values, here = self.state.values, self.state.here
        before = values.copy()
        if is_special(loop.name):
            raise UnsureError
        ends_well = True
        if first is not None:
            values.give(loop.name, first)
            self._nested += 1
            ends_well = self.run(loop.bodies[0])
            self._nested -= 1
        if first is None or has_more:
            after = self.state.values
            after.forget_differences(before)
            after.give(loop.name, None)
            ends_well &= self._perhaps(partial(self.run, loop.bodies[0]))
        self.state.values.forget_differences(before)
        if first is None:
            self.state.values.forget(loop.name)
        if self.state.here != here:
            self.state.here = None
        return ends_well

    def _turns(self, loop: Group) -> tuple[str | None, bool]:
        """What its variable is in its first turn, None where it may have none; whether there may be more."""
        if loop.counts is not None:
            return (str(loop.counts[0]) if loop.counts[1] else None), True
        if loop.words is None:
            return None, True
        words: list[str] = []
        for token in loop.words:
            words += self.state.values.counted(token) or self._words(token)
        first = words[0] if words and words[0] != MANY else None
        return first, first is None or len(words) > 1

    def _simple(self, command: Simple) -> bool:
        values, can_open = self.state.values, self._opens(command.redirects)
        if command.array:
            self._name(command.array)
            for token in command.words:
                self._words(token)
            values.give(command.array, None)
            return can_open and all(map(self._makes, command.words))
        if command.is_test:
            for token in command.words:
                self._words(token)
            return False
        at = 0
        while at < len(command.words) and command.words[at].assigns():
            at += 1
        named, rest = command.words[:at], command.words[at:]
        if not rest:
            return can_open & all(list(map(self._assign, named)))
        for token in named:
            self._name(token.raw.partition("=")[0].rstrip("+"))
            self._words(token)
        words: list[str] = []
        for token in rest:
            words += self._words(token, words[-1] if words else "")
        return self._program(command, words, rest, is_alone=not named, can_open=can_open) and can_open

    def _program(
        self, command: Simple, words: list[str], rest: Sequence[Token], *, is_alone: bool, can_open: bool
    ) -> bool:
        name = words[0] if words else MANY
        if name in self.state.functions or (self.is_posix and self._is_special(name, is_alone=is_alone and can_open)):
            raise UnsureError
        if is_alone and (changed := self._changes(words, rest)) is not None:
            if not can_open and name not in ("printf", "wait"):
                raise UnsureError  # it is not done where a file cannot be opened
            return changed
        if name in ("false", *_TESTS) and name not in _BUILTINS:
            return False
        if name in MAY_FAIL:
            self._writes_no_script(words)
            return self._is_for_readers or self._ends_well(words)
        if name == "exec":
            self._starts(command, words, can_open=can_open)
        if name in _BUILTINS:
            raise UnsureError
        return self._starts(command, words, can_open=can_open)

    def _is_special(self, name: str, *, is_alone: bool) -> bool:
        """A command that ends the shell where it cannot open a file, and keeps what stands before it."""
        return not is_alone and name in _SPECIAL_BUILTINS

    def _writes_no_script(self, words: list[str]) -> None:
        if not self._is_for_readers and any(".py" in each for each in words):
            raise UnsureError

    def _ends_well(self, words: list[str]) -> bool:
        if may_not_end(words) and not self._is_left:
            raise UnsureError
        if words[0] != "tee":
            return ends_well(words)
        files = files_of_tee(words)
        return files is not None and all(self.places.can_be_written(self.state.here, each) for each in files)

    def _starts(self, command: Simple, words: list[str], *, can_open: bool) -> bool:
        """Another program; whether it ends well."""
        sure = self._is_sure and can_open and self.state.here is not None
        kind = self._finds(Run(words, command.place, self.state.here or "", sure))
        if kind is not None:
            return kind
        if self._is_for_readers:
            return True
        if "/" not in words[0] or OPEN in words[0] or os.path.basename(words[0]) in _BUILTINS:
            raise UnsureError
        self._writes_no_script(words)
        return False


def _tested(pipe: Pipe, *words: str) -> str | None:
    """The folder of `[ ! -d folder ]`, as it is written out."""
    test = pipe.parts[0]
    if len(pipe.parts) != 1 or pipe.is_negated or not isinstance(test, Simple) or test.is_test:
        return None
    raw = [token.raw for token in test.words]
    named = test.words[-2].parts if raw[:1] == ["["] and raw[1:-2] == list(words) and raw[-1] == "]" else ()
    return os.path.normpath(named[0].text) if len(named) == 1 and named[0].kind == TEXT else None
