"""
A FastAPI application with an operation for each place, style and kind of value. Each answers with the value it read.

Where FastAPI reads a value itself, its own parameters do. For the other styles the operation reads the raw request, and
the document says what FastAPI cannot say.
"""

from __future__ import annotations

import base64
import contextlib
import itertools
import threading
from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import unquote

import uvicorn
from fastapi import Body, Cookie, FastAPI, Form, Header, Path, Query, Request, UploadFile
from pydantic import BaseModel
from starlette.convertors import PathConvertor, register_url_convertor

SCHEMAS = {
    "text": {"type": "string"},
    "number": {"type": "integer"},
    "list": {"type": "array", "items": {"type": "string"}},
    "object": {"type": "object", "additionalProperties": {"type": "string"}},
}
HINTS = {"text": str, "number": int, "list": list[str]}
MARKERS = {"path": Path, "query": Query, "header": Header, "cookie": Cookie}
STYLES = {
    "path": ["simple", "label", "matrix"],
    "query": ["form", "spaceDelimited", "pipeDelimited"],
    "header": ["simple"],
    "cookie": ["form"],
}
DELIMITERS = {"simple": ",", "label": ".", "matrix": ";", "spaceDelimited": "%20", "pipeDelimited": "%7C", "form": ","}


class AnythingConvertor(PathConvertor):
    """A part of a path with line breaks in it too."""

    regex = r"[\s\S]*"


register_url_convertor("anything", AnythingConvertor())


@dataclass(frozen=True)
class Parameter:
    """A parameter `value`: where it is, how it is written, and of which kind it is."""

    place: str
    style: str
    explode: bool
    kind: str

    def __str__(self):
        return f"{self.place}_{self.style}_{'exploded' if self.explode else 'joined'}_{self.kind}"

    @property
    def is_native(self):
        """Whether FastAPI reads it without help."""
        is_usual = self.explode == (self.style == "form") and self.style in ("form", "simple")
        kinds = {"query": ["text", "number", "list"], "cookie": ["number"]}  # FastAPI decodes no cookies
        return is_usual and self.kind in kinds.get(self.place, ["text", "number"])


PARAMETERS = [
    Parameter(place, style, explode, kind)
    for place, styles in STYLES.items()
    for style in styles
    for explode, kind in itertools.product([False, True], SCHEMAS)
    if not (style.endswith("Delimited") and explode)
    # Two cookies of one name are one cookie for most servers, and the names of an object would be cookies of any name.
    and not (place == "cookie" and explode and kind in ("list", "object"))
] + [Parameter("query", "deepObject", True, "object")]


def read_value(parameter, request):
    """Return the value of *parameter* from the raw request, by the standard."""
    text = _find_text(parameter, request)
    decode = str if parameter.place == "header" else unquote
    if not text and parameter.kind in ("list", "object"):
        return None
    if parameter.style == "deepObject":
        return _read_deep(text)
    if parameter.kind in ("text", "number"):
        text = decode(text if parameter.style in ("simple", "label") else text.partition("=")[2])
        return int(text) if parameter.kind == "number" else text
    separator = ","
    if parameter.explode and parameter.style in ("label", "matrix", "form"):
        separator = "&" if parameter.style == "form" else DELIMITERS[parameter.style]
    elif parameter.style in ("matrix", "form", "spaceDelimited", "pipeDelimited"):
        text = text.partition("=")[2]
        separator = "," if parameter.style == "matrix" else DELIMITERS[parameter.style]
    items = text.split(separator)
    if parameter.kind == "list":
        is_named = parameter.explode and parameter.style in ("matrix", "form")
        return [decode(item.partition("=")[2] if is_named else item) for item in items]
    pairs = [item.split("=", 1) for item in items] if parameter.explode else zip(items[::2], items[1::2], strict=True)
    return {decode(name): decode(value) for name, value in pairs}


def _find_text(parameter, request):
    if parameter.place == "path":
        step = request.scope["raw_path"].decode().rpartition("/")[2]
        return step if parameter.style == "simple" else step[1:]
    if parameter.place == "query":
        return request.scope["query_string"].decode()
    return request.headers.get("value" if parameter.place == "header" else "cookie", "")


def _read_deep(text):
    value = {}
    for pair in text.split("&"):
        name, _, item = pair.partition("=")
        *steps, last = map(unquote, name.removeprefix("value[").removesuffix("]").split("]["))
        target = value
        for step in steps:
            target = target.setdefault(step, {})
        target[last] = unquote(item)
    return value


class TreeBody(BaseModel):
    """A recursive body."""

    name: str
    children: list[TreeBody] = []


def build_app():
    """Return the application."""
    app = FastAPI(title="Styles")
    for parameter in PARAMETERS:
        _add_parameter(app, parameter)

    @app.get("/session", operation_id="session")
    def read_session(value: Annotated[str, Cookie()]) -> Any:
        return {"value": value}

    @app.post("/tree", operation_id="tree")
    def read_tree(tree: TreeBody) -> TreeBody:
        return tree

    @app.post("/json", operation_id="json")
    def read_json(value: Annotated[Any, Body(embed=True)]) -> Any:
        return {"value": value}

    @app.post("/form", operation_id="form")
    def read_form(name: Annotated[str, Form()], tags: Annotated[list[str], Form()]) -> Any:
        return {"name": name, "tags": tags}

    @app.post("/files", operation_id="files")
    async def read_files(name: Annotated[str, Form()], file: UploadFile, more: list[UploadFile]) -> Any:
        contents = [base64.b64encode(await part.read()).decode() for part in (file, *more)]
        return {"name": name, "file": contents[0], "more": contents[1:]}

    for name, media_type in (("text", "text/plain"), ("bytes", "application/octet-stream")):
        _add_raw_body(app, name, media_type)
    return app


def _add_parameter(app, parameter):
    path = f"/{str(parameter).replace('_', '/')}" + ("/{value:anything}" if parameter.place == "path" else "")
    if parameter.is_native:

        def read(value):
            return {"value": value}

        read.__annotations__ = {"value": Annotated[HINTS[parameter.kind], MARKERS[parameter.place]()]}
        app.get(path, operation_id=str(parameter))(read)
        return
    schema = {"type": "object"} if parameter.style == "deepObject" else SCHEMAS[parameter.kind]
    description = {"name": "value", "in": parameter.place, "required": True, "schema": schema}
    extra = {"parameters": [{**description, "style": parameter.style, "explode": parameter.explode}]}

    async def read_raw(request):
        return {"value": read_value(parameter, request)}

    read_raw.__annotations__ = {"request": Request}
    app.get(path, operation_id=str(parameter), openapi_extra=extra)(read_raw)


def _add_raw_body(app, name, media_type):
    extra = {"requestBody": {"required": True, "content": {media_type: {"schema": {"type": "string"}}}}}

    async def read_body(request):
        body = await request.body()
        return {"body": body.decode() if name == "text" else base64.b64encode(body).decode()}

    read_body.__annotations__ = {"request": Request}
    app.post(f"/{name}", operation_id=name, openapi_extra=extra)(read_body)


@contextlib.contextmanager
def serving(app):
    """Serve *app* on loopback until the end of the block, and yield its address."""
    started = threading.Event()

    class Server(uvicorn.Server):
        async def startup(self, sockets=None):
            await super().startup(sockets)
            started.set()

    server = Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="critical"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    assert started.wait(60)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    thread.join(60)
