/**
 * `docs/configuration.md` against the code: every field and variable is there, none is made up, and each default is true.
 * `npm test -- packages/service/src/configuration-page.test.ts -u` writes the table of variables.
 */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { configFile } from '@gateway/contracts/config'
import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { variables } from './environment.ts'

const PAGE = join(import.meta.dirname, '../../../docs/configuration.md')
const page = readFileSync(PAGE, 'utf8')

/** The first two columns of the rows of the table below a heading. */
function tableBelow(heading: string): [name: string, fallback: string][] {
  const section = page.split(/^#+ /m).find((part) => part.startsWith(`${heading}\n`)) ?? ''
  const rows = section.split('\n').filter((line) => line.startsWith('| `'))
  return rows.map((row) => {
    const [, name = '', fallback = ''] = row.split('|').map((cell) => cell.trim())
    return [name.replaceAll('`', ''), fallback]
  })
}

interface JsonSchema {
  type?: string
  properties?: Record<string, JsonSchema>
  required?: string[]
  items?: JsonSchema
  anyOf?: JsonSchema[]
  oneOf?: JsonSchema[]
  default?: unknown
}

/** Every field of a section's items with its default as the page writes it. */
function fieldsOf(schema: JsonSchema, prefix = ''): [name: string, fallback: string][] {
  const variants = schema.anyOf ?? schema.oneOf
  if (variants) {
    const all = variants.flatMap((variant) => fieldsOf(variant, prefix))
    return [...new Map(all)].map(([name, fallback]) => [name, fallback])
  }
  return Object.entries(schema.properties ?? {}).flatMap(([name, field]): [string, string][] => {
    const path = prefix + name
    if (field.properties) return fieldsOf(field, `${path}.`)
    if (field.items?.properties) return fieldsOf(field.items, `${path}[].`)
    return [[path, defaultOf(field, schema.required?.includes(name) ?? false)]]
  })
}

function defaultOf(field: JsonSchema, required: boolean): string {
  if (field.default === undefined) return required ? 'required' : 'none'
  return written(field.default)
}

function written(value: unknown): string {
  if (Array.isArray(value)) return value.length === 0 ? 'none' : `\`[${value.join(', ')}]\``
  return `\`${typeof value === 'string' ? value : JSON.stringify(value)}\``
}

const schema = z.toJSONSchema(configFile, { io: 'input', unrepresentable: 'any' }) as JsonSchema
const byName = ([a]: [string, string], [b]: [string, string]) => (a < b ? -1 : 1)

describe('the config file', () => {
  test('has the sections of the page', () => {
    expect([...page.matchAll(/^### `(\w+)`$/gm)].map(([, section]) => section)).toEqual(
      Object.keys(schema.properties ?? {}),
    )
  })

  const sections = Object.entries(schema.properties ?? {}).filter(([, { items }]) => items)

  test.each(sections)('%s: the page has every field with its default', (section, { items }) => {
    const fields = fieldsOf(items ?? {})
    expect(fields.length).toBeGreaterThan(5)
    expect(tableBelow(`\`${section}\``).toSorted(byName)).toEqual(fields.toSorted(byName))
  })
})

test('the table of variables is the one of the code', async () => {
  await expect(withVariables()).toMatchFileSnapshot(PAGE)
})

function withVariables(): string {
  const table = /(?<=<!-- variables: [^\n]*\n)[^]*(?=<!-- \/variables -->)/
  if (!table.test(page)) throw new Error(`${PAGE} has lost the marks of its table of variables`)
  const rows = Object.entries<z.ZodType>(variables).map(([name, form]) => `${rowOf(name, form)}\n`)
  return page.replace(table, () => `| Variable | Default | Meaning |\n|---|---|---|\n${rows.join('')}`)
}

/** A default that follows from another variable stands at the end of the description. */
function rowOf(name: string, form: z.ZodType): string {
  const [, meaning = '', fallback] = /^(.*?)(?:; ([^;]+) when not set)?$/.exec(form.description ?? '') ?? []
  const parsed = form.safeParse(undefined)
  const value = parsed.success && parsed.data !== undefined ? written(parsed.data) : undefined
  if (parsed.success && !value && !fallback)
    throw new Error(`${name}: its description does not end in "… when not set"`)
  return `| \`${name}\` | ${fallback ?? value ?? 'required'} | ${meaning} |`
}
