"""Runs clients/conformance against a real daemon."""

import json
import pathlib

import grpc
import pytest
from google.protobuf import json_format

import memsidecar
from memsidecar import _errors
from memsidecar.v1 import (
    admin_service_pb2,
    file_service_pb2,
    log_service_pb2,
    memory_service_pb2,
    operation_service_pb2,
    search_service_pb2,
    session_service_pb2,
)

CASES = json.loads((pathlib.Path(__file__).parents[2] / "conformance" / "cases.json").read_text(encoding="utf-8"))
SERVICES = {
    "MemoryService": ("memory", memory_service_pb2),
    "SearchService": ("searches", search_service_pb2),
    "SessionService": ("sessions", session_service_pb2),
    "LogService": ("logs", log_service_pb2),
    "OperationService": ("operations", operation_service_pb2),
    "FileService": ("files", file_service_pb2),
    "AdminService": ("admin", admin_service_pb2),
}


@pytest.mark.parametrize("case", CASES, ids=lambda c: c["name"])
def test_case(home, case):
    variables = {"space": "python"}
    with memsidecar.Client() as client:
        for step in case["steps"]:
            run(client, step, variables)


def run(client, step, variables):
    service, method = step["call"].split("/")
    attribute, module = SERVICES[service]
    request = getattr(module, f"{service}{method}Request")()
    json_format.Parse(substitute(json.dumps(step["request"]), variables), request)
    try:
        response = getattr(getattr(client, attribute), method)(request)
        if isinstance(response, grpc.Call) and hasattr(response, "__next__"):
            stream, response = response, next(response)
            stream.cancel()
    except grpc.RpcError as err:
        check_error(step, _errors.error_of(err), variables)
        return
    assert "error" not in step, f"{step['call']} did not fail"
    got = json_format.MessageToDict(response)
    compare(step.get("expect"), got, variables, step["call"])
    for name, path in step.get("save", {}).items():
        variables[name] = str(at(got, path))


def check_error(step, err, variables):
    want = step.get("error")
    assert want, f"{step['call']}: {err}"
    assert (err.code, err.reason) == (want["code"], want["reason"])
    for key, value in want.get("metadata", {}).items():
        assert err.metadata[key] == substitute(value, variables)
    assert set(want.get("fields", [])) <= {v.field for v in err.violations}


def compare(want, got, variables, path):
    if want is None:
        return
    if want == "$present":
        assert got is not None, path
    elif want == "$absent":
        assert got is None, path
    elif isinstance(want, dict):
        assert isinstance(got, dict), path
        for key, value in want.items():
            compare(value, got.get(key), variables, f"{path}.{key}")
    elif isinstance(want, list):
        assert isinstance(got, list) and len(got) == len(want), f"{path}: {got}"
        for i, value in enumerate(want):
            compare(value, got[i], variables, f"{path}[{i}]")
    elif isinstance(want, str):
        assert str(got) == substitute(want, variables), path
    else:
        assert got == want, path


def at(value, path):
    for key in path.split("."):
        value = value[int(key)] if isinstance(value, list) else value[key]
    return value


def substitute(text, variables):
    for name, value in variables.items():
        text = text.replace("${" + name + "}", value)
    return text
