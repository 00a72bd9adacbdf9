import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const ROOT = join(import.meta.dirname, '../..')
const OXLINT = join(ROOT, 'node_modules/oxlint/bin/oxlint')

interface Config {
  jsPlugins: string[]
  overrides: { files: string[]; rules: Record<string, string> }[]
}

/** The rules of our own and of plugins that a file of the product breaks, by the repository's own settings. */
function brokenBy(source: string): string[] {
  const { jsPlugins, overrides } = JSON.parse(readFileSync(join(ROOT, '.oxlintrc.json'), 'utf8')) as Config
  const ofProduct = overrides.find(({ files }) => files.includes('services/*/src/**'))!
  const folder = mkdtempSync(join(tmpdir(), 'gateway-lint-'))
  try {
    const config = {
      plugins: [],
      categories: { correctness: 'off' },
      jsPlugins: jsPlugins.map((path) => (path.startsWith('.') ? join(ROOT, path) : join(ROOT, 'node_modules', path))),
      rules: ofProduct.rules,
    }
    writeFileSync(join(folder, '.oxlintrc.json'), JSON.stringify(config))
    writeFileSync(join(folder, 'product.ts'), source)
    const { stdout } = spawnSync(process.execPath, [OXLINT, '-f', 'unix', 'product.ts'], {
      cwd: folder,
      encoding: 'utf8',
    })
    return [...stdout.matchAll(/\[Error\/([^\]]+)\]/g)].map(([, rule]) => rule!)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const TABLE = `const KINDS: Record<string, number> = { text: 1 }\n`

test.each<[what: string, source: string, broken: string[]]>([
  [
    'a table that is looked into by a word',
    `${TABLE}export const of = (word: string) => KINDS[word]`,
    ['gateway(no-table-index)'],
  ],
  [
    'a table of which a word is asked',
    `${TABLE}export const has = (word: string) => word in KINDS`,
    ['gateway(no-table-index)'],
  ],
  [
    'a table whose words may be missing',
    `const KINDS: Readonly<Partial<Record<string, number>>> = { text: 1 }\nexport const of = (word: string) => KINDS[word]`,
    ['gateway(no-table-index)'],
  ],
  [
    'a table with a signature',
    `const KINDS: { [word: string]: number } = { text: 1 }\nexport function of(word: string) { return KINDS[word] }`,
    ['gateway(no-table-index)'],
  ],
  ['a name that is written there', `${TABLE}export const text = KINDS['text']`, []],
  [
    'a pattern that goes back and forth in a text of one letter',
    `export const isData = (url: string) => /^data:([^;,]+)[^,]*;base64,/.test(url)`,
    ['regexp(no-super-linear-backtracking)'],
  ],
  [
    'a pattern that begins anew at each letter of a run',
    `export const trim = (text: string) => text.replace(/ +$/, '')`,
    ['regexp(no-super-linear-move)'],
  ],
  ['a pattern that never steps back', `export const isId = (text: string) => /^[\\w-]+$/.test(text)`, []],
  ['a map', `const KINDS = new Map([['text', 1]])\nexport const of = (word: string) => KINDS.get(word)`, []],
  [
    'a table of known names',
    `const KINDS: Record<'text' | 'image', number> = { text: 1, image: 2 }\nexport const of = (kind: 'text' | 'image') => KINDS[kind]`,
    [],
  ],
])('%s', (_, source, broken) => {
  expect(brokenBy(source)).toEqual(broken)
})
