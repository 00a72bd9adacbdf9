"""Prints the text and the kind that each of Python's clients gives to an error: a line of JSON for each."""

import json
import os

import anthropic
import litellm
import openai
from langchain_anthropic import ChatAnthropic
from langchain_openai import ChatOpenAI

MODEL = os.environ["MODEL"]
URL = os.environ["OPENAI_BASE_URL"]
ANTHROPIC_URL = os.environ["ANTHROPIC_BASE_URL"]
KEY = os.environ["OPENAI_API_KEY"]
QUESTION = [{"role": "user", "content": "Hello"}]
litellm.suppress_debug_info = True


def of_openai():
    openai.OpenAI(max_retries=0).chat.completions.create(model=MODEL, messages=QUESTION)


def of_openai_responses():
    openai.OpenAI(max_retries=0).responses.create(model=MODEL, input="Hello")


def of_anthropic():
    anthropic.Anthropic(max_retries=0).messages.create(model=MODEL, max_tokens=10, messages=QUESTION)


def of_litellm(prefix):
    litellm.completion(model=f"{prefix}/{MODEL}", messages=QUESTION, api_base=URL, api_key=KEY, num_retries=0, max_retries=0)


CLIENTS = {
    "openai": of_openai,
    "openai by Responses": of_openai_responses,
    "anthropic": of_anthropic,
    "LiteLLM": lambda: of_litellm("openai"),
    "LiteLLM by OpenAI's client": lambda: of_litellm("litellm_proxy"),
    "LangChain": lambda: ChatOpenAI(model=MODEL, max_retries=0).invoke("Hello"),
    "LangChain by Anthropic's client": lambda: ChatAnthropic(model=MODEL, max_retries=0, base_url=ANTHROPIC_URL).invoke("Hello"),
}

for name, send_request in CLIENTS.items():
    try:
        send_request()
        outcome = {"kind": "none", "shown": "no error"}
    except Exception as error:
        outcome = {"kind": type(error).__name__, "shown": str(error)}
    print(json.dumps({"client": name, **outcome}), flush=True)
