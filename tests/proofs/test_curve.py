"""The Coq proof of the switching curve: the page names it, its definitions are the code's.

The slow tests need Coq: they build the proofs as ``make coq`` does, and see falsified ones refused.
"""

import itertools
import os
import random
import re
import runpy
import shutil
import subprocess
from collections import Counter
from fractions import Fraction

import pytest

from analysis.robots import RobotControl
from analysis.robots.curve import lossless_until, saturated_from
from analysis.robots.curve.values import optimal_curve
from scorecard.files import BOOK, ROOT

PROOFS = ROOT / "proofs"
PAGE = "".join(
    (BOOK / "robots" / f"{name}.md").read_text(encoding="utf-8")
    for name in ("robots-curve", "robots-curve-proof")
)
STATEMENT = (PROOFS / "curve" / "Statement.v").read_text(encoding="utf-8")
EXAMPLE = runpy.run_path(str(PROOFS / "example.py"))
#: Lemma, its names in Coq, and their files, as the page's table lists them.
TABLE = re.findall(r"^\| \{prf:ref\}`([\w-]+)` \| (.*?) \| (.*?) \|$", PAGE, re.MULTILINE)
needs_coq = pytest.mark.skipif(shutil.which("coqchk") is None, reason="needs Coq")

# What follows is Statement.v in Python; a change there must be made here too.
SOLVES = """\
Definition solves (theta : R) (V : Z -> Z -> R) : Prop := forall q r, state q r ->
  theta + (mu * ind (0 <? q)%Z + lambda * IZR r) * V q r
  = gamma * ind (q =? 0)%Z + lambda * IZR r * ind (q =? K)%Z
    + mu * ind (0 <? q)%Z * Ubox V (q - 1) r
    + lambda * IZR r * Ubox V (Z.min (q + 1) K) (r - 1).
"""
UBOX = """\
Definition Ubox (V : Z -> Z -> R) (q r : Z) : R :=
  if (r =? N)%Z then V q r
  else if ((q =? 0) && (r =? 0))%Z%bool then V 0%Z 1%Z
  else Rmin (V q r) (V q (r + 1)%Z).
"""
MEAN_COST = """\
      (gamma * ind (q =? 0)%Z + lambda * IZR r * ind (q =? K)%Z
       + mu * ind (0 <? q)%Z * Pbox (c now) (mean_cost c m now) (q - 1) r
       + lambda * IZR r * Pbox (c now) (mean_cost c m now) (Z.min (q + 1) K) (r - 1)
       + (rate - mu * ind (0 <? q)%Z - lambda * IZR r) * mean_cost c m now q r) / rate
"""


class System:
    """A system with the definitions of Statement.v, in rational numbers."""

    def __init__(self, N, K, lam, mu, gamma):
        self.N, self.K, self.lam, self.mu, self.gamma = N, K, lam, mu, gamma
        self.states = [(q, r) for q in range(K + 1) for r in range(N + 1) if q + r]
        self.boxes = [(q, r) for q, r in self.states if r < N]

    def optimum(self):
        """Return theta, V and the curve, by the book's solver in rational numbers."""
        rates = [r * self.lam / self.mu for r in range(self.N + 1)]
        weight = self.gamma / self.mu
        values = optimal_curve(rates, self.K, weight).at(weight)
        V = {state: Fraction(str(values.v(*state))) for state in self.states}
        return self.mu * Fraction(str(values.gain)), V, values.curve

    def box(self, start, V, q, r):
        if r == self.N:
            return V[q, r]
        return V[0, 1] if q == r == 0 else start(q, r)

    def tick(self, total, here, follow, q, r):
        lost = self.lam * r * (q == self.K)
        events = self.gamma * (q == 0) + lost
        events += self.mu * follow(q - 1, r) if q > 0 else 0
        events += self.lam * r * follow(min(q + 1, self.K), r - 1) if r > 0 else 0
        return events + (total - self.mu * (q > 0) - self.lam * r) * here

    def solves(self, theta, V):
        def better(q, r):
            return self.box(lambda q, r: min(V[q, r], V[q, r + 1]), V, q, r)

        return all(
            theta + (self.mu * (q > 0) + self.lam * r) * V[q, r] == self.tick(
                self.mu * (q > 0) + self.lam * r, 0, better, q, r
            )
            for q, r in self.states
        )  # fmt: skip

    def mean_costs(self, start, ticks):
        """Return the mean costs over a number of ticks, with the probability of a start."""
        rate = self.mu + self.lam * self.N
        J = dict.fromkeys(self.states, Fraction(0))
        for _ in range(ticks):

            def mean(q, r, J=J):
                p = start.get((q, r), 0)
                return self.box(lambda q, r: p * J[q, r + 1] + (1 - p) * J[q, r], J, q, r)

            J = {x: self.tick(rate, J[x], mean, *x) / rate for x in self.states}
        return J


def systems(number, seed):
    rng = random.Random(seed)
    for _ in range(number):
        rates = [Fraction(rng.randint(1, 30), rng.randint(1, 20)) for _ in range(3)]
        yield System(rng.randint(1, 5), rng.randint(1, 5), *rates)


def test_statement_is_the_one_tried_here():
    for definition in (SOLVES, UBOX, MEAN_COST):
        assert definition in STATEMENT


def test_exact_optima_satisfy_the_statement():
    for system in systems(10, 1):
        theta, V, curve = system.optimum()
        assert system.solves(theta, V)
        assert 0 < theta < system.gamma
        gain = RobotControl(
            system.N, float(system.lam), float(system.mu), system.K, float(system.gamma)
        ).solve().gain  # fmt: skip
        assert gain == pytest.approx(float(theta), rel=1e-9)
        for q, r in system.boxes:
            assert (V[q, r + 1] - V[q, r] < 0) <= (q <= curve[r])
        assert all(0 <= a - b <= 1 for a, b in itertools.pairwise(curve))


def test_falsified_solutions_are_refused():
    for system in systems(10, 2):
        theta, V, _ = system.optimum()
        assert not system.solves(theta + Fraction(1, 1000), V)
        for state in system.states:
            assert not system.solves(theta, V | {state: V[state] + Fraction(1, 7)})
        wrong = System(system.N, system.K, system.lam, system.mu, system.gamma + Fraction(1, 9))
        assert not wrong.solves(theta, V)


def test_no_strategy_beats_curve():
    rng = random.Random(3)
    for system in systems(5, 3):
        theta, V, curve = system.optimum()
        per_tick = theta / (system.mu + system.lam * system.N)
        bound = 2 * max(map(abs, V.values()))
        follow = {(q, r): int(q <= curve[r]) for q, r in system.boxes}
        lots = {box: Fraction(rng.randint(0, 4), 4) for box in system.boxes}
        for start in (follow, lots):
            costs = system.mean_costs(start, 12)
            assert all(cost >= 12 * per_tick - bound for cost in costs.values())
        assert max(system.mean_costs(follow, 12).values()) <= 12 * per_tick + bound


def first_box(N, K, lam, mu, gamma):
    """The condition of `first_box` in First.v, with the recursion of Level.v."""
    rate, weight, total = lam / mu, Fraction(1), Fraction(1)
    for k in range(K):
        weight *= rate * min(N, K - k)
        total += weight
    t = gamma / mu / total
    A, p, delta = -t, Fraction(1), rate / (1 + rate)
    for n in range(1, min(K, N - 1) + 1):
        A = -t + rate * n * A
        p = (A + rate * n * p) / (1 + rate * n)
        if n == K:
            return (K * delta + p) / (K + 1) >= 0
        delta = rate * (n * delta + p) / (1 + rate * (n + 1))
    return delta >= 0


def large_weights(N, K, lam, mu, gamma):
    """The condition of `large_weights` in Large.v."""
    load = lam * N / mu
    total = sum(load**k for k in range(K + 1))
    return (mu * (K > 1) + 2 * lam * (N - 1)) * total - lam * (N - 1) * load**K <= gamma


def test_corollary_weights_are_exact():
    rng = random.Random(4)
    held = Counter()
    for _ in range(12):
        N, K = rng.randint(2, 5), rng.randint(1, 5)
        lam, mu = (Fraction(rng.randint(1, 20), rng.randint(1, 20)) for _ in range(2))
        ends = (f(N, lam, K, mu).gamma for f in (lossless_until, saturated_from))
        for weight in map(Fraction, map(str, ends)):
            for gamma in (weight * Fraction(999, 1000), weight, weight * Fraction(1001, 1000)):
                system = System(N, K, lam, mu, gamma)
                _, V, _ = system.optimum()
                d = {(q, r): V[q, r + 1] - V[q, r] for q, r in system.boxes}
                low = all(d[q, r] >= 0 for q, r in d if q + r >= K)
                high = all(d[q, r] <= 0 for q, r in d if (q, r) != (K, N - 1))
                assert first_box(N, K, lam, mu, system.gamma) == low
                assert large_weights(N, K, lam, mu, system.gamma) == high
                held.update([("low", low), ("high", high)])
    assert min(held[key, side] for key in ("low", "high") for side in (True, False)) > 5


def test_page_names_right_files():
    assert len(TABLE) == PAGE.count(":label: curve-")
    built = (PROOFS / "_CoqProject").read_text(encoding="utf-8").split()
    for label, names, files in TABLE:
        assert f":label: {label}\n" in PAGE
        paths = [f"curve/{name}" for name in re.findall(r"`(\w+\.v)`", files)]
        assert set(paths) <= set(built)
        text = "".join((PROOFS / path).read_text(encoding="utf-8") for path in paths)
        for name in re.findall(r"`(\w+)`", names):
            assert re.search(rf"^(Lemma|Theorem) {name}\b", text, re.MULTILINE), name
        assert f"[{label}]" in text, f"no file of {paths} says that it proves {label}"


def test_named_theorems_exist():
    named = 0
    for page in BOOK.rglob("*.md"):
        text = page.read_text(encoding="utf-8")
        for name, path in re.findall(r"`(\w+)` in `proofs/(\w+/\w+\.v)`", text):
            proof = (PROOFS / path).read_text(encoding="utf-8")
            assert re.search(rf"^Theorem {name}\b", proof, re.MULTILINE), (page, name)
            label = re.search(r"\[([\w-]+)\]", proof)[1]
            assert f":label: {label}\n" in text, (page, label)
            named += 1
    assert named > 0


def test_every_coq_file_is_built():
    built = (PROOFS / "_CoqProject").read_text(encoding="utf-8").split()
    found = {path.relative_to(PROOFS).as_posix() for path in PROOFS.glob("*/*.v")}
    assert found == {name for name in built if name.endswith(".v")}


def test_checked_rows_have_theorems():
    checked = {label for label, *_ in TABLE}
    marked = 0
    for path in (ROOT / "book").glob("[a-z]*/*.py"):
        text = path.read_text(encoding="utf-8")
        labels = re.findall(r'basis=MACHINE_CHECKED,\s*proof="([\w-]+)"', text)
        assert len(labels) == text.count("=MACHINE_CHECKED") + text.count("machine-checked"), path
        assert set(labels) <= checked, path
        marked += len(labels)
    assert marked > 0


def test_example_is_what_the_solver_finds():
    text = EXAMPLE["EXAMPLE"].read_text(encoding="utf-8")
    assert text == EXAMPLE["example"](3, 2, Fraction(1), Fraction(1), Fraction(2))


@pytest.mark.process
@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
def test_make_refuses_gaps(tmp_path):
    proofs = shutil.copytree(PROOFS, tmp_path / "proofs", ignore=BUILT)
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("sh", "grep", "echo"):
        (tools / name).symlink_to(shutil.which(name))
    bare = _make(proofs, PATH=str(tools))
    assert bare.returncode != 0
    assert "apt-get install coq" in bare.stderr
    for name in ("coqc", "coqchk", "coq_makefile"):
        (tools / name).write_text("#!/bin/sh\nexit 0\n")
        (tools / name).chmod(0o755)
    rows = proofs / "curve" / "Rows.v"
    rows.write_text(rows.read_text(encoding="utf-8").replace("Qed.", "Admitted.", 1))
    gap = _make(proofs, PATH=str(tools))
    assert gap.returncode != 0
    assert "have gaps" in gap.stderr
    assert "Rows.v" in gap.stdout


BUILT = shutil.ignore_patterns("*.vo*", "*.glob", ".*", "CoqMakefile*")


def _make(folder, *words, **environment):
    around = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    return subprocess.run(
        [shutil.which("make"), *words], cwd=folder, capture_output=True, text=True,
        env=around | environment,
    )  # fmt: skip


def _coqc(folder, name):
    command = ["coqc", "-Q", "curve", "Curve", name]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Build a copy of the proofs as ``make coq`` does; return its folder and what it prints."""
    folder = tmp_path_factory.mktemp("coq") / "proofs"
    shutil.copytree(PROOFS, folder, ignore=BUILT)
    made = _make(folder)
    assert made.returncode == 0, made.stderr
    return folder, made.stdout


@pytest.mark.slow
@needs_coq
def test_printed_assumptions_are_complete(built):
    _, output = built
    printed = re.search(r"```coq\n(ClassicalDedekindReals.*?)```", PAGE, re.DOTALL)[1]
    names = re.findall(r"^([\w.]+)\b *(?::|$)", printed, re.MULTILINE)
    assert len(names) == 4
    for section in output.split("Axioms:")[1:]:
        mine = re.findall(r"^([\w.]+)\b *(?::|$)", section, re.MULTILINE)
        assert {name.split(".")[-1] for name in mine} <= {name.split(".")[-1] for name in names}
    assert output.count("Axioms:") == 2
    assert "theorem N K lambda mu gamma" in output


@pytest.mark.slow
@needs_coq
@pytest.mark.parametrize("seed", [1, 2])
def test_coq_refuses_falsified_optima(built, seed):
    folder, _ = built
    rng = random.Random(seed)
    rates = [Fraction(rng.randint(1, 9), rng.randint(1, 9)) for _ in range(3)]
    text = EXAMPLE["example"](2, 2, *rates)
    (folder / "Right.v").write_text(text)
    assert _coqc(folder, "Right.v").returncode == 0
    wrong = re.sub(r"1, 1 => (.*)%R", r"1, 1 => (\1 + 1/1000)%R", text)
    assert wrong != text
    (folder / "Wrong.v").write_text(wrong)
    assert _coqc(folder, "Wrong.v").returncode != 0


#: File, what is replaced in it and by what, and the file whose proof is refused.
FALSIFIED = {
    "falls of 0": ("Gentle", "(f r - 1 <= f r1)%Z.", "(f r <= f r1)%Z.", "Gentle"),
    "robots that share a line": (
        "Columns", "lam r2 - lam r1 = lam r1 - lam r\n", "lam r2 - lam r1 <= lam r1 - lam r\n",
        "Columns",
    ),
    "lost pages that cost nothing": (
        "Statement", "+ lambda * IZR r * ind (q =? K)%Z\n    + mu", "+ mu", "Robots",
    ),
    "the last robot at a full queue": (
        "Last", "-> V K r < V K N.", "-> V K N < V K r.", "Last",
    ),
}  # fmt: skip


@pytest.mark.slow
@needs_coq
@pytest.mark.parametrize("case", FALSIFIED)
def test_falsified_lemmas_do_not_build(built, tmp_path, case):
    name, right, wrong, refused = FALSIFIED[case]
    folder = shutil.copytree(built[0], tmp_path / "proofs")
    path = folder / "curve" / f"{name}.v"
    text = path.read_text(encoding="utf-8")
    assert right in text
    path.write_text(text.replace(right, wrong, 1))
    made = _make(folder, "build")
    assert made.returncode != 0
    assert f'File "./curve/{refused}.v"' in made.stderr
