/**
 * Every HTTP operation in the words of its users: the source of `/openapi.json` and `/docs`. The schemas are those that
 * the gateway itself parses with; every example is sent by a test.
 */

import { chatChunk, chatCompletion, embeddingList, imageGeneration } from '@gateway/contracts/answers'
import { TOKENS_PER_MINUTE, type Documentation } from './api-reference.ts'
import { ANTHROPIC_VERSION } from '../core/read-path.ts'
import { modelEntry, modelInfo, modelList, modelsPage, tierCatalog } from '@gateway/contracts/catalog'
import { chatRequest, embeddingsRequest, imagesRequest } from '@gateway/contracts/chat'
import {
  currentKeyRequest,
  developerKeyListQuery,
  developerKeyListResponse,
  developerKeyResponse,
  mintKeyBody,
  revokedKeyResponse,
  rotatedKeyResponse,
} from '@gateway/contracts/developer-keys-api'
import type { ErrorCode } from '@gateway/contracts/errors'
import { IDEMPOTENCY_KEY, idempotencyKey } from '@gateway/contracts/idempotency'
import { guestKeyRequest, guestKeyResponse } from '@gateway/contracts/keys-api'
import { countTokensRequest, message, messageEvent, messagesRequest, tokensCounted } from '@gateway/contracts/messages'
import { quotaRecord } from '@gateway/contracts/metering-api'
import { planRecord } from '@gateway/contracts/plan-api'
import { quoteQuery, quoteResponse } from '@gateway/contracts/quote'
import {
  compactedResponse,
  compactRequest,
  responseEvent,
  responseObject,
  responsesRequest,
} from '@gateway/contracts/responses'
import { topUpBody, topUpReceived } from '@gateway/contracts/top-ups'
import { usageQuery, usageRecord } from '@gateway/contracts/usage-api'
import * as z from 'zod'
import { RECEIPT_HEADER } from '@gateway/contracts/receipts'
import { receiptHeader } from '../receipts/wanted-receipt.ts'
import { TAGS_HEADER, tagsHeader } from '../requests/tags.ts'

const INFERENCE_ERRORS: ErrorCode[] = [
  'quota_exceeded',
  'MODEL_NOT_FOUND',
  'rate_limit_exceeded',
  'UPSTREAMS_EXHAUSTED',
]

const IDEMPOTENCY_HEADER = {
  name: IDEMPOTENCY_KEY,
  schema: idempotencyKey,
  description:
    '1 to 255 visible ASCII characters. The same key and body again within 24 hours joins the request that runs, or gets its answer (up to 1 MB) again, charged once. With it, a request runs on when its client leaves.',
}

const TAGS = {
  name: TAGS_HEADER,
  schema: tagsHeader,
  description:
    'team=search,env=prod: at most 8 pairs, names and values of 1 to 64 of A-Z a-z 0-9 . _ -. The ledger groups usage by them. Pairs of OpenAI’s metadata that fit count, too. The user (safety_identifier, user, or metadata.user_id of Messages) is kept as the first 22 characters of base64url(SHA-256(account, newline, user)).',
}

const RECEIPT = {
  name: RECEIPT_HEADER,
  schema: receiptHeader,
  description:
    '1: the answer comes with a receipt, a compact JWS (EdDSA) over the request id, account, model, tokens, charge, time and SHA-256 of the content. It is the trailer x-svc-receipt, and a header of answers up to 256 KB. In a stream it is svc_receipt of the last event with usage, over the events before (comments and pings left out). /.well-known/jwks.json has the keys.',
}

const RECEIPT_OF_TURNS = {
  name: RECEIPT_HEADER,
  schema: receiptHeader,
  description:
    '1 on the upgrade: the last event of each answer has its receipt as svc_receipt, over the messages before, each followed by a line feed.',
}

const OF_ANTHROPIC = {
  name: ANTHROPIC_VERSION,
  description:
    'With it, as Anthropic’s clients send it, the answer has Anthropic’s shape; a list comes in pages (limit, after_id, before_id).',
}

export const operations = {
  createChatCompletion: {
    group: 'Inference',
    summary: 'Chat',
    description: [
      'Answers a conversation, whole or as a stream of server-sent events. Sampling parameters, tools and every other field of the OpenAI convention pass through to the backend.',
      'A stream ends with data: [DONE], which is sent once the usage is recorded. A failure after the first byte is one event with an error member, and no [DONE].',
      'svc-best chooses a lane for each message and says which in x-svc-smart-route. A model that you name is never rewritten.',
    ],
    requestSchema: chatRequest,
    headers: [IDEMPOTENCY_HEADER, TAGS, RECEIPT],
    responseSchema: chatCompletion,
    eventSchema: chatChunk,
    examples: [
      {
        name: 'A question',
        body: { model: 'svc-instant', messages: [{ role: 'user', content: 'What is a gateway?' }] },
      },
      {
        name: 'A stream with its usage',
        body: {
          model: 'svc-fast',
          stream: true,
          stream_options: { include_usage: true },
          messages: [
            { role: 'system', content: 'Answer in one sentence.' },
            { role: 'user', content: 'Why do rivers bend?' },
          ],
        },
      },
      {
        name: 'A function to call',
        body: {
          model: 'svc-agent',
          messages: [{ role: 'user', content: 'What is the weather in Lisbon?' }],
          tools: [
            {
              type: 'function',
              function: {
                name: 'weather',
                parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
              },
            },
          ],
        },
      },
    ],
    errors: INFERENCE_ERRORS,
  },
  createResponse: {
    group: 'Inference',
    summary: 'Responses',
    description: [
      'Answers a conversation in the format of the Responses API, whole or as a stream of its events, from whichever backend serves the model.',
      'Nothing is stored: each request brings its whole conversation as input, and store is answered false. A tool that a vendor runs is left out where no backend runs it, and x-svc-dropped-params says so.',
      'A stream ends with response.completed or response.incomplete and data: [DONE], which are sent once the usage is recorded. A later failure is response.failed, and no [DONE].',
    ],
    requestSchema: responsesRequest,
    headers: [IDEMPOTENCY_HEADER, TAGS, RECEIPT],
    responseSchema: responseObject,
    eventSchema: responseEvent,
    examples: [
      { name: 'A question', body: { model: 'svc-instant', input: 'What is a gateway?' } },
      {
        name: 'A stream',
        body: {
          model: 'svc-fast',
          stream: true,
          instructions: 'Answer in one sentence.',
          input: [{ role: 'user', content: [{ type: 'input_text', text: 'Why do rivers bend?' }] }],
        },
      },
      {
        name: 'A function to call',
        body: {
          model: 'svc-agent',
          input: 'What is the weather in Lisbon?',
          tools: [
            {
              type: 'function',
              name: 'weather',
              parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
              strict: false,
            },
          ],
        },
      },
    ],
    errors: INFERENCE_ERRORS,
  },
  connectResponses: {
    group: 'Inference',
    summary: 'Responses over WebSocket',
    description: [
      'With Upgrade: websocket. Each message { "type": "response.create", … } has the body of POST /v1/responses and is one request: same limits, price and errors. Its events come as one message each. Requests of a connection run one after another.',
      'previous_response_id continues a response of this connection, and input then has the new items alone. The connection keeps the last response of each stream_id in memory, and nothing else does: after a failure, or on another connection, the error is previous_response_not_found.',
      'generate: false keeps an input without running a model. A connection ends after 60 minutes with websocket_connection_limit_reached, after 15 minutes without a request, with its key (close code 1008), or when its server restarts (1001).',
    ],
    headers: [RECEIPT_OF_TURNS],
    responseSchema: responseEvent,
    isUpgrade: true,
    examples: [],
    errors: ['UPGRADE_REQUIRED', 'FORBIDDEN', 'rate_limit_exceeded'],
  },
  compactResponse: {
    group: 'Inference',
    summary: 'Compact a conversation',
    description: [
      'Shortens a conversation: output is the input of the next request, the newest messages of the user and one compaction item for all else. A backend of OpenAI’s compacts by itself; in front of any other one the model writes a summary, which the gateway seals for this account.',
      'The next request may go to any model. An item that the gateway sealed reaches it as a text; a vendor’s own item is for that vendor’s backends. It costs as much as any request of these tokens.',
      'In POST /v1/responses a last item compaction_trigger does the same, also in a stream: its output is the one compaction item.',
    ],
    requestSchema: compactRequest,
    headers: [IDEMPOTENCY_HEADER, TAGS, RECEIPT],
    responseSchema: compactedResponse,
    examples: [
      {
        name: 'A short conversation',
        body: {
          model: 'svc-code',
          input: [
            { role: 'user', content: 'We ship on Tuesday, and support hears of it first.' },
            { role: 'assistant', content: 'Noted: Tuesday, after support.' },
          ],
        },
      },
    ],
    errors: INFERENCE_ERRORS,
  },
  createMessage: {
    group: 'Inference',
    summary: 'Messages',
    description: [
      'Answers a conversation in the format of Anthropic’s Messages API, whole or as a stream of its events, from whichever backend serves the model. The key goes into x-api-key or authorization.',
      'A backend that speaks the format gets the request untouched, with every anthropic- header. For another one it is translated; x-svc-dropped-params names whatever is left out.',
      'A stream ends with message_stop, which is sent once the usage is recorded. A later failure is an error event.',
      'A refusal by a backend that speaks the format has its status and its body. So has a 429 or 5xx of the only backend of a model, with its retry-after.',
    ],
    requestSchema: messagesRequest,
    headers: [IDEMPOTENCY_HEADER, TAGS, RECEIPT],
    responseSchema: message,
    eventSchema: messageEvent,
    examples: [
      {
        name: 'A question',
        body: { model: 'svc-instant', max_tokens: 500, messages: [{ role: 'user', content: 'What is a gateway?' }] },
      },
      {
        name: 'A stream',
        body: {
          model: 'svc-fast',
          max_tokens: 500,
          stream: true,
          system: 'Answer in one sentence.',
          messages: [{ role: 'user', content: [{ type: 'text', text: 'Why do rivers bend?' }] }],
        },
      },
      {
        name: 'A tool to call',
        body: {
          model: 'svc-agent',
          max_tokens: 500,
          messages: [{ role: 'user', content: 'What is the weather in Lisbon?' }],
          tools: [
            {
              name: 'weather',
              input_schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
            },
          ],
        },
      },
    ],
    errors: INFERENCE_ERRORS,
  },
  countTokens: {
    group: 'Inference',
    summary: 'Count the tokens of a message',
    description: [
      'The prompt’s tokens: by the backend’s own count where it has one (x-svc-token-count: exact), else an estimate, as the limits count it (estimate). Nothing is charged.',
      'Counts and quotes have a rate of their own: as many a minute as the plan has requests.',
    ],
    requestSchema: countTokensRequest,
    responseSchema: tokensCounted,
    examples: [
      {
        name: 'A question',
        body: { model: 'svc-core', messages: [{ role: 'user', content: 'What is a gateway?' }] },
      },
    ],
    errors: ['MODEL_NOT_FOUND', 'rate_limit_exceeded'],
  },
  createEmbeddings: {
    group: 'Inference',
    summary: 'Embeddings',
    description: ['Turns each text into a vector of 768 numbers, in the order of the inputs.'],
    requestSchema: embeddingsRequest,
    headers: [IDEMPOTENCY_HEADER, TAGS, RECEIPT],
    responseSchema: embeddingList,
    examples: [
      { name: 'One text', body: { model: 'svc-embed', input: 'The river bends.' } },
      { name: 'A batch', body: { model: 'svc-embed-fast', input: ['The river bends.', 'The road does not.'] } },
    ],
    errors: INFERENCE_ERRORS,
  },
  createImage: {
    group: 'Inference',
    summary: 'Images',
    description: ['Draws a picture from a text: a PNG in data[0].b64_json.'],
    requestSchema: imagesRequest,
    headers: [IDEMPOTENCY_HEADER, TAGS, RECEIPT],
    responseSchema: imageGeneration,
    examples: [{ name: 'A picture', body: { model: 'svc-image', prompt: 'A river seen from above', size: '512x512' } }],
    errors: INFERENCE_ERRORS,
  },
  quote: {
    group: 'Inference',
    summary: 'What a chat request would cost',
    description: [
      'Takes the body of a request to Chat, Responses or Messages, and answers what would serve it and what it would be charged, without sending it anywhere. Nothing is reserved.',
    ],
    query: [
      {
        name: 'dialect',
        description: 'The API of the body: chat, responses or messages; chat when left out.',
        schema: quoteQuery.shape.dialect,
      },
    ],
    requestSchema: z.union([chatRequest, responsesRequest, messagesRequest]),
    responseSchema: quoteResponse,
    examples: [
      {
        name: 'A question',
        body: { model: 'svc-core', max_tokens: 500, messages: [{ role: 'user', content: 'What is a gateway?' }] },
      },
    ],
    errors: ['MODEL_NOT_FOUND', 'rate_limit_exceeded'],
  },
  listModels: {
    group: 'Models',
    summary: 'The live list of models',
    description: ['The authority for which models are available now.'],
    headers: [OF_ANTHROPIC],
    responseSchema: z.union([modelList, modelsPage]),
    examples: [{ name: 'All models' }],
    errors: [],
  },
  showModel: {
    group: 'Models',
    summary: 'One model',
    description: [],
    pathParameters: [{ name: 'id', description: 'As in the list.', example: 'svc-instant' }],
    headers: [OF_ANTHROPIC],
    responseSchema: z.union([modelEntry, modelInfo]),
    examples: [{ name: 'Spark' }],
    errors: ['MODEL_NOT_FOUND'],
  },
  showCatalog: {
    group: 'Models',
    summary: 'Names, order and multipliers of the tiers',
    description: [],
    query: [
      {
        name: 'view',
        description: 'The only view is tiers.',
        required: true,
        example: 'tiers',
        schema: z.literal('tiers'),
      },
    ],
    responseSchema: tierCatalog,
    examples: [{ name: 'The tiers' }],
    errors: ['VALIDATION_ERROR'],
  },
  showQuota: {
    group: 'Account',
    summary: 'The allowance and what is left of it',
    description: [
      "The ledger's word on the current billing window. Requests of the last moments may not be in it yet; the x-svc-quota headers of each answer are.",
      'An edge keeps the figures for up to a second.',
    ],
    responseSchema: quotaRecord,
    examples: [{ name: 'My quota' }],
    errors: ['rate_limit_exceeded'],
  },
  receiveTopUp: {
    group: 'Account',
    summary: 'Top a project up, by a payment system',
    description: [
      "Adds to this month's allowance, in the plan's unit, from the next request on. project is the parameter of topupUrl. The same id adds nothing more, and with another amount it is a 409.",
      'Signed with a secret of TOP_UP_SECRETS: webhook-signature is v1, and the Base64 of HMAC-SHA256(secret, webhook-id.webhook-timestamp.body). A body has at most 4 KB.',
    ],
    headers: [
      { name: 'webhook-id', description: 'The id of the message.' },
      { name: 'webhook-timestamp', description: 'Seconds since 1970, of the last five minutes.' },
      { name: 'webhook-signature', description: 'v1,<signature>; several are separated by spaces.' },
    ],
    requestSchema: topUpBody,
    responseSchema: topUpReceived,
    // Each run of an example would need a signature of its time.
    examples: [],
    errors: ['NOT_FOUND', 'CONFLICT'],
  },
  showPlan: {
    group: 'Account',
    summary: 'What the plan includes, and at what price',
    description: [
      'Never more than requests_per_minute requests are admitted in any 60 seconds.',
      `tokens_per_minute is a bucket. ${TOKENS_PER_MINUTE}`,
    ],
    responseSchema: planRecord,
    examples: [{ name: 'My plan' }],
    errors: ['rate_limit_exceeded'],
  },
  showUsage: {
    group: 'Account',
    summary: 'Usage over time',
    description: [
      'By day, model, session or agent, from the ledger. Days are in UTC, both ends included.',
      'Coding tools name their session in a header, others by prompt_cache_key. Lists of sessions and agents hold the 1,000 that cost most.',
      'An edge keeps the figures for up to a second.',
    ],
    query: Object.entries({
      from: 'The first day; the first of this month when left out.',
      to: 'The last day; today when left out.',
      group_by: 'day, model, session or agent; day when left out.',
      session: 'One session, by session or agent.',
    } satisfies Record<keyof typeof usageQuery.shape, string>).map(([name, description]) => ({
      name,
      description,
      schema: usageQuery.shape[name as keyof typeof usageQuery.shape],
    })),
    responseSchema: usageRecord,
    examples: [{ name: 'This month, by day' }],
    errors: ['rate_limit_exceeded'],
  },
  mintDeveloperKey: {
    group: 'Keys',
    summary: 'Get the developer key',
    description: ['Answers the active key, or a new one when there is none.'],
    requestSchema: mintKeyBody,
    isBodyOptional: true,
    responseSchema: developerKeyResponse,
    examples: [{ name: 'My key', body: {} }],
    errors: [],
  },
  listDeveloperKeys: {
    group: 'Keys',
    summary: 'All developer keys, newest first',
    description: ['Keys are masked to their first characters. A page has up to 1,000.'],
    query: [
      {
        name: 'after',
        description: 'The next of the page before, for older keys. The last page has null there.',
        schema: developerKeyListQuery.shape.after,
      },
    ],
    responseSchema: developerKeyListResponse,
    examples: [{ name: 'My keys' }],
    errors: [],
  },
  rotateDeveloperKey: {
    group: 'Keys',
    summary: 'Replace the developer key',
    description: [
      'The old key is refused everywhere once this has answered; what it has begun may finish. Plan, quota and history carry over.',
    ],
    requestSchema: currentKeyRequest,
    responseSchema: rotatedKeyResponse,
    examples: [{ name: 'Rotate', body: { key: '$KEY' } }],
    errors: ['INVALID_KEY'],
  },
  revokeDeveloperKey: {
    group: 'Keys',
    summary: 'Revoke the developer key',
    description: ['The key is refused everywhere once this has answered, and its open streams are cut.'],
    requestSchema: currentKeyRequest,
    responseSchema: revokedKeyResponse,
    examples: [{ name: 'Revoke', body: { key: '$KEY' } }],
    errors: ['INVALID_KEY'],
  },
  mintGuestKey: {
    group: 'Keys',
    summary: 'Get a key for a device, without an account',
    description: ['The same device gets the same key. Guest keys reach the guest-tier models, with a cap a day.'],
    requestSchema: guestKeyRequest,
    responseSchema: guestKeyResponse,
    examples: [{ name: 'A device', body: { device_id: '3f0c6a52-kiosk-4' } }],
    errors: ['rate_limit_exceeded'],
  },
} satisfies Record<string, Documentation>

export type OperationId = keyof typeof operations
