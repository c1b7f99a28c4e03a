"""Saving and loading give the same graph, and the same text."""

from __future__ import annotations

import json

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from modgraph.errors import GraphError
from modgraph.graph import serial


@pytest.fixture(scope="session")
def validator():
    return jsonschema.Draft202012Validator(serial.schema())


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(data=st.data())
def test_a_loaded_graph_equals_the_saved_one(graphs, validator, data):
    graph = data.draw(graphs)
    text = serial.to_json(graph)
    assert serial.from_json(text) == graph
    assert serial.to_json(serial.from_json(text)) == text
    validator.validate(json.loads(text))


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(data=st.data())
def test_a_damaged_text_is_an_error_of_ours(graphs, data):
    """Cut anywhere, or with one character replaced: a graph, or a GraphError, never another exception."""
    text = serial.to_json(data.draw(graphs))
    position = data.draw(st.integers(0, len(text) - 1))
    damage = data.draw(st.sampled_from(["", "{", "]", "9", "null", '"', "NaN", ","]))
    assert is_graph_or_error(text[:position] + damage)
    assert is_graph_or_error(text[:position] + damage + text[position + 1 :])


def is_graph_or_error(text: str) -> bool:
    try:
        return bool(serial.from_json(text).modules)
    except GraphError as error:
        return bool(error.message)
