"""The official client of OpenAI for Python."""

import json

from openai import OpenAI
from pydantic import BaseModel

from asked import CHAT, EMBEDDINGS, FLAKY, QUESTION, TOOL_QUESTION, WEATHER, answer

client = OpenAI()
options = {"max_tokens": 120, "temperature": 0}
common = {"model": CHAT, **options}


class City(BaseModel):
    city: str


def ask(text):
    return [{"role": "user", "content": text}]


def chat(of=client, model=CHAT):
    return of.chat.completions.create(model=model, messages=ask(QUESTION), **options).choices[0].message.content


def stream():
    parts = client.chat.completions.create(messages=ask(QUESTION), stream=True, **common)
    return "".join(part.choices[0].delta.content or "" for part in parts if part.choices)


def tools():
    tool = {"type": "function", "function": WEATHER}
    said = client.chat.completions.create(messages=ask(TOOL_QUESTION), tools=[tool], tool_choice="required", **common)
    return json.loads(said.choices[0].message.tool_calls[0].function.arguments)["city"]


def structured_output():
    said = client.chat.completions.parse(messages=ask(QUESTION), response_format=City, **common)
    return said.choices[0].message.parsed.city


def embeddings():
    data = client.embeddings.create(model=EMBEDDINGS, input=["one", "two"]).data
    return len(data) == 2 and len(data[0].embedding)


answer(
    chat=chat,
    stream=stream,
    tools=tools,
    structured_output=structured_output,
    embeddings=embeddings,
    retries=lambda: chat(OpenAI(max_retries=5), FLAKY),
)
