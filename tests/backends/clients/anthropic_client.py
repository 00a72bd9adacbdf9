"""The official client of Anthropic for Python."""

from anthropic import Anthropic
from pydantic import BaseModel

from requested import CHAT, FLAKY, QUESTION, TOOL_QUESTION, WEATHER, reply

client = Anthropic()
options = {"model": CHAT, "max_tokens": 120}
tool = {"name": WEATHER["name"], "description": WEATHER["description"], "input_schema": WEATHER["parameters"]}


class City(BaseModel):
    city: str


def user(text):
    return [{"role": "user", "content": text}]


def text_of(message):
    return next(block.text for block in message.content if block.type == "text")


def chat(of=client, **more):
    return text_of(of.messages.create(messages=user(QUESTION), **{**options, **more}))


def stream():
    with client.messages.stream(messages=user(QUESTION), **options) as events:
        text = "".join(events.text_stream)
        whole = text_of(events.get_final_message())
    if whole != text:
        raise ValueError(f"{whole} is not {text}")
    return text


def tools():
    said = client.messages.create(messages=user(TOOL_QUESTION), tools=[tool], tool_choice={"type": "any"}, **options)
    call = next(block for block in said.content if block.type == "tool_use")
    result = {"type": "tool_result", "tool_use_id": call.id, "content": "sunny"}
    turns = [{"role": "assistant", "content": said.content}, {"role": "user", "content": [result]}]
    with client.messages.stream(messages=[*user(TOOL_QUESTION), *turns], tools=[tool], **options) as events:
        events.get_final_message()
    return call.input["city"]


def structured_output():
    return client.messages.parse(messages=user(QUESTION), output_format=City, **options).parsed_output.city


reply(
    chat=chat,
    stream=stream,
    tools=tools,
    structured_output=structured_output,
    retries=lambda: chat(Anthropic(max_retries=5), model=FLAKY),
)
