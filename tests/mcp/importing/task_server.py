"""
A server that runs its tools as tasks, over its standard input and output, and misbehaves where a test asks for it.

It uses plain JSON lines, because the SDK cannot serve tasks. What a task does is chosen by the name of the tool.
"""

from __future__ import annotations

import json
import sys

HAS_CAPABILITY = "plain" not in sys.argv
NAMES = ("count", "ask", "hang", "forget", "give_up", "break", "refuse", "answer_at_once", "malform", "odd_status")
SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}}
polls: dict[str, int] = {}
cancelled: list[str] = []
waiting: dict[str, int] = {}


def send(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def succeed(number, **result):
    send({"id": number, "result": result})


def fail(number, code, message):
    send({"id": number, "error": {"code": code, "message": message}})


def build_content(text):
    return {"content": [{"type": "text", "text": text}], "_meta": {"io.modelcontextprotocol/related-task": {}}}


def describe(name, status="working", **further):
    times = {"createdAt": "2026-01-01T00:00:00Z", "lastUpdatedAt": "2026-01-01T00:00:00Z"}
    return {"taskId": name, "status": status, "ttl": None, "pollInterval": 1, **times, **further}


def call(number, params):
    name = params["name"]
    if name == "list_cancelled":
        succeed(number, **build_content(json.dumps(cancelled)))
    elif name == "answer_at_once" or "task" not in params:
        succeed(number, **build_content(f"task: {params.get('task')}"))
    elif name == "refuse":
        fail(number, -32602, "no such topic")
    elif name == "malform":
        succeed(number, task={"status": "working"})
    else:
        polls[name] = 0
        assert params["task"]["ttl"] > 0
        succeed(number, task=describe(name, statusMessage="started"))


def get(number, name):
    polls[name] += 1
    if name == "forget":
        fail(number, -32602, "Task not found")
    elif name == "give_up":
        succeed(number, **describe(name, "cancelled", statusMessage="too much\u202e work"))
    elif name == "odd_status":
        succeed(number, **describe(name, "resting"))
    elif name == "ask":
        succeed(number, **describe(name, "input_required"))
    elif name == "hang" or polls[name] < 3:
        succeed(number, **describe(name, statusMessage=f"step {polls[name] // 2}"))
    else:
        succeed(number, **describe(name, "failed" if name == "break" else "completed"))


def fetch(number, name):
    if name == "break":
        fail(number, -32603, "out of cheese")
    elif name == "ask":
        waiting["question"] = number
        schema = {"type": "object", "properties": {"color": {"type": "string"}}, "required": ["color"]}
        params = {"mode": "form", "message": "Which color?", "requestedSchema": schema}
        send({"id": "question", "method": "elicitation/create", "params": params})
    else:
        succeed(number, **build_content(f"{name}: {polls[name]} polls"))


def handle(message):
    method, number, params = message.get("method"), message.get("id"), message.get("params") or {}
    if method == "initialize":
        capabilities = {"tools": {}, **({"tasks": {"requests": {"tools": {"call": {}}}}} if HAS_CAPABILITY else {})}
        server = {"name": "tasks", "version": "1"}
        succeed(number, protocolVersion="2025-11-25", capabilities=capabilities, serverInfo=server)
    elif method == "tools/list":
        required = {"inputSchema": SCHEMA, "execution": {"taskSupport": "required"}}
        optional = {"inputSchema": SCHEMA, "execution": {"taskSupport": "optional"}}
        tools = [{"name": name, "description": "A tool.", **required} for name in NAMES]
        succeed(number, tools=[*tools, {"name": "list_cancelled", "description": "Lists.", **optional}])
    elif method == "tools/call":
        call(number, params)
    elif method == "tasks/get":
        get(number, params["taskId"])
    elif method == "tasks/result":
        fetch(number, params["taskId"])
    elif method == "tasks/cancel":
        cancelled.append(params["taskId"])
        succeed(number, **describe(params["taskId"], "cancelled"))
    elif number in waiting:
        succeed(waiting.pop(number), **build_content(json.dumps(message["result"])))
    elif number is not None and method is not None:
        fail(number, -32601, "Method not found")


if __name__ == "__main__":
    for line in sys.stdin:
        handle(json.loads(line))
