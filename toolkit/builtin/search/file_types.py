"""
The kinds of files that `grep` can be restricted to, with the patterns of their names.
"""

from __future__ import annotations

from typing import Literal

__all__ = ["FILE_TYPES", "FileType"]

FileType = Literal[
    "c", "config", "cpp", "cs", "css", "docs", "go", "html", "java", "js", "json", "kotlin", "lua", "php", "py", "ruby",
    "rust", "scala", "sh", "sql", "swift", "ts", "xml", "yaml",
]  # fmt: skip

FILE_TYPES: dict[FileType, str] = {
    "c": "*.{c,h}",
    "config": "*.{toml,ini,cfg,conf,properties,env.example}",
    "cpp": "*.{cpp,cc,cxx,c++,hpp,hh,hxx,h,inl}",
    "cs": "*.{cs,csx}",
    "css": "*.{css,scss,sass,less}",
    "docs": "{*.{md,markdown,rst,txt,adoc},README*,CHANGELOG*}",
    "go": "{*.go,go.mod}",
    "html": "*.{html,htm,xhtml,jinja,jinja2,j2,vue,svelte}",
    "java": "*.java",
    "js": "*.{js,jsx,mjs,cjs}",
    "json": "*.{json,jsonl,json5,jsonc}",
    "kotlin": "*.{kt,kts}",
    "lua": "*.lua",
    "php": "*.{php,phtml}",
    "py": "*.{py,pyi,pyw}",
    "ruby": "{*.{rb,rake,gemspec},Gemfile,Rakefile}",
    "rust": "*.rs",
    "scala": "*.{scala,sbt,sc}",
    "sh": "*.{sh,bash,zsh,ksh,fish}",
    "sql": "*.sql",
    "swift": "*.swift",
    "ts": "*.{ts,tsx,mts,cts}",
    "xml": "*.{xml,xsd,xsl,xslt,svg}",
    "yaml": "*.{yaml,yml}",
}
