/**
 * The OpenAPI 3.1 document of the gateway, made of its operations and the schemas that the gateway parses with.
 */

import { CLIENT_DIALECTS } from '@gateway/contracts/client-dialects'
import { ERROR_STATUS, type ErrorCode, errorSchemas } from '@gateway/contracts/errors'
import type { ClientDialect } from '@gateway/contracts/vendors'
import * as z from 'zod'
import { ANTHROPIC_VERSION, dialectOfPath } from '../core/read-path.ts'
import { responseHeaders, credentials, errorMeanings, errorsOf, type Operation } from './api-reference.ts'

interface OpenApiDocument {
  openapi: '3.1.0'
  info: { title: string; version: string; description: string }
  servers: { url: string }[]
  paths: Record<string, Record<string, object>>
  components: Record<string, Record<string, object>>
}

/** `serverUrl`: the address that clients use, without `/v1`. */
export function openApiDocument(serverUrl: string, operations: Operation[]): OpenApiDocument {
  const paths: OpenApiDocument['paths'] = {}
  for (const operation of operations) {
    paths[operation.path] = { ...paths[operation.path], [operation.method.toLowerCase()]: describe(operation) }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Model Gateway',
      version: '1',
      description:
        'An OpenAI-compatible inference gateway: point an OpenAI client at the server address followed by /v1.',
    },
    servers: [{ url: serverUrl }],
    paths,
    components: {
      securitySchemes: {
        key: { type: 'http', scheme: 'bearer', description: 'An API key (svc_…).' },
        apiKey: {
          type: 'apiKey',
          in: 'header',
          name: 'x-api-key',
          description: 'The same, as Anthropic’s clients send it.',
        },
        adminKey: { type: 'http', scheme: 'bearer', description: 'An admin key (svc_admin_…).' },
        signIn: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT', description: 'A sign-in token.' },
      },
      schemas: Object.fromEntries(
        Object.entries(errorSchemas).map(([name, schema]) => [name, schemaOf(schema, 'output')]),
      ),
    },
  }
}

function describe(operation: Operation): object {
  const { id, group, summary, description, credential, examples } = operation
  const { requestSchema, requestType = 'application/json', isBodyOptional = false } = operation
  const bodies = examples.flatMap(({ name, body }) => (body ? [[name, { value: body }]] : []))
  return {
    operationId: id,
    tags: [group],
    summary,
    ...(description.length > 0 && { description: description.join('\n\n') }),
    security: credentials[credential].security,
    ...parametersOf(operation),
    ...(requestSchema && {
      requestBody: {
        required: !isBodyOptional,
        content: {
          [requestType]: { schema: schemaOf(requestSchema, 'input'), examples: Object.fromEntries(bodies) },
        },
      },
    }),
    responses: { ...success(operation), ...failures(operation) },
  }
}

function parametersOf({ query = [], pathParameters = [], headers = [] }: Operation): object {
  const parameters = [
    ...pathParameters.map((parameter) => ({ in: 'path', required: true, schema: { type: 'string' }, ...parameter })),
    ...query.map((parameter) => ({
      in: 'query',
      required: false,
      ...parameter,
      ...queryForm(textOf(parameter.schema)),
    })),
    ...headers.map((header) => ({ in: 'header', required: false, ...header, schema: textOf(header.schema) })),
  ]
  return parameters.length > 0 ? { parameters } : {}
}

/** `range[from]=1` is a member of an object. */
function queryForm(schema: { type?: unknown }): object {
  return schema.type === 'object' ? { style: 'deepObject', explode: true, schema } : { schema }
}

const textOf = (schema: z.ZodType | undefined): object => (schema ? schemaOf(schema, 'input') : { type: 'string' })

function success({ path, group, responseSchema, eventSchema, isUpgrade }: Operation): object {
  if (isUpgrade) return { 101: { description: 'The connection is a WebSocket from now on.' } }
  const headers = group === 'Inference' ? responseHeaders : {}
  const ok = {
    description: 'Success',
    headers: Object.fromEntries(
      Object.entries(headers).map(([name, description]) => [name, { description, schema: { type: 'string' } }]),
    ),
    content: {
      'application/json': { schema: schemaOf(responseSchema, 'output') },
      ...(eventSchema && { 'text/event-stream': { schema: eventOf(eventSchema, dialectOfPath(path)) } }),
    },
  }
  return { 200: ok }
}

/** One event: its `data` is a text that holds JSON. OpenAI's last one is `[DONE]`; events of other APIs than chat have names. */
function eventOf(schema: z.ZodType, dialect: ClientDialect): object {
  const json = { type: 'string', contentMediaType: 'application/json', contentSchema: schemaOf(schema, 'output') }
  const data = dialect !== 'messages' ? { anyOf: [{ const: '[DONE]' }, json] } : json
  return { type: 'object', required: ['data'], properties: { event: { type: 'string' }, data } }
}

function failures(operation: Operation): Record<string, object> {
  const byStatus = Map.groupBy(errorsOf(operation), (code) => ERROR_STATUS[code])
  const failure = (codes: ErrorCode[], description: string) => {
    const schemas = codes.flatMap((code) =>
      dialectsOf(operation).flatMap((name) => CLIENT_DIALECTS[name].errorSchemas(code)),
    )
    return { description, content: { 'application/json': { schema: anyOf(schemas) } } }
  }
  return {
    ...Object.fromEntries(
      [...byStatus].map(([status, codes]) => [
        status,
        failure(codes, codes.map((code) => `${code}: ${errorMeanings[code].condition}`).join(' ')),
      ]),
    ),
    431: failure(['VALIDATION_ERROR'], 'VALIDATION_ERROR: Address and headers are longer than 16 KB.'),
  }
}

/** Those in which its errors may come. */
function dialectsOf({ path, headers = [] }: Operation): ClientDialect[] {
  const ofPath = dialectOfPath(path)
  return headers.some(({ name }) => name === ANTHROPIC_VERSION) ? [ofPath, 'messages'] : [ofPath]
}

function anyOf(schemas: string[]): object {
  const references = [...new Set(schemas)].map((name) => ({ $ref: `#/components/schemas/${name}` }))
  return references.length === 1 ? references[0]! : { anyOf: references }
}

function schemaOf(schema: z.ZodType, io: 'input' | 'output'): object {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: 'any' })
  return rest
}
