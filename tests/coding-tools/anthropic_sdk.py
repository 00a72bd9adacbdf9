"""The official client of Anthropic for Python: a question about an image, and one that the model thinks about."""

import json
import os

from anthropic import Anthropic

client = Anthropic()
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
options = {"model": os.environ["MODEL"], "max_tokens": 8000}


def user(*content):
    return {"role": "user", "content": list(content)}


def text(said):
    return {"type": "text", "text": said}


def image():
    source = {"type": "base64", "media_type": "image/png", "data": PIXEL}
    question = user({"type": "image", "source": source}, text("What is it?"))
    said = client.messages.create(messages=[question], **options)
    return {"text": said.content[0].text, "input_tokens": said.usage.input_tokens}


def thinking():
    with_thinking = {**options, "thinking": {"type": "enabled", "budget_tokens": 4096}}
    question = user(text("Is it a pixel?"))
    deltas = []
    with client.messages.stream(messages=[question], **with_thinking) as events:
        for event in events:
            if event.type == "content_block_delta":
                deltas.append(event.delta.type)
        whole = events.get_final_message()
    turns = [question, {"role": "assistant", "content": whole.content}, user(text("Sure?"))]
    again = client.messages.create(messages=turns, **with_thinking)
    return {
        "deltas": deltas,
        "streamed": [block.model_dump(exclude_none=True) for block in whole.content],
        "plain": [block.model_dump(exclude_none=True) for block in again.content],
    }


print(json.dumps({"image": image, "thinking": thinking}[os.environ["REQUEST"]]()))
