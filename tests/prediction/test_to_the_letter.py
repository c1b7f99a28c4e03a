"""What Python and torch do to the letter: walruses in generators, mappings that make what they lack, caches that forget,
exceptions and what they hold, flags, and loops over what changes meanwhile. Torch, running the same text, is the judge."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Any

import pytest

from modgraph.graph.model import Graph

IMPORTS = """
import collections, copy, enum, functools, itertools, os
from collections import Counter, OrderedDict, defaultdict
"""

IMPORT_ORDER = {
    "container plain rebinding": """
        D = {}
        def st(n): D['k'] = n
        st(8)
        D = {'k': 3}
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.Linear(D['k'], 1)
    """,
    "reads between": """
        N = 1
        def st(n):
            global N
            N = n
        st(8)
        M = N
        N = 4
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.Linear(N, M)
    """,
    "before only": """
        N = 1
        def st(n):
            global N
            N = n
        N = 4
        st(8)
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.Linear(N, 1)
    """,
    "two calls": """
        N = 1
        def st(n):
            global N
            N = n
        st(8)
        N = 4
        st(9)
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.Linear(N, 1)
    """,
    "registry rev": """
        R = {}
        def reg(n):
            def d(c):
                R[n] = c
                return c
            return d
        R['x'] = nn.Conv1d
        @reg('x')
        class A(nn.Linear): pass
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = R['x'](1, 1, 1)
    """,
    "one": """
        N = 1
        def st(n):
            global N
            N = n
        st(8)
        N = 4
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.Linear(N, 1)
    """,
    "registry": """
        R = {}
        def reg(n):
            def d(c):
                R[n] = c
                return c
            return d
        @reg('x')
        class A(nn.Linear): pass
        R['x'] = nn.Conv1d
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = R['x'](1, 1, 1)
    """,
    "class attr": """
        class C:
            w = 1
        def st(n): C.w = n
        st(8)
        C.w = 4
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.Linear(C.w, 1)
    """,
    "container": """
        L = [1]
        def st(n): L.append(n)
        st(8)
        L.append(4)
        L[0] = 6
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.Linear(L[1], L[0])
    """,
    "container dict": """
        D = {}
        def st(n): D['k'] = n
        st(8)
        D['k'] = 4
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.Linear(D['k'], 1)
    """,
    "aug": """
        N = 1
        def st(n):
            global N
            N = n
        st(8)
        N += 4
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.Linear(N, 1)
    """,
    "registry fn call": """
        R = {}
        def reg(n, c): R[n] = c
        reg('x', nn.Linear)
        R['x'] = nn.Conv1d
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = R['x'](1, 1, 1)
    """,
    "update": """
        R = {}
        def reg(n):
            def d(c):
                R[n] = c
                return c
            return d
        @reg('x')
        class A(nn.Linear): pass
        R.update(x=nn.Conv1d)
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = R['x'](1, 1, 1)
    """,
    "function attribute": """
        def f(): pass
        f.n = 1
        def st(n): f.n = n
        st(8)
        f.n = 4
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.Linear(f.n, 1)
    """,
}

WALRUSES = {
    "any-walrus": """
        if any((last := k) > 1 for k in range(5)):
            self.b = nn.Linear(1, last)
    """,
    "sum": """
        last = 1
        x = sum((last := k) for k in range(5))
        self.b = nn.Linear(x, last)
    """,
    "seq": """
        c = 1
        self.s = nn.Sequential(*(nn.Linear(c, c := c*2) for _ in range(3)))
        self.t = nn.Linear(c, 1)
    """,
    "before consumed": """
        last = 1
        g = ((last := k) for k in range(5))
        self.a = nn.Linear(last, 1)
        next(g); next(g); next(g)
        self.b = nn.Linear(last, 1)
    """,
    "consumed elsewhere": """
        last = 1
        def eat(it):
            last = 77
            next(it)
            list(it)
            return last
        self.b = nn.Linear(eat((last := k) for k in range(5)), last)
    """,
    "recursion": """
        def f(d):
            v = d
            g = ((v := v + k) for k in range(3))
            if d:
                f(d-1)
                w = f2(g, d-1)
            list(g)
            return v
        def f2(g, d):
            next(g)
            if d: return f2(g, d-1)
        self.a = nn.Linear(f(3), 1)
    """,
    "returned": """
        def mk():
            v = 5
            def read(): return v
            return ((v := k+1) for k in range(3)), read
        g, r = mk()
        self.a = nn.Linear(r(), 1)
        list(g)
        self.b = nn.Linear(r(), 1)
    """,
    "nonlocal": """
        v = 1
        def mk():
            nonlocal v
            return ((v := k+1) for k in range(3))
        g = mk()
        list(g)
        self.b = nn.Linear(v, 1)
    """,
    "lambda": """
        f = lambda n: [(y := n), list((y := k + y) for k in range(3)), y][2]
        self.b = nn.Linear(f(4), 1)
        g = lambda n: ((y := n), (lambda: y))
        a = g(3)[1]()
        self.c = nn.Linear(a, 1)
    """,
    "comp in gen cond": """
        out = list(z for z in range(10) if (sq := z*z) > 10)
        self.b = nn.Linear(sq, len(out))
    """,
    "module level": """
        L = list((q := k) for k in range(4))
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.b = nn.Linear(q, len(L))
    """,
    "lambda inside comp": """
        fs = [lambda: (h := k) + h for k in range(4)]
        self.b = nn.Linear(fs[2](), 1)
    """,
    "genfunc": """
        def gen():
            s = 0
            yield from ((s := s + k) for k in range(3))
            yield s + 10
        r = list(gen())
        self.b = nn.Linear(r[-1], len(r))
    """,
    "two frames same function": """
        def f(n, it=None):
            z = n
            if it is not None:
                list(it)
                return z
            g = ((z := k + 50) for k in range(3))
            r = f(7, g)
            return r * 1000 + z
        self.b = nn.Linear(f(1), 1)
    """,
    "global lambda walrus": """
        h = 5
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                f = lambda q=3: (h := 9)
                self.a = nn.Linear(h, f())
    """,
    "loop var named as global": """
        k = 5
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                global k
                l = [k for k in range(3)]
                m = list(k for k in range(3))
                self.a = nn.Linear(k, 1)
    """,
}

MAPPINGS = {
    "counter missing": """
        c = Counter('abca'); self.a = nn.Linear(c['zz']+1, len(c))
    """,
    "counter aug": """
        c = Counter()
        for w in 'abca': c[w] += 1
        self.a = nn.Linear(c['a'], len(c))
    """,
    "counter update": """
        c = Counter('abca'); c.update({'a': 5, 'q': 1}); c.update('aa', a=2)
        self.a = nn.Linear(c['a'], len(c))
    """,
    "counter init kw": """
        c = Counter({'a': 2}, a=3)
        d = Counter('aab', a=3)
        self.a = nn.Linear(c['a'], d['a'])
    """,
    "counter subtract": """
        c = Counter('aabc'); c.subtract('ab'); c.subtract(b=3)
        self.a = nn.Linear(c['a'], 4 + c['b'])
    """,
    "counter arith": """
        c = Counter('aabc') + Counter('bd'); d = Counter('aab') - Counter('ab'); e = Counter('aab') | Counter('bbc'); f = Counter('aab') & Counter('abb')
        self.a = nn.Linear(c['b'], len(c)); self.b = nn.Linear(d['a'], len(d)); self.c=nn.Linear(e['b'], len(e)); self.d = nn.Linear(f['b'], len(f))
    """,
    "counter iadd": """
        c = Counter('aab'); c += Counter('bz'); self.a = nn.Linear(c['b'], c['z'])
        d = Counter('aab'); d -= Counter('bz'); self.b = nn.Linear(1+d['b'], len(d))
    """,
    "counter unary": """
        c = Counter(a=2, b=-1); self.a = nn.Linear(len(+c), (-c)['b'])
    """,
    "counter total elements": """
        c = Counter('aabc'); self.a = nn.Linear(c.total(), len(list(c.elements())))
    """,
    "counter del": """
        c = Counter('aabc'); del c['nope']; del c['a']; self.a = nn.Linear(len(c), 1)
    """,
    "counter copy": """
        c = Counter('aab').copy(); d = copy.copy(c); e = copy.deepcopy(c)
        self.a = nn.Linear(c['q']+1, d['q']+2); self.b = nn.Linear(e['z']+3, type(c).__name__ == 'Counter' and 2 or 1)
    """,
    "subclass counter": """
        class C(Counter):
            pass
        c = C('aab'); self.a = nn.Linear(c['a'], c['q'] + 1)
        class E(Counter):
            def __missing__(self, k): return 7
        e = E('aab'); self.b = nn.Linear(e['a'], e['q'] + 1)
    """,
    "subclass counter sup": """
        class E(Counter):
            def __missing__(self, k): return super().__missing__(k) + 3
        e = E('aab'); self.b = nn.Linear(e['a'], e['q'] + 1)
    """,
    "subclass defaultdict": """
        class D(defaultdict):
            pass
        d = D(int); d['a'] += 2; self.a = nn.Linear(d['a'], d['q'] + 1)
        class E(defaultdict):
            def __missing__(self, k):
                self[k] = v = self.default_factory(k)
                return v
        e = E(len); self.b = nn.Linear(e['abc'], len(e))
        class G(defaultdict):
            def __missing__(self, k): return super().__missing__(k)
        g = G(list); g['a'].append(1); self.c = nn.Linear(len(g['a']), len(g))
    """,
    "dd factory attr": """
        d = defaultdict(lambda: 4); d.default_factory = lambda: 6
        self.a = nn.Linear(d['q'], 1)
        d.default_factory = None
        try: d['r']
        except KeyError: self.b = nn.Linear(2, 1)
    """,
    "dd missing direct": """
        d = defaultdict(lambda: 4)
        self.a = nn.Linear(d.__missing__('q'), len(d))
    """,
    "dd or": """
        f = defaultdict(int) | {'k': 1}
        self.a = nn.Linear(1, f['new'] + 1)
        g = {'k': 1} | defaultdict(lambda: 8)
        self.b = nn.Linear(1, g['new'])
    """,
    "dd or types": """
        a = OrderedDict(a=1) | {'b': 2}
        b = {'b': 2} | OrderedDict(a=1)
        c = Counter('a') | Counter('b')
        d = {'a': 1} | {'b': 2}
        e = defaultdict(int) | {'b': 2}
        for i, x in enumerate((a, b, c, d, e)):
            self.add_module(type(x).__name__ + str(i), nn.Linear(len(x), 1))
    """,
    "subclass or": """
        class D(dict): pass
        x = D(a=1) | {'b': 2}; y = {'b': 2} | D(a=1)
        class E(defaultdict): pass
        z = E(int) | {'b': 2}
        for i, x in enumerate((x, y, z)):
            self.add_module(type(x).__name__ + str(i), nn.Linear(len(x), 1))
        self.q = nn.Linear(z['q'] + 1, 1)
    """,
    "ior": """
        d = defaultdict(lambda: 3); d |= {'a': 1}; self.a = nn.Linear(d['zz'], d['a'])
    """,
    "in": """
        c = Counter('ab'); c['zz']; self.a = nn.Linear(3 if 'zz' in c else 4, len(c))
    """,
    "copy of dict subclass": """
        class D(dict):
            def __missing__(self, k): return 5
        d = D(a=1).copy()
        try: self.a = nn.Linear(d['q'], 1)
        except KeyError: self.b = nn.Linear(2, 1)
    """,
}

NAME_HOOKS = {
    "basic": """
        class D:
            def __set_name__(self, owner, name): owner.width = 7
        class Net(nn.Module):
            width = 3
            d = D()
            def __init__(self):
                super().__init__()
                self.a = nn.Linear(self.width, 1)
    """,
    "subclass hook": """
        class Base:
            def __set_name__(self, owner, name): owner.names = getattr(owner, 'names', ()) + (name,)
        class D(Base): pass
        class Net(nn.Module):
            d = D()
            e = D(); f = D()
            if True:
                g = D()
            def __init__(self):
                super().__init__()
                self.a = nn.Linear(len(self.names), len(''.join(self.names)))
                for n in self.names: self.add_module('k' + n, nn.ReLU())
    """,
    "function makes": """
        class D:
            def __set_name__(self, owner, name): owner.width = 7
        def make(): return D()
        class Net(nn.Module):
            width = 3
            d = make()
            def __init__(self):
                super().__init__()
                self.a = nn.Linear(self.width, 1)
    """,
    "registry": """
        R = []
        class D:
            def __set_name__(self, owner, name): R.append(name)
        class Net(nn.Module):
            d = D()
            e = D()
            def __init__(self):
                super().__init__()
                self.a = nn.Linear(len(R), 1)
    """,
    "helper class": """
        class D:
            def __set_name__(self, owner, name): owner.fields[name] = self
            def __get__(self, o, t=None): return 5
        class H:
            fields = {}
            d = D()
            e = D()
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.Linear(len(H.fields), H.d)
    """,
    "local": """
        class D:
            def __set_name__(self, owner, name): owner.width = 7
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                class H:
                    width = 3
                    d = D()
                self.a = nn.Linear(H.width, 1)
    """,
    "initsubclass sees": """
        class D:
            def __set_name__(self, owner, name): owner.width = 7
        class B:
            def __init_subclass__(cls): cls.w2 = cls.width + 1
        class H(B):
            width = 3
            d = D()
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.Linear(H.w2, 1)
    """,
    "type call": """
        class D:
            def __set_name__(self, owner, name): owner.width = 7
        H = type('H', (), {'d': D(), 'width': 3})
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.Linear(H.width, 1)
    """,
    "own name": """
        class D:
            def __set_name__(self, owner, name): self.name = name
            def __get__(self, o, t): return getattr(o, '_' + self.name)
        class Net(nn.Module):
            width = D()
            def __init__(self):
                super().__init__()
                self._width = 4
                self.a = nn.Linear(self.width, 1)
    """,
}

CACHES = {
    "two": """
        @functools.lru_cache(maxsize=2)
        def mk(n): return nn.Linear(n,n)
        self.a = mk(1); self.b = mk(2); self.c = mk(3); self.d = mk(1)
    """,
    "hit order": """
        @functools.lru_cache(maxsize=2)
        def mk(n): return nn.Linear(n,n)
        self.a = mk(1); self.b = mk(2); self.c = mk(1); self.d = mk(3); self.e = mk(1); self.f = mk(2)
    """,
    "zero": """
        @functools.lru_cache(0)
        def mk(n): return nn.Linear(n,n)
        self.a = mk(1); self.b = mk(1)
    """,
    "negative": """
        @functools.lru_cache(-3)
        def mk(n): return nn.Linear(n,n)
        self.a = mk(1); self.b = mk(1)
    """,
    "bare": """
        @functools.lru_cache
        def mk(n): return nn.Linear(n,n)
        self.a = mk(1); self.b = mk(1);
        for i in range(2, 140): mk(i)
        self.c = mk(1)
    """,
    "types": """
        @functools.lru_cache(None)
        def mk(*n): return nn.Linear(1,1)
        self.a = mk(1); self.b = mk(1.0); self.c = mk(True); self.d = mk(1, 2); self.e = mk(1.0, 2); self.f = mk((1, 'a')); self.g = mk((1.0, 'a'))
        self.h = mk(1, ('a', 2)); self.i = mk('a'); self.j = mk('a')
    """,
    "typed": """
        @functools.lru_cache(None, True)
        def mk(*n): return nn.Linear(1,1)
        self.a = mk(1); self.b = mk(1.0); self.c = mk(True); self.d = mk(1, 2); self.e = mk(1.0, 2); self.f = mk(1.0, 2)
    """,
    "kw vs tuple": """
        @functools.lru_cache(None)
        def mk(*n, **k): return nn.Linear(1,1)
        self.a = mk(1, ('a', 2)); self.b = mk(1, a=2)
    """,
    "unhashable": """
        @functools.lru_cache(None)
        def mk(n): return nn.Linear(1,1)
        try: mk([1])
        except TypeError: self.a = nn.Linear(3, 1)
    """,
    "eq objects": """
        class K:
            def __init__(self, n): self.n = n
            def __eq__(self, o): return self.n == o.n
            def __hash__(self): return hash(self.n)
        @functools.lru_cache(None)
        def mk(k): return nn.Linear(k.n,1)
        self.a = mk(K(1)); self.b = mk(K(1)); self.c = mk(K(2))
    """,
    "recursion": """
        @functools.lru_cache(maxsize=2)
        def fib(n): return n if n < 2 else fib(n-1) + fib(n-2)
        self.a = nn.Linear(fib(12), 1)
    """,
    "clear": """
        @functools.lru_cache(maxsize=2)
        def mk(n): return nn.Linear(n,n)
        self.a = mk(1); mk.cache_clear(); self.b = mk(1); self.c = mk(1); self.d = mk.__wrapped__(1)
    """,
    "method": """
        class H:
            @functools.lru_cache(maxsize=1)
            def mk(self, n): return nn.Linear(n, n)
        h, g = H(), H()
        self.a = h.mk(1); self.b = h.mk(1); self.c = g.mk(1); self.d = h.mk(1)
    """,
    "sized call form": """
        mk = functools.lru_cache(maxsize=2, typed=False)(lambda n: nn.Linear(n, n))
        self.a = mk(1); self.b = mk(1); self.c = mk(2); self.d = mk(3); self.e = mk(1)
    """,
}

FLAGS = {
    "z": """
        class F(enum.IntFlag):
            X = enum.auto(); Y = enum.auto(); Z = X | Y
        for e in F: self.add_module(e.name, nn.Linear(1, e.value))
        self.q = nn.Linear(len(F), F.Z.value)
    """,
    "flag": """
        class F(enum.Flag):
            X = enum.auto()
            Y = enum.auto()
            Z = X | Y
            W = enum.auto()
        for e in F: self.add_module(e.name, nn.Linear(1, e.value))
        self.q = nn.Linear(len(F), F.W.value)
    """,
    "later z": """
        class F(enum.Flag):
            X = 1
            Y = 4
            Z = X | Y
            N = 0
            M = ~X & 7
        for e in F: self.add_module(e.name, nn.Linear(1, e.value))
        self.q = nn.Linear(len(F), len(list(F.Z)))
    """,
    "module": """
        class F(enum.IntFlag):
            X = enum.auto()
            Y = enum.auto()
            Z = X | Y
            A = Z
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                for e in F: self.add_module(e.name, nn.Linear(1, e.value))
                self.q = nn.Linear(len(F), F.Z.value)
                self.r = nn.Linear(len(F.__members__), len(list(reversed(F))))
    """,
    "module one line": """
        class F(enum.IntFlag):
            X = enum.auto(); Y = enum.auto(); Z = X | Y
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                for e in F: self.add_module(e.name, nn.Linear(1, e.value))
                self.q = nn.Linear(len(F), F.Z.value)
    """,
    "intenum": """
        class E(enum.IntEnum):
            A = enum.auto()
            B = A + 5
            C = enum.auto()
            D = A
        for e in E: self.add_module(e.name, nn.Linear(1, e))
        self.q = nn.Linear(len(E), E.C.value)
    """,
    "gnv": """
        class E(enum.Enum):
            def _generate_next_value_(name, start, count, last): return count * 10 + len(name)
            A = enum.auto()
            BB = enum.auto(); C = BB + 1
        for e in E: self.add_module(e.name, nn.Linear(1, e.value))
    """,
    "strenum": """
        class E(enum.StrEnum):
            A = enum.auto(); B = A + 'x'
            C = enum.auto()
        for e in E: self.add_module(e.name, nn.Linear(1, len(e.value)))
    """,
    "module gnv": """
        class E(enum.Enum):
            def _generate_next_value_(name, start, count, last): return count * 10 + len(name)
            A = enum.auto()
            BB = enum.auto(); C = BB + 1
            D = C + 1
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                for e in E: self.add_module(e.name, nn.Linear(1, e.value))
    """,
    "with method between": """
        class E(enum.IntFlag):
            A = enum.auto()
            def f(self): return 1
            B = enum.auto()
            _ignore_ = ['k']
            k = 5
            C = A | B
        for e in E: self.add_module(e.name, nn.Linear(1, e.value))
        self.q = nn.Linear(E.C, 1)
    """,
}

EXCEPTIONS = {
    "str keyerror": """
        try:
            x = {}['k']
        except KeyError as ex:
            self.a = nn.Linear(2, len(str(ex)))
            self.b = nn.Linear(2, len(f'{ex}'))
            self.c = nn.Linear(2, len(ex.args[0]))
    """,
    "del": """
        d = {}
        try: del d['abc']
        except KeyError as e: self.a = nn.Linear(len(str(e)), 1)
    """,
    "user keyerror": """
        try: raise KeyError('abc')
        except KeyError as e: self.a = nn.Linear(len(str(e)), len(e.args[0]))
        try: raise KeyError
        except KeyError as e: self.b = nn.Linear(len(str(e))+1, len(e.args)+1)
        try: raise ValueError('a', 2)
        except ValueError as e: self.c = nn.Linear(len(str(e)), len(e.args))
        class My(KeyError): pass
        try: raise My('abc')
        except KeyError as e: self.d = nn.Linear(len(str(e)), len(e.args[0]))
        class R(ValueError):
            def __repr__(self): return 'xxxxxxxxx'
        try: raise R('abc')
        except ValueError as e: self.e = nn.Linear(len(str(e)), len(f'{e}'))
    """,
    "cause": """
        try:
            raise ValueError
        except ValueError as e:
            try:
                raise TypeError from e
            except TypeError as t:
                self.a = nn.Linear(1, 2 if t.__cause__ is e else 3)
                self.b = nn.Linear(1, 2 if t.__suppress_context__ else 3)
    """,
    "cause none": """
        try: raise ValueError('x') from None
        except ValueError as e: self.a = nn.Linear(1, 2 if e.__cause__ is None else 3)
        try: raise ValueError('x')
        except ValueError as e: self.b = nn.Linear(1, 2 if e.__cause__ is None else 3)
        try: raise ValueError('x') from TypeError
        except ValueError as e: self.c = nn.Linear(1, 2 if isinstance(e.__cause__, TypeError) else 3)
        try:
            try: raise ValueError('x') from 5
            except TypeError: self.d = nn.Linear(7, 1)
        except ValueError: pass
    """,
    "with_traceback": """
        try: raise ValueError('abc').with_traceback(None)
        except ValueError as e: self.a = nn.Linear(len(str(e)), 1)
    """,
    "assert": """
        try: assert False, (1, 2)
        except AssertionError as e: self.a = nn.Linear(len(e.args[0]), len(str(e)))
        try: assert False
        except AssertionError as e: self.b = nn.Linear(len(e.args) + 1, len(str(e)) + 1)
        try: assert False, 'abc'
        except AssertionError as e: self.c = nn.Linear(len(e.args) + 1, len(str(e)) + 1)
        try: assert False, []
        except AssertionError as e: self.d = nn.Linear(len(e.args) + 1, len(str(e)) + 1)
    """,
    "exit": """
        try: raise SystemExit(3)
        except SystemExit as e: self.a = nn.Linear(e.code, 1)
        try: raise StopIteration(3)
        except StopIteration as e: self.b = nn.Linear(e.value, 1)
    """,
    "super init": """
        class E(Exception):
            def __init__(self, a, b):
                super().__init__('x' * a)
        try: raise E(3, 4)
        except E as e: self.a = nn.Linear(len(str(e)), len(e.args))
        class F(Exception):
            def __init__(self, a, b): self.k = 1
        try: raise F(3, 4)
        except F as e: self.b = nn.Linear(e.args[0], len(e.args))
    """,
    "raise nonexc": """
        try: raise 5
        except TypeError as e: self.a = nn.Linear(3, 1)
    """,
    "reraise finally": """
        try:
            try:
                raise ValueError('q')
            finally:
                raise
        except ValueError as e: self.a = nn.Linear(3, 1)
    """,
    "notes": """
        try: {}['q']
        except KeyError as e:
            self.b = nn.Linear(1, 2 if hasattr(e, '__notes__') else 3)
            e.add_note('abc')
            self.a = nn.Linear(1, 2 if hasattr(e, '__notes__') else 3)
    """,
    "notes2": """
        try: {}['q']
        except KeyError as e:
            e.add_note('abc'); e.add_note('b')
            self.a = nn.Linear(len(e.__notes__), 1)
    """,
}

WALKS = {
    "caught": """
        self.a = nn.Linear(1, 1)
        try:
            for n, m in self.named_children():
                self.add_module('z' + n, nn.Linear(1, 1))
        except RuntimeError: self.q = nn.Linear(2, 2)
        try:
            for m in self.children(): self.r = nn.Linear(2, 2)
        except RuntimeError: self.s = nn.Linear(2, 2)
        try:
            for m in self._modules: self._modules['u'] = nn.Linear(2, 2)
        except RuntimeError: self.t = nn.Linear(2, 2)
        try:
            for m in self._modules.items(): self.v = nn.Linear(2, 2)
        except RuntimeError: self.w = nn.Linear(2, 2)
        try:
            for m in self._modules.values(): self.v1 = nn.Linear(2, 2)
        except RuntimeError: self.w1 = nn.Linear(2, 2)
        try:
            for m in self._modules.keys(): del self.v1; break
            for m in self._modules.keys(): del self.w1
        except RuntimeError: self.w2 = nn.Linear(2, 2)
    """,
    "dict": """
        d = {'a': 1, 'b': 2}
        for i, it in enumerate((lambda: d, lambda: d.items(), lambda: d.keys(), lambda: d.values(), lambda: iter(d), lambda: enumerate(d), lambda: sorted(d))):
            try:
                for k in it(): d['n%d' % i] = 3
            except RuntimeError: self.add_module('x%d' % i, nn.Linear(i + 1, len(d)))
    """,
    "sets": """
        s = {1, 2}
        try:
            for k in s: s.add(k + 10)
        except RuntimeError: self.a = nn.Linear(len(s), 1)
        l = [1, 2]
        for k in l:
            if len(l) < 6: l.append(k)
        self.b = nn.Linear(len(l), 1)
    """,
    "values replaced": """
        d = {'a': 1, 'b': 2}
        t = 0
        for k, v in d.items():
            d['b'] = 7
            t += v
        self.a = nn.Linear(t, 1)
        ks = d.values(); d['c'] = 5
        self.b = nn.Linear(sum(v for v in ks), 1)
        it = iter(d.items()); next(it); d['b'] = 9
        self.c = nn.Linear(next(it)[1], 1)
    """,
    "replaced children": """
        self.a = nn.Linear(1, 1); self.b = nn.Linear(2, 2)
        for n, m in self.named_children():
            self.b = nn.Linear(5, 5)
            setattr(self, n, nn.Linear(m.in_features + 1, 1))
    """,
    "replaced modules": """
        self.a = nn.Sequential(nn.Linear(1, 1), nn.ReLU()); self.b = nn.ReLU()
        for n, m in self.named_modules():
            for cn, c in m.named_children():
                if isinstance(c, nn.ReLU): setattr(m, cn, nn.Sequential(nn.Tanh(), nn.GELU()))
                elif isinstance(c, nn.GELU): setattr(m, cn, nn.Tanh())
    """,
    "added to item": """
        self.a = nn.Linear(1, 1); self.b = nn.Linear(1, 1)
        n = 0
        for m in self.modules():
            n += 1
            if isinstance(m, nn.Linear): m.extra = nn.ReLU()
        self.c = nn.Linear(n, 1)
    """,
    "added to parent": """
        self.a = nn.Linear(1, 1); self.b = nn.Linear(1, 1)
        try:
            for m in self.modules():
                if isinstance(m, nn.Linear): self.extra = nn.ReLU()
        except RuntimeError: self.c = nn.Linear(3, 1)
    """,
    "at first": """
        self.a = nn.Linear(1, 1); self.b = nn.Linear(1, 1)
        k = []
        for n, m in self.named_modules(prefix='p'):
            if n == 'p': self.extra = nn.ReLU()
            k.append(n)
        self.c = nn.Linear(len(k), len(''.join(k)))
    """,
    "params": """
        self.a = nn.Linear(1, 1); self.p = nn.Parameter(torch.zeros(3));
        try:
            for n, p in self.named_parameters(): self.register_parameter('w' + n.replace('.', '_'), nn.Parameter(torch.zeros(2)))
        except RuntimeError: self.c = nn.Linear(3, 1)
        for n, p in list(self.named_parameters()): self.register_parameter('v' + n.replace('.', '_'), nn.Parameter(torch.zeros(2)))
        for n, p in list(self.named_buffers()): self.register_buffer('v' + n, p)
        self.d = nn.Linear(sum(p.numel() for p in self.parameters()), len(list(self.parameters(recurse=False))))
        self.tied = self.a
        self.e = nn.Linear(len(list(self.named_modules(remove_duplicate=False))), len(list(self.named_parameters(remove_duplicate=False))))
    """,
    "late start": """
        self.a = nn.Linear(1, 1)
        g = self.named_children(); v = self._modules.values(); i = iter(self._modules)
        self.b = nn.Linear(2, 2)
        self.c = nn.Linear(len(list(g)), 1)
        self.d = nn.Linear(sum(1 for _ in v), 1)
        try: next(i)
        except RuntimeError: self.e = nn.ReLU()
    """,
    "none children": """
        self.a = None; self.register_module('b', None); self.c = nn.ReLU(); self.d = self.c
        self.e = nn.Linear(len(list(self.children())), len([n for n, _ in self.named_children()]))
    """,
    "next params": """
        self.a = nn.Linear(3, 1)
        self.b = nn.Linear(next(self.parameters()).shape[1], len(list(self.a.buffers())) + 1)
        self.c = nn.ModuleList(m for m in self.a.modules())
        self.d = nn.Linear(len([*zip(self.children(), self.children())]), 1)
    """,
    "dunder dict": """
        class O: pass
        o = O(); o.a = 1
        try:
            for k in o.__dict__: setattr(o, 'x' + k, 1)
        except RuntimeError: self.a = nn.ReLU()
        try:
            for k in vars(self).items(): self.foo = 1
        except RuntimeError: self.b = nn.ReLU()
    """,
    "clear in loop": """
        d = {'a': 1}
        try:
            for k in d: d.clear()
            self.a = nn.ReLU()
        except RuntimeError: self.b = nn.ReLU()
    """,
    "defaultdict in loop": """
        d = defaultdict(int, a=1)
        try:
            for k in d: d['q']
            self.a = nn.ReLU()
        except RuntimeError: self.b = nn.ReLU()
    """,
}

NOT_FOLLOWED = {
    "caches: unknown arg": """
        import os
        @functools.lru_cache(None)
        def mk(k): return nn.Linear(3,1)
        self.a = mk(1); self.b = mk(os.environ.get('Q') and 1 or 2); self.c = mk(2); self.d = mk(1)
    """,
    "caches: unknown size": """
        import os
        @functools.lru_cache(maxsize=int(os.environ.get('Q', 1)))
        def mk(k): return nn.Linear(3,1)
        self.a = mk(1); self.b = mk(2); self.c = mk(1)
    """,
    "caches: module level": """
        @functools.lru_cache(maxsize=1)
        def mk(n): return nn.Linear(n,n)
        A = mk(1); B = mk(2); C = mk(1)
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = A; self.b = B; self.c = C; self.d = mk(2); self.e = mk(1)
    """,
    "caches: path": """
        import os
        @functools.lru_cache(1)
        def mk(k): return nn.Linear(3,1)
        self.a = mk(1)
        if os.environ.get('Q'): mk(2)
        self.c = mk(1)
    """,
    "exceptions: context": """
        try:
            raise ValueError
        except ValueError as e:
            try:
                raise TypeError
            except TypeError as t:
                self.a = nn.Linear(1, 2 if t.__context__ is e else 3)
    """,
    "exceptions: context2": """
        try:
            {}['q']
        except KeyError as e:
            try:
                [][1]
            except IndexError as t:
                self.a = nn.Linear(1, 2 if t.__context__ is None else 3)
    """,
    "exceptions: tb": """
        try: {}['q']
        except KeyError as e:
            self.a = nn.Linear(1, 2 if e.__traceback__ is None else 3)
    """,
    "walks: swap same size": """
        d = {'a': 1, 'b': 2}
        try:
            for k in d:
                if 'c' not in d: del d['a']; d['c'] = 3
        except RuntimeError: self.a = nn.ReLU()
        self.z = nn.Linear(len(d), 1)
    """,
    "walks: undecided adds": """
        import os
        self.a = nn.Linear(3, 1)
        for m in self.children():
            if os.environ.get('Q'): self.z = nn.Linear(1, 1)
    """,
    "flags: unknown enum": """
        import os
        class F(enum.Enum):
            X = 1
            Y = int(os.environ.get('Q', 2))
        for e in F: self.add_module(e.name, nn.Linear(1, 3))
        self.q = nn.Linear(len(F), 1)
    """,
    "flags: unknown value": """
        import os
        class F(enum.IntFlag):
            X = 1
            Y = int(os.environ.get('Q', 2))
        for e in F: self.add_module(e.name, nn.Linear(1, 3))
        self.q = nn.Linear(len(F), 1)
    """,
    "walruses: unknown cond": """
        import os
        t = 3
        any((t := k) for k in range(3) if os.environ.get("Q"))
        self.b = nn.Linear(t, 1)
    """,
    "walruses: two paths take": """
        import os
        t = 3
        g = ((t := k) for k in range(1, 5))
        if os.environ.get("Q"):
            next(g)
        next(g)
        self.b = nn.Linear(t, 1)
    """,
}
"""Unknown is the answer where the order of what happens, or what it is, is not followed."""

CASES = {
    f"{kind}: {name}": text
    for kind, cases in (
        ("import_order", IMPORT_ORDER),
        ("walruses", WALRUSES),
        ("mappings", MAPPINGS),
        ("name_hooks", NAME_HOOKS),
        ("caches", CACHES),
        ("flags", FLAGS),
        ("exceptions", EXCEPTIONS),
        ("walks", WALKS),
    )
    for name, text in cases.items()
}


def whole(text: str) -> str:
    """The text of a module; of the body of a constructor, with a class around it."""
    text = textwrap.dedent(text)
    if "class Net" in text:
        return IMPORTS + text
    head = "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    return IMPORTS + head + textwrap.indent(text, " " * 8)


@pytest.mark.needs_torch
@pytest.mark.parametrize("text", CASES.values(), ids=CASES)
def test_like_torch(agrees: Callable[[str], Graph], text: str):
    agrees(whole(text))


@pytest.mark.needs_torch
@pytest.mark.parametrize("text", NOT_FOLLOWED.values(), ids=NOT_FOLLOWED)
def test_nothing_false_is_said(predict_source: Callable[..., Graph], text: str):
    graph = predict_source(whole(text))
    assert graph.problems
    assert not graph.complete


@pytest.mark.needs_torch
def test_a_dict_that_grows_while_it_is_walked_ends_the_constructor(predict_source: Callable[..., Graph]):
    text = """
        self.a = nn.Linear(1, 1)
        for name, child in self.named_children():
            self.add_module("z" + name, nn.Linear(1, 1))
    """
    namespace: dict[str, Any] = {"__name__": "net"}
    exec(compile("from torch import nn" + whole(text), "net.py", "exec", dont_inherit=True), namespace)
    with pytest.raises(RuntimeError) as raised:
        namespace["Net"]()
    assert str(raised.value) in predict_source(whole(text)).problems[-1].message
