"""Parameters are typed keywords, and shells complete them: none of pydantic's names."""

from __future__ import annotations

import inspect
import json
import pickle
import subprocess
import sys
import typing

import pytest

import btflow
from btflow.config import catalog, keywords
from btflow.config.catalog import any_document, names
from btflow.errors import InputError, UnitError
from btflow.link.options import LinkOptions, scenario_from
from tools.keywords import FILE, class_name, source

MODELS = {"load": names(), "load_link": names("links")}


def test_the_module_is_what_the_model_files_make() -> None:
    assert FILE.read_text(encoding="utf-8") == source(), "run python -m tools.keywords"


@pytest.mark.parametrize("function", MODELS)
def test_each_model_has_its_keywords_where_it_is_loaded(function: str) -> None:
    overloads = typing.get_overloads(getattr(catalog, function))
    hints = [typing.get_type_hints(one, localns={"LinkScenario": object}) for one in overloads[:-1]]
    found = {typing.get_args(h["name_or_path"])[0]: typing.get_args(h["values"])[0] for h in hints}
    assert found == {name: getattr(keywords, class_name(name)) for name in MODELS[function]}
    offered = inspect.signature(getattr(btflow, function)).parameters
    assert set(offered) - {"name_or_path", "values"} == {p for name in found for p in any_document(name).parameters}


@pytest.mark.parametrize("name", [*names(), *names("links")])
def test_a_scenario_offers_its_own_parameters(name: str) -> None:
    scenario = any_document(name).build({})
    for method in (scenario.set, scenario.compare, scenario.explore):
        signature = inspect.signature(method)
        assert set(signature.parameters) - {"pairs", "seed", "values"} == set(scenario.names)
        assert "Raises" in str(inspect.getdoc(method))
    assert pickle.loads(pickle.dumps(scenario)).set() == scenario


@pytest.mark.parametrize("scenario", [btflow.load("rao2010"), btflow.load_link("geni")])
def test_dir_has_what_is_of_use_and_none_of_pydantics_names(scenario: btflow.Scenario) -> None:
    assert {"set", "compare", "explore", "parameters", "title", "summary", *type(scenario).model_fields} <= set(
        dir(scenario)
    )
    assert not [name for name in dir(scenario) if name.startswith(("_", "model_")) or name in ("dict", "json", "copy")]
    for name in dir(scenario):
        getattr(scenario, name)


def test_signatures_show_no_default_that_is_not_one() -> None:
    scenario = btflow.load("rao2010")
    for function in (btflow.load, btflow.load_link, scenario.set, scenario.compare, scenario.explore):
        assert "=None" not in str(inspect.signature(function)).replace(" ", "")
    assert "rtt=<as it is>" in str(inspect.signature(scenario.set))
    shown = inspect.signature(btflow.simulate_link).parameters
    assert set(LinkOptions.__annotations__) <= set(shown)
    assert shown["duration"].default == "60 s"
    given = {name: p.default for name, p in shown.items() if name in LinkOptions.__annotations__}
    assert scenario_from(**given | {"flows": "cubic"}) == scenario_from(flows="cubic")


def test_none_takes_a_limit_away_and_is_named_where_there_is_none_to_take() -> None:
    crowd = btflow.load("flashcrowd", uplink="2 Mbit/s")
    assert crowd.set(uplink=None) == crowd.set(uplink="none")
    with pytest.raises(UnitError, match=r"^rtt = 'none': .*allowed: a time from"):
        crowd.set(rtt=None)


def test_a_selection_offers_coordinates() -> None:
    result = btflow.simulate_link(flows=["cubic"], duration="1 s")
    result = result.assign_coords({"values": ("flow", [1]), "a.b": ("flow", [1])})
    offered = inspect.signature(result.btflow.sel).parameters
    assert {"flow", "queue", "time"} <= set(offered)
    assert "a.b" not in offered
    assert offered["values"].kind is inspect.Parameter.POSITIONAL_ONLY


@pytest.mark.parametrize("name", ["analysis", "analytic", "explore", "lines", "motion", "paths", "plots"])
def test_packages_offer_what_is_public_alone(name: str) -> None:
    package = getattr(btflow, name)
    assert dir(package) == sorted(package.__all__)
    for public in dir(package):
        getattr(package, public)


def test_what_describes_a_parameter_shows_no_function() -> None:
    text = repr(btflow.describe(btflow.load("rao2010"), "rtt"))
    assert "function" not in text
    assert "limits=(0, 60)" in text
    assert "`" not in btflow.describe(btflow.load("flashcrowd"), "classes.seed.upload_limit").meaning
    with pytest.raises(InputError, match=r"^model = 'rao2010': is not a scenario"):
        btflow.describe("rao2010", "rtt")  # type: ignore[arg-type]


COMPLETE = """
import json
from IPython.core.completer import provisionalcompleter
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.run_cell('import btflow; scenario = btflow.load("rao2010"); link = btflow.load_link("geni")')
found = {}
for code in ('scenario.', 'btflow.load("rao2010", r', 'scenario.set(', 'link.set(b', 'scenario.compare('):
    with provisionalcompleter():
        found[code] = [one.text for one in shell.Completer.completions(code, len(code))]
print(json.dumps(found))
"""


@pytest.mark.slow
def test_ipython_completes_parameters() -> None:
    done = subprocess.run([sys.executable, "-c", COMPLETE], capture_output=True, text=True, check=True)
    found = json.loads(done.stdout.splitlines()[-1])
    assert set(found["scenario."]) == set(dir(btflow.load("rao2010")))
    assert "rtt=" in found['btflow.load("rao2010", r']
    assert {f"{name}=" for name in btflow.load("rao2010").names} <= set(found["scenario.set("])
    assert "buffer=" in found["link.set(b"]
    assert {"pairs=", "rtt="} <= set(found["scenario.compare("])
