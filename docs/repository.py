"""MkDocs hook that adds the repository's Markdown files outside docs/ as pages.

A link to Markdown becomes a link to its page; a link to any other file or folder becomes the path as text. A broken
link fails the build.
"""
import logging
import posixpath
import re
import subprocess
from pathlib import Path

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parent.parent
LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\]]*\])+)\]\(([^)\s]+)\)")
FENCED = re.compile(r"^(```.*?^```[^\n]*$)", re.DOTALL | re.MULTILINE)
# The README is the start page of a repository; index.md is the start page of the site.
PAGES = {"README.md": "index.md"}
warn = logging.getLogger("mkdocs.hooks.repository").warning


def page_of(path):
    """Path of a document's page in the site."""
    return PAGES.get(path) or path.removeprefix("docs/")


def on_files(files, config):
    names = subprocess.run(["git", "-C", ROOT, "ls-files", "*.md"], capture_output=True, text=True, check=True).stdout.split()
    for name in names:
        if not name.startswith("docs/") and name not in PAGES:
            files.append(File.generated(config, page_of(name), abs_src_path=str(ROOT / name)))
    return files


def on_page_markdown(markdown, page, config, files):
    uri = page.file.src_uri
    source = f"docs/{uri}" if (ROOT / "docs" / uri).exists() else uri

    def linked(match):
        text, target = match.groups()
        path, _, anchor = target.partition("#")
        if not path or "://" in path or path.startswith("mailto:"):
            return match[0]
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
        if (ROOT / path).is_dir() and (ROOT / path / "README.md").exists():
            path += "/README.md"
        if path.endswith(".md") and files.get_file_from_path(page_of(path)):
            relative = posixpath.relpath(page_of(path), posixpath.dirname(uri) or ".")
            return f"[{text}]({relative}{'#' + anchor if anchor else ''})"
        if not (ROOT / path).exists():
            warn(f"{source}: link to {target}, which does not exist")
        name = f"`{path}`"
        return name if text.strip("`") in path else f"{text} ({name})"

    parts = FENCED.split(markdown)
    return "".join(part if part.startswith("```") else LINK.sub(linked, part) for part in parts)
