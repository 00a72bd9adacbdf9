/**
 * The config file's `exports`: files with the ledger's rows, by day, or the rows as events that are pushed.
 */

import * as z from 'zod'

export const exportFormats = ['parquet', 'ndjson', 'cloudevents'] as const
export type ExportFormat = (typeof exportFormats)[number]
export const exportColumns = ['ledger', 'focus', 'cloudevents'] as const
export type ExportColumns = (typeof exportColumns)[number]

const MOST_EXPORTS = 10

const id = z.string().regex(/^[a-z0-9][a-z0-9_-]{0,62}$/, 'must be lower-case letters, digits, - and _, at most 63')

const destination = z.string().refine((value) => faultOfDestination(value) === null, {
  error: (issue) => faultOfDestination(String(issue.input)) ?? '',
})

/** Null where it is a folder, a bucket or the address of a collector. */
function faultOfDestination(value: string): string | null {
  const url = URL.canParse(value) ? new URL(value) : null
  if (url === null || url.hash !== '' || url.username !== '' || url.password !== '') return EXPECTED
  if (isCollector(value)) return null
  if (url.search !== '' || url.port !== '') return EXPECTED
  if (url.protocol === 'file:') return url.host === '' && url.pathname !== '/' ? null : EXPECTED
  return url.protocol === 's3:' && /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(url.host) ? null : EXPECTED
}
const EXPECTED =
  'must be a folder such as file:///var/exports, a bucket such as s3://bucket/prefix, or the https address of a collector of events'

/** CloudEvents are pushed there. */
const isCollector = (to: string) => /^https?:/.test(to)

const exportConfig = z
  .strictObject({
    /** Names its progress: a new id exports the whole ledger. */
    id: id.optional(),
    to: destination,
    format: z.enum(exportFormats),
    columns: z.enum(exportColumns).default('ledger'),
    /** Of S3-compatible storage; AWS itself where it and the environment name none. */
    endpoint: z.url({ protocol: /^https?$/ }).optional(),
    region: z.string().min(1).max(64).optional(),
    /** `endpoint/bucket/key` instead of `bucket.endpoint/key`. */
    pathStyle: z.boolean().optional(),
    /** Of a collector; may be `${NAME}`. */
    token: z.string().min(1).optional(),
    /** Lets the endpoint, or the collector, have a private address, and the collector one without TLS. */
    allowPrivate: z.boolean().default(false),
  })
  .refine(({ columns, format }) => columns !== 'cloudevents' || format === 'ndjson', {
    path: ['format'],
    message: 'must be ndjson where columns is cloudevents',
  })
  .refine(({ to, format }) => isCollector(to) === (format === 'cloudevents'), {
    path: ['format'],
    message: 'must be cloudevents where `to` is an https address, and nowhere else',
  })
  .refine(({ columns, format }) => columns === 'ledger' || format !== 'cloudevents', {
    path: ['columns'],
    message: 'must be left out where format is cloudevents',
  })
  .refine(({ to, allowPrivate }) => !to.startsWith('http:') || allowPrivate, {
    path: ['to'],
    message: 'must be an https address; http needs `allowPrivate: true`',
  })
  .refine(({ token, format }) => token === undefined || format === 'cloudevents', {
    path: ['token'],
    message: 'is for a collector of events alone',
  })
  .transform(({ id: given, ...rest }) => ({ id: given ?? idOf(rest), ...rest }))

/** Two exports to one place differ in their format or columns. */
function idOf({ to, format, columns }: { to: string; format: ExportFormat; columns: ExportColumns }): string {
  const place = to.replace(/^[a-z0-9]+:\/+/, '')
  const words = `${place}-${columns === 'ledger' ? '' : `${columns}-`}${format}`
  const plain = words
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-/, '')
  return plain.length <= MOST_ID ? plain : `${plain.slice(0, MOST_ID - HASH_DIGITS - 1)}-${hashOf(words)}`
}
const MOST_ID = 63
const HASH_DIGITS = 8

/** FNV-1a: this package has no I/O, and so no hash of Node. */
function hashOf(text: string): string {
  let hash = 0x811c9dc5
  for (const character of text) hash = Math.imul(hash ^ character.codePointAt(0)!, 0x01000193) >>> 0
  return hash.toString(16).padStart(HASH_DIGITS, '0')
}

export const exportsSection = z
  .array(exportConfig)
  .max(MOST_EXPORTS)
  .superRefine((exports, { addIssue }) => {
    const seen = new Set<string>()
    for (const [index, { id: name }] of exports.entries()) {
      if (seen.has(name)) addIssue({ code: 'custom', path: [index, 'id'], message: `names ${name} a second time` })
      seen.add(name)
    }
  })

export type ExportConfig = z.infer<typeof exportConfig>
