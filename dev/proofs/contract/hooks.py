"""Five rules that no schema of one request can say. Each request that would break one is given another value, so that
every other rule is still held against it."""

import uuid

import schemathesis

# A model serves one endpoint, and has its own length of vectors; which models there are is for GET /v1/models to say.
EMBEDDINGS = "/v1/embeddings"
MODEL_OF = {EMBEDDINGS: "svc-embed", "/v1/images/generations": "svc-image"}
LONGEST_CURSOR = 256

used_keys = set()


@schemathesis.hook
def before_call(context, case, kwargs):
    name_one_caller(case)
    name_one_request(case)
    ask_a_model_of_this_endpoint(case)
    ask_for_vectors_of_this_model(case)
    begin_at_the_first_item(case)


def name_one_caller(case):
    """Beside the credential that Schemathesis is given, it invents another one."""
    names = {name.lower(): name for name in case.headers or {}}
    if "authorization" in names and "x-api-key" in names:
        del case.headers[names["x-api-key"]]


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
    if model and isinstance(case.body, dict) and isinstance(case.body.get("model"), str):
        case.body["model"] = model


def ask_for_vectors_of_this_model(case):
    if case.path == EMBEDDINGS and isinstance(case.body, dict) and is_length(case.body.get("dimensions")):
        case.body["dimensions"] = 768


def is_length(value):
    """JSON has no integers of its own: 768.0 is one, too."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 1 and value % 1 == 0


def begin_at_the_first_item(case):
    """A page of an administration list begins beside an item that the list has."""
    if case.path.startswith(("/v1/organization/", "/admin/v1/")) and case.query:
        for name in ("after", "before", "page"):
            value = case.query.get(name)
            if isinstance(value, str) and len(value) <= LONGEST_CURSOR:
                del case.query[name]
