"""Writes a JSON schema of a server's chat request: the members of its pydantic class, read from a wheel without running it."""

import ast
import glob
import json
import sys
import zipfile

CLASS = "ChatCompletionRequest"
TYPES = {"str": "string", "bool": "boolean", "int": "integer", "float": "number"}

folder, file = sys.argv[1:]
with zipfile.ZipFile(glob.glob(f"{folder}/*.whl")[0]) as wheel:
    tree = ast.parse(wheel.read(file))
classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}


def types_of(annotation):
    """Of plain types; None where a class of its own or another kind of union is left open."""
    if isinstance(annotation, ast.Constant) and annotation.value is None:
        return ["null"]
    if isinstance(annotation, ast.Name) and annotation.id in TYPES:
        return [TYPES[annotation.id]]
    if isinstance(annotation, ast.Subscript) and getattr(annotation.value, "id", "") == "Optional":
        return joined(types_of(annotation.slice), ["null"])
    if isinstance(annotation, ast.BinOp) and isinstance(annotation.op, ast.BitOr):
        return joined(types_of(annotation.left), types_of(annotation.right))
    return None


def joined(some, others):
    return None if some is None or others is None else some + others


def schema_of(annotation):
    types = types_of(annotation)
    if types is None:
        return {}
    return {"type": types[0] if len(types) == 1 else types}


def members_of(name):
    bases = [base.id for base in classes[name].bases if isinstance(base, ast.Name) and base.id in classes]
    members = {key: value for base in bases for key, value in members_of(base).items()}
    for node in classes[name].body:
        if isinstance(node, ast.AnnAssign) and not node.target.id.startswith("_"):
            members[node.target.id] = schema_of(node.annotation)
    return members


properties = members_of(CLASS)
print(json.dumps({"type": "object", "properties": properties, "required": ["messages"], "additionalProperties": False}))
