/**
 * The compiler checks translated responses and their events against the types of the official SDKs. Every member is
 * there, of its kind, and null only where it may be.
 */

import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import type { ClientDialect } from '@gateway/contracts/vendors'
import { expect, test } from 'vitest'
import { createSseParser } from '@gateway/sse/parse-events'
import { dialectRoute } from '../src/dialects/dialects.ts'

type Json = Record<string, unknown>

const require = createRequire(import.meta.url)
const folderOf = (sdk: string) => dirname(require.resolve(sdk))
/** By the client's dialect: the place of the SDK's types of a whole response and of an event. */
const TYPES = {
  responses: [join(folderOf('openai'), 'resources/responses/responses.js'), 'Response', 'ResponseStreamEvent'],
  messages: [join(folderOf('@anthropic-ai/sdk'), 'resources/messages/messages.js'), 'Message', 'RawMessageStreamEvent'],
} as const

const FUNCTION = { type: 'function', name: 'look', parameters: { type: 'object' }, strict: false }
const REQUESTS: Record<keyof typeof TYPES, Json[]> = {
  responses: [
    { input: 'x' },
    {
      input: 'x',
      instructions: 'y',
      tools: [FUNCTION, { type: 'custom', name: 'patch' }],
      tool_choice: { type: 'function', name: 'look' },
      include: ['message.output_text.logprobs'],
      reasoning: { effort: 'low', summary: 'auto' },
      text: { format: { type: 'json_schema', name: 'a', schema: { type: 'object' }, strict: true } },
      metadata: { a: 'b' },
      temperature: 0.5,
      top_p: 0.5,
      user: 'u',
      max_output_tokens: 9,
    },
  ],
  messages: [
    { max_tokens: 9, messages: [{ role: 'user', content: 'x' }], thinking: { type: 'enabled', budget_tokens: 1_024 } },
  ],
}

const LOGPROB = { token: 'a', logprob: -1, bytes: [97] }
const logprobs = { content: [{ ...LOGPROB, top_logprobs: [LOGPROB] }], refusal: null }
const call = (index: number, id: string, name: string, args: string) => ({
  index,
  id,
  type: 'function',
  function: { name, arguments: args },
})
const ends = (reason: string, more: Json = {}) => ({ finish_reason: reason, ...more })
const said = (delta: Json, more: Json = {}) => ({ delta, finish_reason: null, ...more })

/** By the first member of each: choices of the chunks, and of the whole response. */
const RESPONSES: [Json[], Json][] = [
  [
    [said({ reasoning_content: 'Hm' }), said({ content: 'a' }, { logprobs }), ends('stop')],
    ends('stop', { message: { content: 'a', reasoning_content: 'Hm' }, logprobs }),
  ],
  [[said({ content: 'a' }), ends('length')], ends('length', { message: { content: 'a' } })],
  [[said({ content: 'a' }), ends('content_filter')], ends('content_filter', { message: { content: 'a' } })],
  [[said({ refusal: 'No' }), ends('stop')], ends('stop', { message: { refusal: 'No' } })],
  [
    [said({ content: 'a' }), ends('stop', { stop_reason: 'END' })],
    ends('stop', { message: { content: 'a' }, stop_reason: 'END' }),
  ],
  [
    [
      said({ tool_calls: [call(0, 'a', 'look', '{'), call(1, 'b', 'patch', '{"input":"x"}')] }),
      said({ tool_calls: [{ index: 0, function: { arguments: '}' } }] }),
      ends('tool_calls'),
    ],
    ends('tool_calls', { message: { tool_calls: [call(0, 'a', 'look', '{}'), call(1, 'b', 'patch', '{}')] } }),
  ],
]

const NAME = { id: 'chatcmpl-1', created: 1, model: 'm' }
const identity = { ...NAME, id: 'resp_1' }
const usage = { promptTokens: 9, completionTokens: 4, cachedTokens: 3, cacheWriteTokens: 2, reasoningTokens: 1 }
const reported = { prompt_tokens: 9, completion_tokens: 4, total_tokens: 13 }

function responsesTo(client: ClientDialect, request: Json): { events: Json[]; plain: Json[] } {
  const { dialect } = dialectRoute(client, ['chat'])
  const body = Buffer.from(JSON.stringify(request))
  const requested = { kind: 'chat' as const, body, model: 'm', stream: true, maxTokens: undefined, form: [] }
  const { echo } = dialect.request(requested)
  const events = RESPONSES.flatMap(([choices]) => {
    const reading = dialect.readStream({ includeUsage: true, choices: 1, identity, echo })
    const chunks = choices.map((choice) => ({ ...NAME, choices: [{ index: 0, delta: {}, ...choice }] }))
    const sent = createSseParser().push(
      Buffer.from(chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join('')),
    )
    const written = sent.map((event) => reading.read(event))
    return eventsIn([...written, reading.usageChunk({ ...usage, estimated: false })])
  })
  const plain = RESPONSES.map(([, choice]) => {
    const completion = { ...NAME, object: 'chat.completion', choices: [{ index: 0, ...choice }], usage: reported }
    return dialect.readBackendResponse('chat', Buffer.from(JSON.stringify(completion)), identity, echo).json
  })
  return { events, plain }
}

function eventsIn(written: (Buffer | null)[]): Json[] {
  const bytes = Buffer.concat(written.filter((event) => event !== null))
  return createSseParser()
    .push(bytes)
    .map(({ data }) => JSON.parse(data) as Json)
}

test.each(['responses', 'messages'] as const)("responses in %s are those of the vendor's own SDK", async (client) => {
  const [file, reply, event] = TYPES[client]
  const lines = REQUESTS[client].flatMap((request) => {
    const { events, plain } = responsesTo(client, request)
    return [...events.map((value) => [event, value] as const), ...plain.map((value) => [reply, value] as const)]
  })
  const source = [
    `import type * as sdk from ${JSON.stringify(file)}`,
    // Members beyond the types are no fault: the API writes some, too.
    'type Writable<T> = { -readonly [K in keyof T]: Writable<T[K]> }',
    'declare function own<const T>(value: T): Writable<T>',
    // The SDK itself adds the text of all parts to a whole response.
    'type Own<T> = T extends { response: object } ? Omit<T, "response"> & { response: Answer } : T',
    // Of Messages, a member that may be null may be absent: strict clients refuse null for some of them.
    'type Absent<T> = T extends readonly (infer E)[] ? Absent<E>[] : T extends object ? Sparse<T> : T',
    'type Nullable<T> = { [K in keyof T]: null extends T[K] ? K : never }[keyof T]',
    'type Sparse<T> = { [K in Exclude<keyof T, Nullable<T>>]: Absent<T[K]> } & { [K in Nullable<T>]?: Absent<T[K]> }',
    `type Form<T> = ${client === 'messages' ? 'Absent<T>' : 'T'}`,
    ...(client === 'responses' ? WRITTEN_AS_NULL : [`type Written = sdk.${reply}`]),
    'type Answer = Form<Omit<Written, "output_text">>',
    `type Event = Form<Own<sdk.${event}>>`,
    ...lines.map(([type, value], at) => {
      return `export const v${at}: ${type === reply ? 'Answer' : 'Event'} = own(${JSON.stringify(value)})`
    }),
  ]
  const folder = await mkdtemp(join(tmpdir(), 'gateway-sdk-types-'))
  try {
    const path = join(folder, 'answers.ts')
    await writeFile(path, source.join('\n'))
    expect(await complaintsAbout(path)).toEqual([])
  } finally {
    await rm(folder, { recursive: true })
  }
})

/**
 * OpenAI's service writes null for a schema's description, and for the usage of a response that has not ended. Open Responses
 * (specification 2026-04-24) demands both. By the SDK's types they may be absent alone.
 */
const WRITTEN_AS_NULL = [
  'type Schema = Omit<sdk.ResponseFormatTextJSONSchemaConfig, "description"> & { description?: string | null }',
  'type Text = Omit<sdk.ResponseTextConfig, "format"> & { format?: sdk.ResponseTextConfig["format"] | Schema }',
  'type Written = Omit<sdk.Response, "usage" | "text"> & { usage?: sdk.ResponseUsage | null; text?: Text }',
]

const TSC = join(dirname(require.resolve('typescript/package.json')), 'bin/tsc')
const OPTIONS = ['--ignoreConfig', '--noEmit', '--strict', '--skipLibCheck', '--module', 'nodenext', '--types', '']

async function complaintsAbout(path: string): Promise<string[]> {
  try {
    await promisify(execFile)(process.execPath, [TSC, ...OPTIONS, path], { maxBuffer: 64 * 1024 * 1024 })
    return []
  } catch (failure) {
    const { stdout } = failure as { stdout: string }
    return stdout.split('\n').filter((line) => line !== '')
  }
}
