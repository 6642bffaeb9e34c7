"""Code that starts programs, reaches other machines or destroys data through a module asks."""

from __future__ import annotations

import shlex

import pytest

from toolkit.safety.commands.check import check_command


@pytest.mark.parametrize(
    "code",
    [
        "import invoke; invoke.run('rm -rf /')",
        "import sh; sh.rm('-rf', '/')",
        "from plumbum import local; local['rm']('-rf', '/')",
        "import json, docker; docker.from_env().containers.run('x')",
        "import boto3; boto3.client('s3').delete_bucket(Bucket='x')",
        "import git; git.Repo('.').git.reset('--hard')",
        "import aiohttp",
        "import pycurl",
        "import xmlrpc.client",
        "import asyncio; asyncio.open_connection('h', 80)",
        "from http.server import HTTPServer",
        "import redis; redis.Redis().flushall()",
        "import pymongo; pymongo.MongoClient().drop_database('x')",
        "import psutil; [p.terminate() for p in psutil.process_iter()]",
        "import yaml; yaml.unsafe_load('x')",
        "import pandas; pandas.read_csv('https://example.com/x')",
        "import keyring; keyring.get_password('a', 'b')",
    ],
)
@pytest.mark.parametrize("way", ["python3 -c {}", "echo {} | python3", "uv run python -c {}"])
def test_harm_through_a_module_asks(way, code):
    assert check_command(way.format(shlex.quote(code))) is not None


@pytest.mark.parametrize(
    "code",
    [
        "import json, sys; print(json.load(sys.stdin)['a'])",
        "import pandas; print(pandas.read_csv('a.csv').describe())",
        "import yaml; print(yaml.safe_load(open('a.yaml')))",
        "import github_labels; print(github_labels.ALL)",
        "import numpy as np; print(np.arange(3).sum())",
        "print('import the docker image from x')",
    ],
)
def test_code_that_reads_and_computes_runs(code):
    assert check_command(f"python3 -c {shlex.quote(code)}") is None


@pytest.mark.parametrize(
    "line",
    [
        'node -e \'require("shelljs").rm("-rf", "/")\'',
        'node -e \'require("axios").get("x")\'',
        "node -e 'require(\"@aws-sdk/client-s3\")'",
        "node -e 'new WebSocket(\"ws://x\")'",
        'ruby -e \'require "open-uri"; URI.open("x")\'',
        "ruby -e 'puts Net::HTTP.get(URI(\"x\"))'",
        "ruby -e 'YAML.load(x)'",
        "perl -e 'use LWP::Simple; get(\"x\")'",
        'perl -e \'use File::Path "remove_tree"; remove_tree("x")\'',
    ],
)
def test_harm_through_a_module_of_another_language_asks(line):
    assert check_command(line).word == "ask"


@pytest.mark.parametrize(
    "line",
    [
        "node -p 'require(\"./package.json\").version'",
        'node -e \'console.log(require("path").join("a", "b"))\'',
        'ruby -e \'require "json"; puts JSON.parse(STDIN.read)["a"]\'',
        "perl -MList::Util=sum -e 'print sum(1, 2)'",
    ],
)
def test_other_modules_run(line):
    assert check_command(line) is None
