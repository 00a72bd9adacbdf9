"""Writes a JSON schema of SGLang's chat request: the members of its pydantic class, read without running it."""

import ast
import glob
import json
import sys
import zipfile

FILE = "sglang/srt/entrypoints/openai/protocol.py"
CLASS = "ChatCompletionRequest"
TYPES = {"str": "string", "bool": "boolean", "int": "integer", "float": "number"}


def schema_of(annotation):
    """Only plain types: what a union or a class of its own takes is left open."""
    if isinstance(annotation, ast.Name) and annotation.id in TYPES:
        return {"type": TYPES[annotation.id]}
    if isinstance(annotation, ast.Subscript) and getattr(annotation.value, "id", "") == "Optional":
        inner = schema_of(annotation.slice)
        return {"type": [inner["type"], "null"]} if "type" in inner else {}
    return {}


with zipfile.ZipFile(glob.glob(f"{sys.argv[1]}/*.whl")[0]) as wheel:
    tree = ast.parse(wheel.read(FILE))
classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}


def members_of(name):
    bases = [base.id for base in classes[name].bases if isinstance(base, ast.Name) and base.id in classes]
    members = {key: value for base in bases for key, value in members_of(base).items()}
    for node in classes[name].body:
        if isinstance(node, ast.AnnAssign) and not node.target.id.startswith("_"):
            members[node.target.id] = schema_of(node.annotation)
    return members


properties = members_of(CLASS)
print(json.dumps({"type": "object", "properties": properties, "required": ["messages"], "additionalProperties": False}))
