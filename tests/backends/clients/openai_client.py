"""The official client of OpenAI for Python."""

import json

from openai import OpenAI
from pydantic import BaseModel

from requested import CHAT, EMBEDDINGS, FLAKY, QUESTION, TOOL_QUESTION, WEATHER, reply

client = OpenAI()
options = {"max_tokens": 120, "temperature": 0}
common = {"model": CHAT, **options}


class City(BaseModel):
    city: str


def user(text):
    return [{"role": "user", "content": text}]


def chat(of=client, model=CHAT):
    return of.chat.completions.create(model=model, messages=user(QUESTION), **options).choices[0].message.content


def stream():
    parts = client.chat.completions.create(messages=user(QUESTION), stream=True, **common)
    return "".join(part.choices[0].delta.content or "" for part in parts if part.choices)


def tools():
    tool = {"type": "function", "function": WEATHER}
    said = client.chat.completions.create(messages=user(TOOL_QUESTION), tools=[tool], tool_choice="required", **common)
    return json.loads(said.choices[0].message.tool_calls[0].function.arguments)["city"]


def structured_output():
    said = client.chat.completions.parse(messages=user(QUESTION), response_format=City, **common)
    return said.choices[0].message.parsed.city


responses_options = {"model": CHAT, "max_output_tokens": 120, "temperature": 0}


def responses():
    return client.responses.create(input=QUESTION, **responses_options).output_text


def responses_stream():
    with client.responses.stream(input=QUESTION, **responses_options) as events:
        said = list(events)
    text = "".join(event.delta for event in said if event.type == "response.output_text.delta")
    # The helper of the SDK wants `response.completed`, and a small model may run into its cap.
    whole = said[-1].response.output_text
    if whole != text:
        raise ValueError(f"{whole} is not {text}")
    return text


def responses_tools():
    tool = {"type": "function", "strict": False, **WEATHER}
    with_tool = {**responses_options, "tools": [tool]}
    said = client.responses.create(input=user(TOOL_QUESTION), tool_choice="required", **with_tool)
    call = next(item for item in said.output if item.type == "function_call")
    result = {"type": "function_call_output", "call_id": call.call_id, "output": "sunny"}
    client.responses.create(input=[*user(TOOL_QUESTION), *said.output, result], **with_tool)
    return json.loads(call.arguments)["city"]


def responses_structured_output():
    return client.responses.parse(input=QUESTION, text_format=City, **responses_options).output_parsed.city


def embeddings():
    data = client.embeddings.create(model=EMBEDDINGS, input=["one", "two"]).data
    return len(data) == 2 and len(data[0].embedding)


reply(
    chat=chat,
    stream=stream,
    tools=tools,
    structured_output=structured_output,
    responses=responses,
    responses_stream=responses_stream,
    responses_tools=responses_tools,
    responses_structured_output=responses_structured_output,
    embeddings=embeddings,
    retries=lambda: chat(OpenAI(max_retries=5), FLAKY),
)
