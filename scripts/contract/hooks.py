"""Two rules that no schema of one request can say. Each request that would break one is given another value, so that
every other rule is still held against it."""

import uuid

import schemathesis

# A model serves one endpoint; which models there are is for GET /v1/models to say.
MODEL_OF = {"/v1/embeddings": "svc-embed", "/v1/images/generations": "svc-image"}

used_keys = set()


@schemathesis.hook
def before_call(context, case, kwargs):
    name_one_request(case)
    ask_a_model_of_this_endpoint(case)


def name_one_request(case):
    """An Idempotency-Key names one request, and Schemathesis repeats its favourite values."""
    name = next((name for name in case.headers or {} if name.lower() == "idempotency-key"), None)
    if name is None:
        return
    if case.headers[name] in used_keys:
        case.headers[name] = str(uuid.uuid4())
    used_keys.add(case.headers[name])


def ask_a_model_of_this_endpoint(case):
    model = MODEL_OF.get(case.path)
    if model and isinstance(case.body, dict) and str(case.body.get("model", "")).startswith("svc-"):
        case.body["model"] = model
