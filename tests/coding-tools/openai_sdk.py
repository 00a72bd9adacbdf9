"""The official client of OpenAI for Python: it compacts a conversation, and goes on with it."""

import json
import os

from openai import OpenAI

client = OpenAI(max_retries=0)
MODEL = os.environ["MODEL"]
CONVERSATION = [
    {"role": "user", "content": "When do we ship?"},
    {"role": "assistant", "content": "On Tuesday."},
]
NEXT = {"role": "user", "content": "And the docs?"}

compacted = client.responses.compact(model=MODEL, input=CONVERSATION)
after = client.responses.create(model=MODEL, input=[*compacted.output, NEXT])
triggered = client.responses.create(model=MODEL, input=[*CONVERSATION, {"type": "compaction_trigger"}])
again = client.responses.create(model=MODEL, input=[*triggered.output, NEXT])
print(
    json.dumps(
        {
            "kinds": [item.type for item in compacted.output],
            "usage": compacted.usage.total_tokens,
            "after": after.output_text,
            "triggered": [item.type for item in triggered.output],
            "again": again.output_text,
        }
    )
)
