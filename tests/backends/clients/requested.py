"""The same requests for every client, and one line of JSON for each response."""

import json
import os

QUESTION = "What is the capital of France?"
TOOL_QUESTION = "What is the weather in Paris? Call the tool."
CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
WEATHER = {"name": "get_weather", "description": "The weather of a city", "parameters": CITY}
CHAT = os.environ["CHAT_MODEL"]
EMBEDDINGS = os.environ["EMBEDDINGS_MODEL"]
FLAKY = os.environ["FLAKY_MODEL"]


def reply(**requests):
    wanted = os.environ["REQUESTS"].split(",")
    for name, send_request in requests.items():
        name = name.replace("_", " ")
        if name not in wanted:
            continue
        try:
            outcome = {"name": name, "value": str(send_request())}
        except Exception as error:
            outcome = {"name": name, "error": f"{type(error).__name__}: {error}"[:400]}
        print(json.dumps(outcome), flush=True)
