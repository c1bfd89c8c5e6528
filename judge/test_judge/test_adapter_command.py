"""``fedspec adapter`` writes a file for each level and language that needs one more line to conform."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from test_judge.support import fedspec, inside

from fedspec.catalogue import CATALOGUE
from fedspec.contract import Claim, Offer
from fedspec_suite.cli.adapter import Language, text_of
from fedspec_suite.cli.usual_fields import PAGES, USUAL
from fedspec_suite.judge.smoke import plain_scenario
from fedspec_suite.measure.setting import setting_of, with_reading

PY = 'raise NotImplementedError("call your code here, and put the new model into self.x")'
JS = 'throw new Error("call your code here, and put the new model into session.x");'
CPP = 'throw std::runtime_error("call your code here, and put the new model into x");'

MEAN = """\
weights = [m.weight / sum(m.weight for m in event.messages) for m in event.messages]
        for name, x in self.x.items():
            self.x[name] = x + self.hyper["eta"] * sum(
                w * m.delta[name] for w, m in zip(weights, event.messages)
            )"""
JS_MEAN = """\
const total = event.messages.reduce((n, m) => n + m.weight, 0);
  const add = (a, w, b) => (Array.isArray(a) ? a.map((v, k) => add(v, w, b[k])) : a + w * b);
  const mean = {};
  for (const n in session.x) {
    const zero = add(session.x[n], -1, session.x[n]);
    mean[n] = event.messages.reduce((s, m) => add(s, m.weight / total, m.delta[n]), zero);
    session.x[n] = add(session.x[n], session.hyper.eta, mean[n]);
  }"""
CPP_MEAN = """\
double total = 0;
    for (auto& m : event.at("messages")) total += m.at("weight").get<double>();
    for (auto& [name, value] : x.items()) {
      Json flat = value.flatten(), mean = flat;
      for (auto& [at, number] : mean.items()) number = 0.0;
      for (auto& m : event.at("messages")) {
        Json delta = m.at("delta").at(name).flatten();
        for (auto& [at, number] : mean.items())
          number = number.get<double>() + m.at("weight").get<double>() / total * delta.at(at).get<double>();
      }
      for (auto& [at, number] : flat.items())
        number = number.get<double>() + hyper.at("eta").get<double>() * mean.at(at).get<double>();
      value = flat.unflatten();
    }"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lang", "gap", "line", "needs"), [("py", PY, MEAN, ""), ("js", JS, JS_MEAN, "node"), ("cpp", CPP, CPP_MEAN, "g++")]
)
def test_the_line_filled_in_it_conforms(tmp_path: Path, lang: str, gap: str, line: str, needs: str) -> None:
    if needs and not shutil.which(needs):
        pytest.skip(f"no {needs} here")
    if lang == "cpp" and not Path("/usr/include/nlohmann/json.hpp").is_file():
        pytest.skip("no nlohmann/json.hpp here")
    ran = fedspec("adapter", "fedavg", "--level", "server", "--lang", lang, cwd=tmp_path)
    assert ran.code == 0
    (file,) = tmp_path.iterdir()
    text = file.read_text(encoding="utf-8")
    assert text.count(gap) == 1
    file.write_text(text.replace(gap, line).replace('"uniform"', '"examples"'), encoding="utf-8")
    said = {"py": file.name, "js": f"cmd:node {file.name}", "cpp": "cmd:./adapter"}[lang]
    if lang == "cpp":
        subprocess.run(["g++", "-std=c++17", "-o", "adapter", file.name], cwd=tmp_path, check=True)
    ran = fedspec("check", said, "--profile", "quick", cwd=tmp_path)
    assert ran.code == 0, ran.out


def test_an_adapter_not_filled_in_says_where(tmp_path: Path) -> None:
    assert fedspec("adapter", "fedadam", "--level", "server", cwd=tmp_path).code == 0
    ran = fedspec("check", "fedadam_server.py", "--law", "follows-x", cwd=tmp_path)
    assert ran.code != 0 and "call your code here" in ran.out and "(fedadam_server.py, line" in ran.out


@pytest.mark.parametrize("name", CATALOGUE)
def test_every_row_and_level_has_one(name: str) -> None:
    for level in CATALOGUE[name].levels:
        offer = with_reading(Offer(name, level))
        text = text_of(offer, Language.PY, Path("adapter.py"))
        compile(text, "adapter.py", "exec")
        # Each hyper-parameter of the level is named once, and no mark is left.
        shown = [line.split()[0] for line in text.splitlines() if line.startswith(" " * 12) and line.split()]
        assert set(setting_of(offer).numbers) <= set(shown) and "<" not in text.replace("<=", "")


def adapter_of(folder: Path, *arguments: str) -> Any:
    """The adapter in a file that the command writes."""
    ran = inside("adapter", *arguments, "--folder", str(folder))
    assert ran.code == 0, ran.err
    (file,) = folder.iterdir()
    held: dict[str, Any] = {}
    exec(compile(file.read_text(encoding="utf-8"), file.name, "exec"), held)
    return held["Adapter"]()


COSINE = "cosine/round period=100 floor=0.1"


@pytest.mark.parametrize(
    ("algorithm", "level", "word", "value"),
    [
        ("fedavgm", "server", "resumes", True),
        ("fedavg", "server", "faults", {"nan": "skips"}),
        ("fedavgm", "server", "schedules", {"eta": COSINE}),
        ("feddyn", "server", "schedules", {"mu": COSINE}),
        ("adam", "client", "schedules", {"eta_l": COSINE.replace("round", "step")}),
        ("scaffold", "round", "gradients", ("clip-norm 1",)),
        ("fedadam", "server", "messages", ("clip-norm 1",)),
        ("fedavg", "round", "parts", {"head": "local"}),
        ("scaffold", "round", "parts", {"head": "frozen"}),
        ("adam", "client", "steps", ("decoupled-decay 0.01",)),
    ],
)
def test_a_field_that_is_asked_for_is_claimed(
    tmp_path: Path, algorithm: str, level: str, word: str, value: object
) -> None:
    adapter = adapter_of(tmp_path, algorithm, "--level", level, "--with", word)
    (claim,) = adapter.info.claims
    setting = setting_of(with_reading(claim))
    others = {name: getattr(claim, name) for name in USUAL if name != word}
    assert getattr(claim, word) == value == getattr(setting, word)
    assert others == {name: getattr(Claim(algorithm, claim.level), name) for name in others}
    assert (Path(__file__).parents[2] / PAGES[word]).is_file()
    session = adapter.start(plain_scenario(setting).case)
    assert hasattr(session, "save") is hasattr(session, "restore") is (word == "resumes")
    if word == "resumes":
        for call in (session.save, lambda: session.restore(b"")):
            with pytest.raises(NotImplementedError):
                call()


def test_fields_combine_in_the_order_of_a_claim(tmp_path: Path) -> None:
    (claim,) = adapter_of(tmp_path, "fedavg", "--level", "round", "--with", "steps, parts,resumes").info.claims
    assert claim.resumes and claim.parts and claim.steps and claim.options and not claim.messages
    (file,) = tmp_path.iterdir()
    text = file.read_text(encoding="utf-8")
    assert text.index("resumes=True") < text.index("parts={") < text.index("steps=(")


@pytest.mark.parametrize(
    ("algorithm", "level", "said", "why"),
    [
        ("fedavg", "server", "gradients", "level server, which sees no gradient"),
        ("fedavg", "round", "faults", "only a server is sent"),
        ("fedbuff", "trace", "schedules", "rates that can have a schedule there: none"),
        ("fedbuff", "trace", "parts", "whose models have no parts"),
        ("scaffold", "round", "messages", "no change of a client reaches a server"),
        ("scaffold", "round", "steps", "whose clients have a loop of their own"),
        ("fedavg", "server", "faults,parts", "make two claims"),
        ("fedavg", "server", "nonsense", "known: resumes, faults"),
    ],
)
def test_a_field_that_a_level_does_not_take_is_refused(
    tmp_path: Path, algorithm: str, level: str, said: str, why: str
) -> None:
    inside("adapter", algorithm, "--level", level, "--with", said, "--folder", str(tmp_path)).refused(why)
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("lang", ["js", "cpp"])
def test_fields_are_written_in_python_alone(tmp_path: Path, lang: str) -> None:
    said = ("adapter", "fedavg", "--lang", lang, "--with", "resumes", "--folder", str(tmp_path))
    inside(*said).refused("Python alone", lang)
    assert not [*tmp_path.iterdir()]


def test_what_is_there_is_kept_and_what_is_unknown_refused(tmp_path: Path) -> None:
    (tmp_path / "fedavg_server.py").write_text("mine", encoding="utf-8")
    fedspec("adapter", "fedavg", "--level", "server", cwd=tmp_path).refused("is there already")
    assert (tmp_path / "fedavg_server.py").read_text(encoding="utf-8") == "mine"
    inside("adapter", "fedavg", "--level", "client").refused("'client'", "fedavg has server, round")
    inside("adapter", "fedavg", "--level", "planet").refused("'planet'", "client, server, round, trace")
    inside("adapter", "fedbest").refused("'fedbest'", "nearest")


@pytest.mark.parametrize("words", [("adapter", "fedadam"), ("new", "mine")])
def test_a_missing_folder_is_created_and_a_file_in_its_place_is_named(words: tuple[str, str], tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    assert inside(*words, "--folder", str(folder)).code == 0
    (file,) = folder.iterdir()
    inside(*words, "--folder", str(folder)).refused(f"{file} is there already")
    inside(*words, "--folder", str(file)).refused("cannot write", "(Not a directory); choose another --folder")
