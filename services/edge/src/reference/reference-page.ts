/**
 * The API reference as one HTML page without a script: the contracts' operations, errors and headers. Its examples run as
 * they are printed. Everything that is put into the page is escaped here.
 */

import { ERROR_STATUS, type ErrorCode } from '@gateway/contracts/errors'
import * as z from 'zod'
import {
  responseHeaders,
  credentials,
  errorMeanings,
  errorsOf,
  type Example,
  type Operation,
  operationGroups,
} from './api-reference.ts'

interface ReferenceAddresses {
  baseUrl: string
  consoleUrl: string | null
  stylesheet: string
}

export function referencePage(
  { baseUrl, consoleUrl, stylesheet }: ReferenceAddresses,
  operations: Operation[],
): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>API reference · Model Gateway</title>
<link rel="stylesheet" href="${escape(stylesheet)}">
</head>
<body>
<a class="skip" href="#content">Skip to the reference</a>
<nav aria-label="Reference">
<p class="brand">Model Gateway</p>
<ul><li><a href="#start">Start</a></li></ul>
${operationGroups.map((group) => navigationOf(group, operations)).join('\n')}
<p class="group">More</p>
<ul><li><a href="#errors">Errors</a></li><li><a href="#headers">Headers</a></li><li><a href="/openapi.json">OpenAPI document</a></li></ul>
</nav>
<main id="content">
${startSection(baseUrl, consoleUrl)}
${operations.map((operation) => operationSection(baseUrl, operation)).join('\n')}
${errorSection()}
${headerSection()}
</main>
</body>
</html>
`
}

function navigationOf(group: string, operations: Operation[]): string {
  const links = operations
    .filter((operation) => operation.group === group)
    .map(({ id, summary }) => `<li><a href="#${id}">${escape(summary)}</a></li>`)
  return `<p class="group">${group}</p>\n<ul>${links.join('')}</ul>`
}

function startSection(baseUrl: string, consoleUrl: string | null): string {
  const getKey = consoleUrl
    ? `Get a key in the <a href="${escape(consoleUrl)}">console</a>`
    : 'Get a key with your sign-in token, as <a href="#mintDeveloperKey">described below</a>'
  return `<section id="start">
<h1>API reference</h1>
<p class="lead">An OpenAI-compatible gateway. Any OpenAI client works when its base URL is <code>${escape(baseUrl)}/v1</code>,
any Anthropic client when it is <code>${escape(baseUrl)}</code>.</p>
<ol>
<li>${getKey}, or <a href="#mintGuestKey">one for a device</a> without an account.</li>
<li>Send it as <code>Authorization: Bearer svc_…</code> or <code>x-api-key: svc_…</code>. In the examples it stands in <code>$SVC_KEY</code>.</li>
<li>Ask <a href="#createChatCompletion">your first question</a>.</li>
</ol>
<p>Bodies are JSON, answers too, but for a streamed chat, which is <code>text/event-stream</code>. Errors have a
stable <a href="#errors">code</a>; quote <code>x-request-id</code> when you report one.</p>
</section>`
}

function operationSection(baseUrl: string, operation: Operation): string {
  const { id, method, path, summary, description, credential, requestSchema, responseSchema, eventSchema } = operation
  const examples = operation.examples.map(
    (example) =>
      `<figure><figcaption>${escape(example.name)}</figcaption><pre tabindex="0"><code>${escape(curlExample(baseUrl, operation, example))}</code></pre></figure>`,
  )
  const codes: ErrorCode[] = errorsOf(operation)
  return `<section id="${id}">
<h2><a href="#${id}">${escape(summary)}</a></h2>
<p class="endpoint"><span class="method ${method.toLowerCase()}">${method}</span> <code>${escape(path)}</code></p>
${description.map((paragraph) => `<p>${escape(paragraph)}</p>`).join('\n')}
<p class="credential">${credentials[credential].sentence}</p>
<div class="columns">
<div>
${parameterTable(operation)}
${requestSchema ? memberTable('Request', requestSchema, 'input') : ''}
${memberTable('Answer', responseSchema, 'output')}
${eventSchema ? memberTable('Each event of a stream', eventSchema, 'output') : ''}
${codes.length > 0 ? `<h3>Errors</h3>\n<p>${codes.map((code) => `<a class="code" href="#${code}">${code}</a>`).join(' ')}</p>` : ''}
</div>
<div class="examples">
${examples.join('\n')}
</div>
</div>
</section>`
}

const REQUIRED = ' <b>required</b>'

function parameterTable({ query = [], pathParameters = [], headers = [] }: Operation): string {
  const inPath = pathParameters.map((parameter) => ({ ...parameter, required: true }))
  const inHeader = headers.map((header) => ({ ...header, required: false }))
  const rows = [...inPath, ...query, ...inHeader].map(
    ({ name, description, required }) =>
      `<tr><th scope="row"><code>${escape(name)}</code></th><td>${escape(description)}${required ? REQUIRED : ''}</td></tr>`,
  )
  return rows.length > 0 ? `<h3>Parameters</h3>\n<table><tbody>${rows.join('')}</tbody></table>` : ''
}

function memberTable(title: string, schema: z.ZodType, io: 'input' | 'output'): string {
  const rows = schemaRows(z.toJSONSchema(schema, { io, unrepresentable: 'any' }) as JsonSchema).map(
    ({ path, type, required }) =>
      `<tr><th scope="row"><code>${escape(path)}</code></th><td><span class="type">${escape(type)}</span>${required && io === 'input' ? REQUIRED : ''}</td></tr>`,
  )
  return rows.length > 0 ? `<h3>${title}</h3>\n<table><tbody>${rows.join('')}</tbody></table>` : ''
}

function errorSection(): string {
  const rows = Object.entries(errorMeanings).map(
    ([code, { condition, action }]) =>
      `<tr id="${code}"><th scope="row"><code>${code}</code></th><td>${ERROR_STATUS[code as ErrorCode]}</td><td>${escape(condition)} <span class="action">${escape(action)}</span></td></tr>`,
  )
  return `<section id="errors">
<h2><a href="#errors">Errors</a></h2>
<p>Most bodies are flat: <code>{"error": "Invalid key", "code": "INVALID_KEY"}</code>. Those of 402 and 429 hold an object
in <code>error</code>, with the code, a message and the time to wait. So do all under <code>/v1/responses</code> and
<code>/v1/messages</code>, in the shape of their APIs.</p>
<table class="wide"><tbody>${rows.join('\n')}</tbody></table>
</section>`
}

function headerSection(): string {
  const rows = Object.entries(responseHeaders).map(
    ([name, meaning]) => `<tr><th scope="row"><code>${name}</code></th><td>${escape(meaning)}</td></tr>`,
  )
  return `<section id="headers">
<h2><a href="#headers">Headers of an answer</a></h2>
<table class="wide"><tbody>${rows.join('\n')}</tbody></table>
</section>`
}

const ENTITIES = new Map(
  Object.entries<string>({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }),
)

export function escape(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES.get(character)!)
}

/** An operation's example as a command that runs as it is printed, with the credential in an environment variable. */
export function curlExample(baseUrl: string, operation: Operation, { body }: Example): string {
  const { method, credential } = operation
  const { variable } = credentials[credential]
  const lines = [`curl ${body?.['stream'] === true ? '-N ' : ''}${quoted(baseUrl + pathOf(operation))}`]
  if (method === 'POST' && !body) lines.push('-X POST')
  if (variable) lines.push(`-H "authorization: Bearer ${variable}"`)
  if (body) lines.push(`-H 'content-type: application/json'`, `-d ${quoted(JSON.stringify(body, null, 2))}`)
  return lines.join(' \\\n  ').replaceAll('$KEY', `'"$SVC_KEY"'`)
}

function pathOf({ path, pathParameters = [], query = [] }: Operation): string {
  const filled = pathParameters.reduce((sofar, { name, example }) => sofar.replace(`{${name}}`, example), path)
  const inputs = query.flatMap(({ name, example }) => (example ? [`${name}=${example}`] : []))
  return inputs.length > 0 ? `${filled}?${inputs.join('&')}` : filled
}

/** For a POSIX shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}

interface SchemaRow {
  path: string
  type: string
  required: boolean
}

/** The part of JSON schema that the contracts produce. */
export interface JsonSchema {
  type?: string | string[]
  const?: unknown
  enum?: unknown[]
  anyOf?: JsonSchema[]
  properties?: Record<string, JsonSchema>
  required?: string[]
  items?: JsonSchema
  default?: unknown
  format?: string
}

/** Each member by its path (`choices[].message.content`), in the order of the schema. */
export function schemaRows(schema: JsonSchema, prefix = ''): SchemaRow[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, member]) => {
    const path = prefix === '' ? name : `${prefix}.${name}`
    const required = schema.required?.includes(name) === true && member.default === undefined
    const row = { path, type: typeOf(member), required }
    const { inner, suffix } = membersOf(member)
    return inner ? [row, ...schemaRows(inner, path + suffix)] : [row]
  })
}

/** The object whose members follow the row: the schema itself, the items of its array, or the one alternative that has any. */
function membersOf(schema: JsonSchema): { inner: JsonSchema | null; suffix: string } {
  if (schema.properties) return { inner: schema, suffix: '' }
  if (schema.items) {
    const { inner, suffix } = membersOf(schema.items)
    return { inner, suffix: `[]${suffix}` }
  }
  const holding = (schema.anyOf ?? []).map(membersOf).filter(({ inner }) => inner !== null)
  return holding.length === 1 ? holding[0]! : { inner: null, suffix: '' }
}

function typeOf(schema: JsonSchema): string {
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(' | ')
  if (schema.anyOf) return [...new Set(schema.anyOf.map(typeOf))].join(' | ')
  if (schema.items) return `array of ${typeOf(schema.items)}`
  const named = Array.isArray(schema.type) ? schema.type.join(' | ') : (schema.type ?? 'any')
  return schema.format ? `${named} (${schema.format})` : named
}
