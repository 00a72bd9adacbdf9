"""LlamaIndex with its classes for compatible servers."""

import os

from llama_index.core.llms import ChatMessage
from llama_index.core.tools import FunctionTool
from llama_index.embeddings.openai_like import OpenAILikeEmbedding
from llama_index.llms.openai_like import OpenAILike
from pydantic import BaseModel

from requested import CHAT, EMBEDDINGS, FLAKY, QUESTION, TOOL_QUESTION, reply

access = {"api_base": os.environ["OPENAI_BASE_URL"], "api_key": os.environ["OPENAI_API_KEY"]}
common = {"max_tokens": 120, "temperature": 0, "is_chat_model": True, "is_function_calling_model": True, **access}
client = OpenAILike(model=CHAT, **common)


class City(BaseModel):
    """A city."""

    city: str


def get_weather(city: str) -> str:
    """The weather of a city."""
    return city


def said(text):
    return [ChatMessage(role="user", content=text)]


def tools():
    tool = FunctionTool.from_defaults(get_weather)
    response = client.chat_with_tools([tool], user_msg=TOOL_QUESTION, tool_required=True)
    return client.get_tool_calls_from_response(response)[0].tool_kwargs["city"]


def structured_output():
    llm = OpenAILike(model=CHAT, should_use_structured_outputs=True, **common)
    return llm.as_structured_llm(City).chat(said(QUESTION)).raw.city


def embeddings():
    vectors = OpenAILikeEmbedding(model_name=EMBEDDINGS, **access).get_text_embedding_batch(["one", "two"])
    return len(vectors) == 2 and len(vectors[0])


reply(
    chat=lambda: client.chat(said(QUESTION)).message.content,
    stream=lambda: "".join(part.delta or "" for part in client.stream_chat(said(QUESTION))),
    tools=tools,
    structured_output=structured_output,
    embeddings=embeddings,
    retries=lambda: OpenAILike(model=FLAKY, max_retries=5, **common).chat(said(QUESTION)).message.content,
)
