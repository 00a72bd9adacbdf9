"""LangChain for Python. Its embeddings send arrays of tokens."""

from langchain_openai import ChatOpenAI, OpenAIEmbeddings
from pydantic import BaseModel

from requested import CHAT, EMBEDDINGS, FLAKY, QUESTION, TOOL_QUESTION, WEATHER, reply

common = {"max_tokens": 120, "temperature": 0}
client = ChatOpenAI(model=CHAT, **common)


class City(BaseModel):
    """A city."""

    city: str


def tools():
    bound = client.bind_tools([{"type": "function", "function": WEATHER}], tool_choice="required")
    return bound.invoke(TOOL_QUESTION).tool_calls[0]["args"]["city"]


def embeddings():
    vectors = OpenAIEmbeddings(model=EMBEDDINGS).embed_documents(["one", "two"])
    return len(vectors) == 2 and len(vectors[0])


reply(
    chat=lambda: client.invoke(QUESTION).content,
    stream=lambda: "".join(part.content for part in client.stream(QUESTION)),
    tools=tools,
    structured_output=lambda: client.with_structured_output(City, method="json_schema").invoke(QUESTION).city,
    embeddings=embeddings,
    retries=lambda: ChatOpenAI(model=FLAKY, max_retries=5, **common).invoke(QUESTION).content,
)
