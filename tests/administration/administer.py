"""Administers the gateway with the official Python SDK, which refuses each response that is not as its types have it."""

import json

import openai

admin = openai.OpenAI(api_key="", max_retries=0, _strict_response_validation=True)
organization = admin.admin.organization

project = organization.projects.create(name="From Python")
account = organization.projects.service_accounts.create(project.id, name="nightly")
organization.projects.rate_limits.update_rate_limit(
    "rl_svc-instant", project_id=project.id, max_requests_per_1_minute=3
)
client = openai.OpenAI(api_key=account.api_key.value, max_retries=0)


def chat():
    return client.chat.completions.create(
        model="svc-instant", max_tokens=20, messages=[{"role": "user", "content": "Say: hello"}]
    )


admitted = 0
refused = None
while refused is None and admitted < 9:
    try:
        chat()
        admitted += 1
    except openai.RateLimitError as error:
        refused = [error.status_code, error.body["type"], error.body["scope"]]

entries = list(organization.audit_logs.list(project_ids=[project.id], limit=100))
archived = organization.projects.archive(project.id)
try:
    chat()
    afterwards = 200
except openai.AuthenticationError as error:
    afterwards = error.status_code

print(
    json.dumps(
        {
            "admitted": admitted,
            "refused": refused,
            "listed": [item.name for item in organization.projects.service_accounts.list(project.id)],
            "audited": [entry.type for entry in reversed(entries)],
            "archived": archived.status,
            "afterwards": afterwards,
        }
    )
)
