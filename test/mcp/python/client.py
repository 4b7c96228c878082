"""Runs the cases of ../cases.json through the official Python client: python client.py PROGRAM CASES"""

import asyncio
import json
import os
import sys
from contextlib import AsyncExitStack

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

kept = {}


def filled(value):
    """Puts what was kept into the place of "$name"."""
    if isinstance(value, str):
        return kept.get(value, value)
    if isinstance(value, list):
        return [filled(v) for v in value]
    if isinstance(value, dict):
        return {k: filled(v) for k, v in value.items()}
    return value


def difference(want, got, at="result"):
    """Says where got lacks something of want, which may have fewer members; an empty list must be empty."""
    if isinstance(want, list):
        if not isinstance(got, list) or (len(got) > 0 if not want else len(got) < len(want)):
            return f"{at} is {got!r}"
        return next(filter(None, (difference(w, got[i], f"{at}[{i}]") for i, w in enumerate(want))), None)
    if isinstance(want, dict):
        return next(filter(None, (difference(w, (got or {}).get(k), f"{at}.{k}") for k, w in want.items())), None)
    return None if want == got else f"{at} is {got!r}, not {want!r}"


def member(result, python_name, wire_name):
    """Reads a member of a result, whose name follows Python or the protocol by the version of the client."""
    return getattr(result, python_name, None) if hasattr(result, python_name) else getattr(result, wire_name, None)


def missing(text, got):
    return None if text in got else f"no {text} in {got}"


async def run(session, case):
    args = filled(case.get("arguments", {}))
    if "resource" in case:
        return missing(case["text"], (await session.read_resource(case["resource"])).contents[0].text)
    if "prompt" in case:
        return missing(case["text"], (await session.get_prompt(case["prompt"], args)).messages[0].content.text)
    result = await session.call_tool(case["tool"], args)
    text = "".join(part.text for part in result.content)
    is_error = member(result, "is_error", "isError")
    if "error" in case:
        return None if is_error and case["error"] in text else f"no error with {case['error']}: {text}"
    if is_error:
        return text
    structured = member(result, "structured_content", "structuredContent")
    for name, key in case.get("keep", {}).items():
        kept[key] = structured[name]
    return missing(case.get("text", ""), text) or difference(filled(case["want"]), structured)


async def main(program, cases):
    failed = 0
    async with AsyncExitStack() as stack:
        sessions = {}
        for case in cases:
            name = case.get("set", "")
            if name not in sessions:
                args = ["mcp"] + (["--compat", name] if name else [])
                streams = await stack.enter_async_context(stdio_client(StdioServerParameters(command=program, args=args, env=dict(os.environ))))
                sessions[name] = await stack.enter_async_context(ClientSession(*streams))
                await sessions[name].initialize()
                tools = (await sessions[name].list_tools()).tools
                if not all(t.annotations and member(t, "output_schema", "outputSchema") for t in tools):
                    raise SystemExit("a tool lacks annotations or an output schema")
            try:
                problem = await run(sessions[name], case)
            except Exception as e:  # one case must not hide the others
                problem = repr(e)
            if problem:
                failed += 1
                print(f"FAILED: {case['name']}: {problem}", file=sys.stderr)
    print(f"Python: {len(cases) - failed} of {len(cases)} cases passed")
    return 1 if failed else 0


if __name__ == "__main__":
    with open(sys.argv[2], encoding="utf-8") as f:
        sys.exit(asyncio.run(main(sys.argv[1], json.load(f))))
