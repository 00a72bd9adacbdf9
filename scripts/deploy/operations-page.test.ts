/** `docs/operations.md` names only metrics, files and commands that exist. */

import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse } from 'yaml'

const ROOT = join(import.meta.dirname, '../..')
const page = readFileSync(join(ROOT, 'docs/operations.md'), 'utf8')

test('every alert has its section, and no section is of an alert that there is not', () => {
  const { groups } = parse(readFileSync(join(ROOT, 'deploy/observability/alerts.yaml'), 'utf8')) as {
    groups: { rules: { alert?: string; labels?: { severity: string } }[] }[]
  }
  const alerts = groups.flatMap(({ rules }) => rules).filter(({ alert }) => alert !== undefined)
  const sections = [...page.matchAll(/^### (Gateway\w+)\n\n\*(\w+)\.\*/gm)].map(([, name, severity]) => [
    name,
    severity!.toLowerCase(),
  ])
  expect(sections).toEqual(alerts.map(({ alert, labels }) => [alert, labels?.severity]))
})

test('every file and command that it names is there', () => {
  const files = [...page.matchAll(/`((?:tests|dev|packages|services|deploy)\/[\w./-]+\.\w+)/g)].map(([, path]) => path!)
  expect(files.length).toBeGreaterThan(10)
  expect(files.filter((path) => !existsSync(join(ROOT, path)))).toEqual([])
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>
  }
  const commands = [...page.matchAll(/npm run ([\w:]+)/g)].map(([, name]) => name!)
  expect(commands.filter((name) => !(name in scripts))).toEqual([])
})

test('links to its own sections lead somewhere', () => {
  const headings = [...page.matchAll(/^#+ (.+)$/gm)].map(([, text]) =>
    text!
      .toLowerCase()
      .replaceAll(/[^\w -]/g, '')
      .replaceAll(' ', '-'),
  )
  const links = [...page.matchAll(/\]\(#([\w-]+)\)/g)].map(([, anchor]) => anchor!)
  expect(links.filter((anchor) => !headings.includes(anchor))).toEqual([])
})
