/**
 * Checks that the code keeps to the rules of the layout (`boundaries/rules.ts`), and names each violation.
 */

import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { findViolations } from './boundaries/rules.ts'
import { readTree } from './boundaries/source-tree.ts'

const ROOT = join(import.meta.dirname, '..')
const SOURCES = [
  'package.json',
  '{packages,services,dev}/*/package.json',
  '{packages,services}/*/{src,test}/**/*.{ts,tsx,mts}',
]
const ROOT_SOURCES = ['{tests,scripts,dev,training}/**/*.ts', 'vitest.config.ts']

/** Every source file and manifest of the repository, by its path. */
export function readRepository(): Map<string, string> {
  const paths = globSync([...SOURCES, ...ROOT_SOURCES], { cwd: ROOT, exclude: (name) => name.includes('node_modules') })
  return new Map(paths.sort().map((path) => [path, readFileSync(join(ROOT, path), 'utf8')]))
}

if (import.meta.main) {
  const texts = readRepository()
  const violations = findViolations(readTree(texts))
  for (const { rule, path, message } of violations) console.error(`${path}: ${message}\n  rule: ${rule}`)
  console.log(`${texts.size} files, ${violations.length} broken rules`)
  process.exitCode = violations.length > 0 ? 1 : 0
}
