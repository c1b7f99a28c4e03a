"""Sources that grow in one direction, as someone would write them who wants to keep a machine busy.

Each is a function of n that gives the files of a folder by their names; `model.py` is the one that is asked about.
Shared by the tests of this folder and by `tests/benchmarks/scale.py`.
"""

from __future__ import annotations

from collections.abc import Callable

Files = dict[str, str]
Shape = Callable[[int], Files]

HEAD = "import torch\nfrom torch import nn\nfrom elsewhere import unknown\n\n"
NET = "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
OPEN = "class Net(nn.Module):\n    def __init__(self, flag=unknown()):\n        super().__init__()\n"
LAYER = "        self.layer = nn.Linear(2, 2)\n"

SHAPES: dict[str, Shape] = {}


def shape(make: Shape) -> Shape:
    SHAPES[make.__name__] = make
    return make


def one(text: str) -> Files:
    return {"model.py": HEAD + text}


def body(*lines: str, head: str = NET) -> Files:
    return one(head + LAYER + "".join(f"        {line}\n" for line in lines))


# ---- the eight of the page ---------------------------------------------------------------------------------------------


@shape
def classes(n: int) -> Files:
    """Classes of models in one file."""
    each = "class Net{0}(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.layer = nn.Linear(2, {0})\n\n"
    return one("".join(each.format(k) for k in range(1, n + 1)))


@shape
def nesting(n: int) -> Files:
    """Containers inside each other."""
    return body("x = nn.Linear(2, 2)", f"for _ in range({n}):", "    x = nn.Sequential(x)", "self.x = x")


@shape
def inheritance(n: int) -> Files:
    """Classes derived from each other, one from the last."""
    each = "class Net{0}(Net{1}):\n    def __init__(self):\n        super().__init__()\n        self.layer{0} = nn.Linear(2, 2)\n\n"
    return one(
        NET + LAYER + "\n" + "class Net0(Net):\n    pass\n\n" + "".join(each.format(k, k - 1) for k in range(1, n))
    )


@shape
def line_length(n: int) -> Files:
    """One line of a list, n characters long."""
    return body(f"self.table = [{'1, ' * (n // 3)}]")


@shape
def layers(n: int) -> Files:
    """Layers written out, one a line."""
    return body(*(f"self.l{k} = nn.Linear(8, 8)" for k in range(n)))


@shape
def fixes(n: int) -> Files:
    """Classes with a finding each, that has a fix."""
    each = "class Net{0}(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.layers = [nn.Linear(2, 2), nn.Linear(2, {0})]\n\n"
    return one("".join(each.format(k) for k in range(1, n + 1)))


@shape
def files(n: int) -> Files:
    """Files that import each other in a ring, a model in each."""
    each = "import torch\nfrom torch import nn\nfrom f{1} import *\nimport f{1}\n\nclass Net{0}(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.layer = nn.Linear(2, 2)\n"
    made = {f"f{k}.py": each.format(k, (k + 1) % n) for k in range(n)}
    return {**made, "model.py": f"{HEAD}from f0 import *\n\n{NET}{LAYER}        self.other = Net{n // 2}()\n"}


@shape
def branches(n: int) -> Files:
    """Branches in a row, none of which is decided."""
    lines = [line for k in range(n) for line in (f"if flag > {k}:", f"    self.l{k} = nn.Linear(2, 2)")]
    return body(*lines, head=OPEN)


# ---- doubled values ----------------------------------------------------------------------------------------------------


def doubled(first: str, again: str) -> Shape:
    def make(n: int) -> Files:
        return body(
            f"a0 = {first}", *(f"a{k} = {again.replace('@', f'a{k - 1}')}" for k in range(1, n)), f"self.a = a{n - 1}"
        )

    return make


@shape
def walks(n: int) -> Files:
    """Loops over what a loop may change: modules, their parameters, a dict, its items."""
    lines = [
        f"self.all = nn.ModuleList([nn.Linear(2, 2) for _ in range({n})])",
        "for m in self.modules(): m.seen = True",
        "for p in self.parameters(): p.requires_grad = False",
        "for k, v in self._modules.items(): self.last = k",
        f"d = {{k: k for k in range({n})}}",
        "for k in d: self.n = k",
        "for k, v in d.items(): self.n = v",
    ]
    return body(*lines)


SHAPES["doubled_lists"] = doubled("[1]", "[@, @]")
SHAPES["doubled_tuples"] = doubled("(1,)", "(@, @)")
SHAPES["doubled_dicts"] = doubled("{'a': 1}", "{'a': @, 'b': @}")
SHAPES["doubled_texts"] = doubled("'ab'", "@ + @")
SHAPES["doubled_fstrings"] = doubled("'ab'", "f'{@}{@}'")
SHAPES["doubled_formats"] = doubled("'ab'", "'%s%s' % (@, @)")
SHAPES["doubled_numbers"] = doubled("3", "@ * @")
SHAPES["doubled_sequentials"] = doubled("nn.Linear(2, 2)", "nn.Sequential(@, @)")
SHAPES["doubled_module_lists"] = doubled("[nn.Linear(2, 2)]", "[nn.ModuleList(@), nn.ModuleList(@)]")
SHAPES["doubled_copies"] = doubled("nn.Linear(2, 2)", "nn.Sequential(@, __import__('copy').deepcopy(@))")
SHAPES["doubled_sums"] = doubled("[nn.Linear(2, 2)]", "@ + @")
SHAPES["doubled_tuple_keys"] = doubled("(1,)", "(@, {@: 1})[0], @")
SHAPES["doubled_compared"] = doubled("[1]", "[@, @] if @ == list(@) else [@]")
SHAPES["doubled_hashes"] = doubled("frozenset([1])", "frozenset([@, (@,)])")
SHAPES["doubled_lambdas"] = doubled("(lambda: 1)", "(lambda f=@: (f(), f()))")
SHAPES["doubled_partials"] = doubled("nn.Linear", "__import__('functools').partial(@, *[@, @])")
SHAPES["doubled_repr"] = doubled("[1]", "[@, @, repr(@)]")


@shape
def doubled_at_module_level(n: int) -> Files:
    lines = "".join(f"a{k} = [a{k - 1}, a{k - 1}]\n" for k in range(1, n))
    return one(
        f"a0 = [1]\n{lines}\n{NET}{LAYER}        self.a = a{n - 1}\n        self.b = nn.Linear(2, len(str(a{n - 1})))\n"
    )


@shape
def doubled_class_attributes(n: int) -> Files:
    lines = "".join(f"class A{k}:\n    x = (A{k - 1}.x, A{k - 1}.x)\n    y = A{k - 1}\n" for k in range(1, n))
    return one(
        f"class A0:\n    x = 1\n{lines}\n{NET}{LAYER}        self.a = A{n - 1}.x\n        self.b = nn.Linear(2, hash(A{n - 1}.x))\n"
    )


@shape
def doubled_calls(n: int) -> Files:
    """Functions that call the last one twice."""
    lines = "".join(f"def f{k}():\n    return nn.Sequential(f{k - 1}(), f{k - 1}())\n" for k in range(1, n))
    return one(f"def f0():\n    return nn.Linear(2, 2)\n{lines}\n{NET}{LAYER}        self.a = f{n - 1}()\n")


@shape
def doubled_classes(n: int) -> Files:
    """Modules of classes that hold two of the last one."""
    lines = "".join(
        f"class B{k}(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        f"        self.a = B{k - 1}()\n        self.b = B{k - 1}()\n"
        for k in range(1, n)
    )
    return one(f"class B0(nn.Module):\n    pass\n{lines}\n{NET}{LAYER}        self.a = B{n - 1}()\n")


@shape
def doubled_diamonds(n: int) -> Files:
    """Diamonds of inheritance, one on the last."""
    lines = "".join(
        f"class L{k}(D{k - 1}):\n    pass\nclass R{k}(D{k - 1}):\n    pass\nclass D{k}(L{k}, R{k}):\n    pass\n"
        for k in range(1, n)
    )
    return one(
        f"class D0(nn.Module):\n    def forward(self, x):\n        return x\n{lines}\nclass Net(D{n - 1}):\n    pass\n"
    )


@shape
def doubled_bases(n: int) -> Files:
    """Bases that are decided nowhere, two for each class."""
    lines = "".join(
        f"if unknown():\n    A{k} = A{k - 1}\nelse:\n    A{k} = type('A', (A{k - 1}, A{k - 1}), {{}})\n"
        for k in range(1, n)
    )
    return one(f"A0 = nn.Module\n{lines}\nclass Net(A{n - 1}):\n    pass\n")


# ---- more of one thing -------------------------------------------------------------------------------------------------


@shape
def undecided_rows(n: int) -> Files:
    """Branches in a row on one flag, that change nothing."""
    return body(*(line for k in range(n) for line in ("if flag:", f"    x = {k}")), head=OPEN)


@shape
def nested_branches(n: int) -> Files:
    """Branches inside each other."""
    n = min(n, 90)
    lines = [f"{'    ' * k}if flag[{k}]:" for k in range(n)] + [f"{'    ' * n}self.l = nn.Linear(2, 2)"]
    return body(*lines, head=OPEN)


@shape
def elif_chain(n: int) -> Files:
    lines = ["if flag == -1:", "    self.a = nn.Linear(2, 2)"]
    for k in range(n):
        lines += [f"elif flag == {k}:", f"    self.a = nn.Linear(2, {k + 1})"]
    return body(*lines, head=OPEN)


@shape
def nested_loops(n: int) -> Files:
    n = min(n, 18)
    lines = [f"{'    ' * k}for i{k} in unknown():" for k in range(n)] + [f"{'    ' * n}self.l = nn.Linear(2, i0)"]
    return body("flag = []", *lines, f"for i in unknown({n}):", "    flag.append(nn.Linear(2, 2))")


@shape
def known_loops(n: int) -> Files:
    """Loops inside each other over ranges that are known."""
    n = min(n, 18)
    lines = [f"{'    ' * k}for i{k} in range(20000):" for k in range(n)] + [f"{'    ' * n}setattr(self, f'x{{i0}}', 1)"]
    return body(*lines)


@shape
def setattr_loop(n: int) -> Files:
    return body(f"for i in range({n}):", "    setattr(self, f'l{i}', nn.Linear(2, 2))")


@shape
def tries(n: int) -> Files:
    lines = [
        x
        for k in range(n)
        for x in ("try:", f"    self.l{k} = unknown({k})", "except ValueError:", "    self.a = nn.Linear(2, 2)")
    ]
    return body(*lines)


@shape
def nested_tries(n: int) -> Files:
    n = min(n, 18)
    lines = [f"{'    ' * k}try:" for k in range(n)] + [f"{'    ' * n}self.l = unknown()"]
    lines += [
        f"{'    ' * k}except ValueError:\n        {'    ' * k}    self.l{k} = nn.Linear(2, 2)"
        for k in reversed(range(n))
    ]
    return body(*lines)


@shape
def recursion(n: int) -> Files:
    return one(
        f"def f(k):\n    return nn.Sequential(f(k - 1), f(k - 1)) if k else nn.Linear(2, 2)\n\n{NET}{LAYER}        self.a = f({n})\n"
    )


@shape
def undecided_recursion(n: int) -> Files:
    return one(
        f"def f(k):\n    if unknown():\n        return nn.Sequential(f(k - 1), f(k - 2), f(k * 2))\n    return nn.Linear(2, k)\n\n{NET}{LAYER}"
        f"        self.a = f({n})\n"
    )


@shape
def generators(n: int) -> Files:
    lines = "".join(f"def g{k}():\n    yield from g{k - 1}()\n    yield from g{k - 1}()\n" for k in range(1, n))
    return one(
        f"def g0():\n    yield nn.Linear(2, 2)\n{lines}\n{NET}{LAYER}        self.a = nn.Sequential(*g{n - 1}())\n"
    )


@shape
def comprehension_products(n: int) -> Files:
    loops = " ".join(f"for a{k} in range(20)" for k in range(min(n, 18)))
    return body(f"self.a = nn.ModuleList([nn.Linear(2, 2) {loops}])")


@shape
def plain_products(n: int) -> Files:
    loops = " ".join(f"for a{k} in range(20)" for k in range(min(n, 18)))
    return body(f"self.a = [a0 {loops}]", "self.b = nn.Linear(2, sum(self.a))")


@shape
def decorators(n: int) -> Files:
    chain = "".join(f"@d({k})\n" for k in range(n))
    return one(f"def d(k):\n    def g(c):\n        c.x = k\n        return c\n    return g\n\n{chain}{NET}{LAYER}")


@shape
def unknown_decorators(n: int) -> Files:
    chain = "".join(f"@unknown.d{k}\n" for k in range(n))
    return one(f"import unknown\n{chain}{NET}{LAYER}")


@shape
def star_imports(n: int) -> Files:
    stars = "".join(f"from f{k} import *\n" for k in range(n))
    made = {f"f{k}.py": f"x{k} = {k}\nglobals()\n" for k in range(n)}
    return {**made, "model.py": f"{HEAD}{stars}\n{NET}{LAYER}        self.a = nn.Linear(2, x{n - 1})\n"}


@shape
def missing_star_imports(n: int) -> Files:
    """Star imports of files that are not there."""
    stars = "".join(f"from f{k} import *\n" for k in range(n))
    return one(f"{stars}\n{NET}{LAYER}        self.a = nn.Linear(2, x)\n")


@shape
def same_star_imports(n: int) -> Files:
    """One star import, written n times."""
    stars = "from f import *\n" * n
    return {"f.py": "x = 2\nglobals()\n", "model.py": f"{HEAD}{stars}\n{NET}{LAYER}        self.a = nn.Linear(2, x)\n"}


@shape
def star_ring(n: int) -> Files:
    """Files with a star import of each of the next ten."""
    made = {
        f"f{k}.py": "".join(f"from f{(k + i) % n} import *\n" for i in range(1, 11)) + f"x{k} = 1\n" for k in range(n)
    }
    return {**made, "model.py": f"{HEAD}from f0 import *\n\n{NET}{LAYER}        self.a = nn.Linear(2, absent)\n"}


@shape
def wide_package(n: int) -> Files:
    """A package whose `__init__` imports n modules."""
    made = {f"p/f{k}.py": f"from torch import nn\nTABLE = {{}}\nclass F{k}(nn.Module):\n    pass\n" for k in range(n)}
    init = "".join(f"from .f{k} import F{k}\n" for k in range(n))
    return {
        **made,
        "p/__init__.py": init,
        "model.py": f"{HEAD}from p import F0\nimport p\n\n{NET}{LAYER}        self.a = F0()\n",
    }


@shape
def registry(n: int) -> Files:
    """Files that each register a class in a table."""
    made = {
        f"p/f{k}.py": f"from torch import nn\nfrom p.r import register\n@register('f{k}')\nclass F{k}(nn.Module):\n    pass\n"
        for k in range(n)
    }
    table = "TABLE = {}\ndef register(name):\n    def put(cls):\n        TABLE[name] = cls\n        return cls\n    return put\n"
    init = "".join(f"from p import f{k}\n" for k in range(n))
    return {
        **made,
        "p/r.py": table,
        "p/__init__.py": init,
        "model.py": f"{HEAD}from p.r import TABLE\nimport p\n\n{NET}{LAYER}        self.a = TABLE['f1']()\n",
    }


@shape
def module_names(n: int) -> Files:
    return one(
        "".join(f"name{k} = {k}\n" for k in range(n)) + f"\n{NET}{LAYER}        self.a = nn.Linear(2, name{n - 1})\n"
    )


@shape
def name_chain(n: int) -> Files:
    """Module-level names, each one that of the last."""
    return one(
        "n0 = 2\n"
        + "".join(f"n{k} = n{k - 1}\n" for k in range(1, n))
        + f"\n{NET}{LAYER}        self.a = nn.Linear(2, n{n - 1})\n"
    )


@shape
def changed_names(n: int) -> Files:
    """One name of a module, changed n times."""
    return one(
        "t = []\n"
        + "".join(f"t.append({k})\n" for k in range(n))
        + f"\n{NET}{LAYER}        self.a = nn.Linear(2, len(t))\n"
    )


@shape
def rebound_name(n: int) -> Files:
    return one("t = 1\n" + "t = t + 1\n" * n + f"\n{NET}{LAYER}        self.a = nn.Linear(2, t)\n")


@shape
def module_branches(n: int) -> Files:
    """Undecided branches at module level that bind one name."""
    return one(
        "t = 1\n"
        + "".join(f"if unknown({k}):\n    t = {k}\n" for k in range(n))
        + f"\n{NET}{LAYER}        self.a = nn.Linear(2, t)\n"
    )


@shape
def dict_entries(n: int) -> Files:
    entries = "".join(f"    'k{k}': {k},\n" for k in range(n))
    return one(f"T = {{\n{entries}}}\n\n{NET}{LAYER}        self.a = nn.Linear(2, T['k1'])\n")


@shape
def list_of_layers(n: int) -> Files:
    return body("self.a = nn.Sequential(", *("    nn.Linear(2, 2)," for _ in range(n)), ")")


@shape
def long_text(n: int) -> Files:
    return body(f"self.text = '{'x' * n}'", "self.a = nn.Linear(2, len(self.text))")


@shape
def long_name(n: int) -> Files:
    return body(f"self.{'x' * n} = nn.Linear(2, 2)")


@shape
def long_docstring(n: int) -> Files:
    return one(f"'''{'word ' * (n // 5)}'''\n\n{NET}{LAYER}")


@shape
def long_comment(n: int) -> Files:
    return one(f"#{' modgraph:' * (n // 10)}\n\n{NET}{LAYER}")


@shape
def comments(n: int) -> Files:
    return one("# modgraph: ignore[MG101]\n" * n + NET + LAYER)


@shape
def long_sum(n: int) -> Files:
    return body(f"self.a = nn.Linear(2, {'1 + ' * n}1)")


@shape
def long_call_chain(n: int) -> Files:
    return body(f"self.a = x{'.y(1)' * n}")


@shape
def brackets(n: int) -> Files:
    n = min(n, 190)
    return body(f"self.a = {'[' * n}nn.Linear(2, 2){']' * n}")


@shape
def data_class(n: int) -> Files:
    fields = "".join(f"    a{k}: int = {k}\n" for k in range(n))
    return one(
        f"from dataclasses import dataclass\n\n@dataclass\nclass C:\n{fields}\n{NET}{LAYER}        self.a = nn.Linear(2, C().a1)\n"
    )


@shape
def enumeration(n: int) -> Files:
    fields = "".join(f"    a{k} = {k}\n" for k in range(n))
    return one(
        f"from enum import Enum\n\nclass C(Enum):\n{fields}\n{NET}{LAYER}        self.a = nn.Linear(2, C.a1.value)\n        self.b = [c.value for c in C]\n"
    )


@shape
def repeated_list(n: int) -> Files:
    return body(f"self.a = nn.Sequential(*([nn.Linear(2, 2)] * {n}))")


@shape
def built_list(n: int) -> Files:
    return body(f"self.a = nn.Sequential(*[nn.Linear(2, 2) for _ in range({n})])")


@shape
def module_dict(n: int) -> Files:
    return body(f"self.a = nn.ModuleDict({{str(i): nn.Linear(2, 2) for i in range({n})}})")


@shape
def metaclass(n: int) -> Files:
    attributes = "".join(f"    a{k} = {k}\n" for k in range(n))
    meta = "class M(type):\n    def __new__(m, name, bases, space):\n        for k in list(space):\n            space[k + '_'] = space[k]\n        return type.__new__(m, name, bases, space)\n\n"
    return one(
        f"{meta}class Net(nn.Module, metaclass=M):\n{attributes}    def __init__(self):\n        super().__init__()\n{LAYER}"
    )


@shape
def properties(n: int) -> Files:
    lines = "".join(f"    @property\n    def p{k}(self):\n        return self.p{k - 1}\n" for k in range(1, n))
    return one(
        f"{NET}{LAYER}        self.a = nn.Linear(2, self.p{n - 1})\n    @property\n    def p0(self):\n        return 2\n{lines}"
    )


@shape
def methods(n: int) -> Files:
    lines = "".join(f"    def m{k}(self):\n        self.m{k + 1}()\n" for k in range(n))
    return one(f"{NET}{LAYER}        self.m0()\n{lines}    def m{n}(self):\n        self.a = nn.Linear(2, 2)\n")


@shape
def mixins(n: int) -> Files:
    lines = "".join(f"class M{k}:\n    def f{k}(self):\n        return 2\n" for k in range(n))
    return one(
        f"{lines}\nclass Net({', '.join(f'M{k}' for k in range(n))}, nn.Module):\n    def __init__(self):\n        super().__init__()\n{LAYER}        self.a = nn.Linear(2, self.f{n - 1}())\n"
    )


@shape
def mro_conflicts(n: int) -> Files:
    lines = "".join(
        f"class A{k}(nn.Module): pass\nclass B{k}(A{k}): pass\nclass C{k}(A{k}, B{k}): pass\n" for k in range(n)
    )
    return one(f"{lines}\n{NET}{LAYER}        self.a = C0()\n")


@shape
def getattr_chain(n: int) -> Files:
    lines = "".join(
        f"class G{k}:\n    def __getattr__(self, name):\n        return getattr(G{k - 1}(), name)\n"
        for k in range(1, n)
    )
    return one(f"class G0:\n    x = 2\n{lines}\n{NET}{LAYER}        self.a = nn.Linear(2, G{n - 1}().x)\n")


@shape
def nested_classes(n: int) -> Files:
    """Classes inside each other, as deep as the parser goes; n such trees."""
    deep = "".join(f"{'    ' * k}class C{k}(nn.Module):\n" for k in range(40)) + "    " * 40 + "pass\n"
    return one("".join(deep.replace("class C0(", f"class R{k}(") for k in range(n)))


@shape
def nested_functions(n: int) -> Files:
    """Functions inside each other, each with n names of its own and n classes."""
    deep = "".join(f"{'    ' * k}def f{k}():\n{'    ' * k}    class C{k}(nn.Module): pass\n" for k in range(40))
    return one("".join(deep.replace("def f0(", f"def r{k}(") for k in range(n)) + NET + LAYER)


@shape
def nested_blocks(n: int) -> Files:
    """Blocks inside each other at module level, with statements in the innermost."""
    n_deep = 60
    deep = "".join(f"{'    ' * k}if unknown:\n" for k in range(n_deep))
    return one(deep + "".join(f"{'    ' * n_deep}x{k}.y = 1\n" for k in range(n)) + f"\n{NET}{LAYER}")


@shape
def instances(n: int) -> Files:
    """Models as values of names."""
    return one(NET + LAYER + "\n" + "".join(f"net{k} = Net()\n" for k in range(n)))


@shape
def factories(n: int) -> Files:
    """Functions that make a model, each calling the last."""
    lines = "".join(f"def make{k}():\n    return make{k - 1}()\n" for k in range(1, n))
    return one(f"{NET}{LAYER}\ndef make0():\n    return Net()\n{lines}model = make{n - 1}()\n")


@shape
def one_line_statements(n: int) -> Files:
    """Statements that share a line."""
    return one("; ".join(f"x{k} = {k}" for k in range(n)) + f"\n\n{NET}{LAYER}        self.a = nn.Linear(2, x1)\n")


@shape
def users(n: int) -> Files:
    """Classes of which each uses all before it."""
    lines = "".join(
        f"class N{k}(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.a = [{', '.join(f'N{j}' for j in range(max(0, k - 20), k))}]\n"
        for k in range(n)
    )
    return one(lines)


@shape
def long_argument_list(n: int) -> Files:
    parameters = ", ".join(f"a{k}={k}" for k in range(n))
    given = ", ".join(f"a{k}={k}" for k in range(n))
    return one(
        f"class B(nn.Module):\n    def __init__(self, {parameters}):\n        super().__init__()\n        self.l = nn.Linear(2, a1)\n\n{NET}        self.b = B({given})\n"
    )


@shape
def closures(n: int) -> Files:
    return body(
        "fs = []",
        f"for i in range({n}):",
        "    def f(x=i):",
        "        return lambda: x",
        "    fs.append(f)",
        "self.a = nn.Linear(2, len(fs))",
    )


@shape
def sequences_changed(n: int) -> Files:
    return body(
        "t = []",
        f"for i in range({n}):",
        "    t.insert(0, i)",
        "    t = t + [i] if i % 1000 == 0 else t",
        "while t:",
        "    t.pop(0)",
        "    u = t[1:]",
        "self.a = nn.Linear(2, 2)",
    )


@shape
def texts_changed(n: int) -> Files:
    return body("t = ''", f"for i in range({n}):", "    t += 'abc'", "self.t = t", "self.a = nn.Linear(2, len(t))")


@shape
def open_loop(n: int) -> Files:
    """Layers appended in a loop of unknown count, n lists of them."""
    lines = [
        x
        for k in range(n)
        for x in (
            f"a{k} = []",
            f"for i in unknown({k}):",
            f"    a{k}.append(nn.Linear(2, 2))",
            f"self.a{k} = nn.ModuleList(a{k})",
        )
    ]
    return body(*lines)


@shape
def open_state(n: int) -> Files:
    """Undecided branches over a heap of many objects that each changes."""
    lines = [f"self.all = nn.ModuleList([nn.Linear(2, 2) for _ in range({n})])"]
    lines += [
        x
        for k in range(n)
        for x in (f"if unknown({k}):", f"    self.all[{k}].x = {k}", f"    self.all[{k}] = nn.Linear(2, 2)")
    ]
    return body(*lines)


@shape
def different_names(n: int) -> Files:
    """A target's name that is not there, among many."""
    return one("".join(f"class Model{k}(nn.Module): pass\n" for k in range(n)))


@shape
def global_changes(n: int) -> Files:
    lines = [x for k in range(n) for x in ("global g", f"g = {k}")]
    return (
        one(
            "g = 0\n"
            + NET
            + LAYER
            + "        global g\n"
            + "".join(f"        g = g + {k}\n" for k in range(n))
            + "        self.a = nn.Linear(2, g)\n"
        )
        if lines
        else {}
    )


@shape
def withs(n: int) -> Files:
    return body(*(x for k in range(n) for x in (f"with unknown({k}) as w:", f"    self.l{k} = nn.Linear(2, 2)")))


@shape
def matches(n: int) -> Files:
    return body(
        "match flag:",
        *(x for k in range(n) for x in (f"    case {k}:", f"        self.a = nn.Linear(2, {k + 1})")),
        head=OPEN,
    )


@shape
def conditional_expressions(n: int) -> Files:
    return body(*(f"self.l{k} = nn.Linear(2, 2) if flag else nn.Linear(2, 3)" for k in range(n)), head=OPEN)


@shape
def any_of(n: int) -> Files:
    return body(f"self.a = nn.Linear(2, 2 if {' or '.join(f'unknown({k})' for k in range(n))} else 3)")


@shape
def patterns(n: int) -> Files:
    """A pattern of brackets inside each other."""
    n = min(n, 90)
    return body("match flag:", f"    case {'[' * n}1{']' * n}:", "        self.a = nn.Linear(2, 2)", head=OPEN)


@shape
def deleted(n: int) -> Files:
    """Names that are deleted in brackets inside each other."""
    n = min(n, 90)
    return body("x = 1", f"del {'(' * n}x{',)' * n}")


@shape
def wide_patterns(n: int) -> Files:
    """Patterns of six brackets inside each other, the innermost of which hold many."""
    rows = [f"{'[' * 6}{'1|' * n}1{']' * 6}", f"{'{1: ' * 6}{'1|' * n}1{'}' * 6}", f"{'A(b=' * 6}{'1|' * n}1{')' * 6}"]
    rows.append(f"{'A(' * 6}{'_,' * n}_{')' * 6}")
    return body("match flag:", *(x for row in rows for x in (f"    case {row}:", "        pass")), head=OPEN)


@shape
def wide_deleted(n: int) -> Files:
    return body("x = 1", f"del {'(' * 6}{'x,' * n}{'),' * 5})")


@shape
def wide_brackets(n: int) -> Files:
    """Many items inside of many brackets, and of many blocks."""
    blocks = [f"{' ' * k}if flag:" for k in range(60)]
    return body(f"x = {'[' * 60}{'1,' * n}{']' * 60}", *blocks, *[f"{' ' * 60}x = 1"] * n, head=OPEN)


@shape
def private_names(n: int) -> Files:
    """Classes, each of which has a name of its own."""
    each = "class Part{0}(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.__part = nn.Linear(1, 1)\n\n"
    return one(
        "".join(map(each.format, range(n)))
        + NET
        + f"        self.parts = nn.ModuleList([{','.join(f'Part{k}()' for k in range(n))}])\n"
    )


def _layered(n: int) -> str:
    """Classes of n layers, each derived from all of the layer before: there are 3**n ways to the first."""
    names = ["C{0}_0", "C{0}_1", "C{0}_2"]
    return "".join(
        f"class {name.format(k)}({', '.join(each.format(k - 1) for each in names) if k else 'object'}):\n    pass\n\n"
        for k in range(n)
        for name in names
    )


@shape
def layered_bases(n: int) -> Files:
    """A value of a class body that names a class with very many ways to its bases."""
    value = f"    x = made(lambda: C{n - 1}_0())\n"
    head = "def made(x):\n    return 1\n\n" + _layered(n)
    return one(head + NET.replace("    def", f"{value}    def", 1) + LAYER)


@shape
def inherited_methods(n: int) -> Files:
    """A model of such a class."""
    return one(_layered(n) + NET.replace("(nn.Module)", f"(C{n - 1}_0, nn.Module)") + LAYER)


@shape
def named_values(n: int) -> Files:
    """Values of a class body that are each made by a call, in a file of many classes."""
    values = "".join(f"    a{k} = made({k})\n" for k in range(n))
    head = "def made(x):\n    return x\n\n" + "".join(f"class Part{k}:\n    pass\n\n" for k in range(n))
    return one(head + NET.replace("    def", f"{values}    def", 1) + LAYER)


@shape
def layered_star_imports(n: int) -> Files:
    """Modules that each import all that those of the layer below have: a name that none of them binds."""
    files = one(f"from s{n - 1}_0 import *\n" + NET + LAYER + "        self.x = absent\n")
    for k in range(n):
        below = "".join(f"from s{k - 1}_{each} import *\n" for each in range(3)) if k else "from elsewhere import *\n"
        files |= {f"s{k}_{each}.py": below for each in range(3)}
    return files


# ---- what is asked of a whole text, or of a whole body, for each name --------------------------------------------------


@shape
def class_values(n: int) -> Files:
    """Values of a class body."""
    return one("class B:\n" + "".join(f"    a{k} = 1\n" for k in range(n)) + NET + LAYER)


@shape
def class_defaults(n: int) -> Files:
    """Methods with defaults."""
    lines = "".join(f"    def a{k}(self, x=b{k}):\n        pass\n" for k in range(n))
    return one(f"class B:\n{lines}{NET}{LAYER}")


@shape
def library_defaults(n: int) -> Files:
    """Functions with a name of a library for a default, each another."""
    return one("".join(f"def f{k}(a=nn.x{k}):\n    return a\n" for k in range(n)) + NET + LAYER)


@shape
def rebinding_star_imports(n: int) -> Files:
    """One star import, written n times, behind n names."""
    names = "".join(f"a{k} = {k}\n" for k in range(n))
    made = "".join(f"b{k} = {k}\n" for k in range(n))
    return {"lib.py": made, "model.py": f"{HEAD}{names}" + "from lib import *\n" * n + NET + LAYER}


@shape
def absent_names(n: int) -> Files:
    """Names that a module of n names does not have, asked for n times."""
    ask = ["import lib", f"for i in range({n}):", "    if hasattr(lib, 'zz'):", "        self.b = nn.Linear(2, 2)"]
    ask += [
        "    x = getattr(lib, 'zz', None)",
        "    try:",
        "        from lib import zz",
        "    except ImportError:",
        "        pass",
    ]
    return {"lib.py": "".join(f"b{k} = 1\n" for k in range(n)), **body(*ask)}


@shape
def hostile_comments(n: int) -> Files:
    """Long lines in which each word begins what a pattern looks for."""
    words = ("patch ", "import ", "setattr(", "T[", "x.a: ", "from a import (", "global ")
    lines = "".join(f"# {word * n}\n" for word in words)
    return one(
        f"{lines}# __{'a' * n}__\nT = {{}}\ndef f(a=nn.ReLU):\n    return a\n{NET}{LAYER}        self.b = T.get('x')\n"
    )
