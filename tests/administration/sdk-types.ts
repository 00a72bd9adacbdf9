/**
 * The compiler holds responses to the types of the official SDK. Every member is there, of its kind, and null only where it may
 * be. Members beyond the types are no fault.
 */

import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import type { Outcome } from './walk.ts'

const require = createRequire(import.meta.url)
const SDK = join(dirname(require.resolve('openai')), 'index.mjs')
const TSC = join(dirname(require.resolve('typescript/package.json')), 'bin/tsc')
const OPTIONS = ['--ignoreConfig', '--noEmit', '--strict', '--skipLibCheck', '--module', 'nodenext', '--types', '']

/** The compiler's complaints, each with the name of its call. */
export async function complaintsAbout(outcomes: readonly Pick<Outcome, 'call' | 'body'>[]): Promise<string[]> {
  const names = outcomes.map(({ call }) => call.name)
  const source = [
    `import type OpenAI from ${JSON.stringify(SDK)}`,
    "type Organization = OpenAI['admin']['organization']",
    'type Writable<T> = { -readonly [K in keyof T]: Writable<T[K]> }',
    'declare function own<const T>(value: T): Writable<T>',
    // A page of the SDK has methods beside the members of the response.
    'type Members<T> = { [K in keyof T as T[K] extends (...given: never[]) => unknown ? never : K]: T[K] }',
    'type Page<T> = T extends { getPaginatedItems(): unknown } ? Pick<T, keyof Members<T> & ("data" | "has_more" | "last_id" | "next")> : T',
    // Also where every member of the type may be absent.
    'type Open<T> = T extends readonly (infer E)[] ? Open<E>[] : T extends object ? Opened<T> : T',
    'type Opened<T> = { [K in keyof T]: Open<T[K]> } & { [member: string]: unknown }',
    'type Reply<T> = T extends (...given: never[]) => infer R ? Open<Page<Awaited<R>>> : never',
    ...outcomes.map(({ call, body }) => {
      const type = call.name.split('.').reduce((sofar, name) => `${sofar}['${name}']`, 'Organization')
      return `export const ${call.name.replaceAll('.', '_')}: Reply<${type}> = own(${JSON.stringify(body)})`
    }),
  ]
  const first = source.length - outcomes.length + 1
  const folder = await mkdtemp(join(tmpdir(), 'gateway-administration-types-'))
  try {
    const path = join(folder, 'responses.ts')
    await writeFile(path, source.join('\n'))
    await promisify(execFile)(process.execPath, [TSC, ...OPTIONS, path], { maxBuffer: 64 * 1024 * 1024 })
    return []
  } catch (failure) {
    const { stdout = String(failure) } = failure as { stdout?: string }
    const nameAt = (line: string) => names[Number(/\((\d+),/.exec(line)?.[1]) - first] ?? ''
    const lines = stdout.split('\n').filter((line) => line !== '')
    return lines.map((line) => `${nameAt(line)}${line.replace(/^.*?: error/, ': error')}`)
  } finally {
    await rm(folder, { recursive: true })
  }
}
