/**
 * The calls of the administration API in the API reference, made of the rows of their table.
 */

import type { Operation as Row } from '@gateway/contracts/administration/operation'
import { operations } from '@gateway/contracts/administration/operations'
import type { ErrorCode } from '@gateway/contracts/errors'
import type { z } from 'zod'
import type { Operation } from '../reference/api-reference.ts'

const DIFFERS = 'Differs from OpenAI: '

export const administrationReference: Operation[] = Object.entries<Row>(operations).map(([name, row]) => {
  const hasBody = Object.keys(row.body.shape).length > 0
  const query = Object.entries(row.query.shape).map(([member, schema]) => ({
    name: member,
    description: '',
    required: !(schema as z.ZodType).safeParse(undefined).success,
    schema: schema as z.ZodType,
  }))
  return {
    id: name,
    group: 'Administration',
    summary: name,
    description: [sentence(row.about), ...(row.deviation === undefined ? [] : [DIFFERS + sentence(row.deviation)])],
    method: row.method,
    path: row.path,
    credential: 'administrator',
    query,
    pathParameters: [...row.path.matchAll(/\{(\w+)\}/g)].map(([, member]) => ({
      name: member!,
      description: '',
      example: `$${member!.toUpperCase()}`,
    })),
    ...(row.isYaml
      ? { requestSchema: row.body.shape['yaml'] as z.ZodType, requestType: 'application/yaml' }
      : hasBody && { requestSchema: row.body }),
    // An empty text is a config, too: the defaults.
    ...((row.isYaml || row.body.safeParse({}).success) && { isBodyOptional: true }),
    responseSchema: row.output,
    examples: [],
    errors: errorsOf(row),
  }
})

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`
}

function errorsOf({ method, path, query, namesThing }: Row): ErrorCode[] {
  const takesQuery = Object.keys(query.shape).length > 0
  return [
    ...(takesQuery ? (['VALIDATION_ERROR'] as const) : []),
    ...(namesThing || path.includes('{') ? (['NOT_FOUND'] as const) : []),
    ...(method === 'GET' ? [] : (['CONFLICT'] as const)),
    'rate_limit_exceeded',
  ]
}
