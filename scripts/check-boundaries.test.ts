import { describe, expect, test } from 'vitest'
import { findViolations } from './boundaries/rules.ts'
import { readTree } from './boundaries/source-tree.ts'
import { readRepository } from './check-boundaries.ts'

/** A small workspace that keeps every rule. */
const WORKSPACE: Record<string, string> = {
  'package.json': manifest('model-gateway', [], ['vitest', '@gateway/servers']),
  'packages/contracts/package.json': manifest('@gateway/contracts', ['zod']),
  'packages/contracts/src/errors.ts': `import * as z from 'zod'\n`,
  'packages/pricing/package.json': manifest('@gateway/pricing', ['@gateway/contracts']),
  'packages/pricing/src/charge.ts': `import { thing } from '@gateway/contracts/errors'\n`,
  'packages/bus/package.json': manifest('@gateway/bus', ['nats']),
  'packages/bus/src/port.ts': `import { connect } from 'nats'\nexport interface Bus {}\n`,
  'dev/servers/package.json': manifest('@gateway/servers', []),
  'dev/servers/src/start.ts': `import { spawn } from 'node:child_process'\n`,
  'services/edge/package.json': manifest('@gateway/edge', ['@gateway/bus', '@gateway/contracts']),
  'services/edge/src/start.ts': `import { choose } from './core/choose.ts'\nimport '@gateway/bus/port'\n`,
  'services/edge/src/core/choose.ts': `import type { Bus } from '@gateway/bus/port'\nimport { thing } from '@gateway/contracts/errors'\n`,
  'services/edge/src/core/choose.test.ts': `import { test } from 'vitest'\nimport { startNats } from '@gateway/servers/start'\n`,
  'services/keys/package.json': manifest('@gateway/keys', []),
  'services/keys/src/start.ts': `export const start = 1\n`,
  'services/keys/src/config.ts': `export const config = 1\n`,
  'services/standalone/package.json': manifest('@gateway/standalone', ['@gateway/edge', '@gateway/keys']),
  'services/standalone/src/main.ts': `import { start } from '@gateway/edge/start'\nimport '@gateway/keys/start'\n`,
}

test('the repository keeps every rule', () => {
  expect(findViolations(readTree(readRepository()))).toEqual([])
})

test('a workspace in order breaks no rule', () => {
  expect(broken({})).toEqual([])
})

const COMPOSE = 'services never import services, standalone alone composes them by their start'
const DOWNWARD = 'packages never import services'
const INSIDE = 'relative imports stay in their own package'
const ENTRY_POINTS = 'nobody imports past the exports of a package, and each export has a user'
const CONTRACTS = 'contracts needs zod only'
const NO_IO = 'core, pricing and auto reach no I/O'
const NO_WORLD = 'core, pricing and auto take the time and chance as arguments'
const NO_CYCLE = 'imports form no cycle'
const PRODUCT = 'the product never imports what is for developers alone'
const ONE_DIRECTION = 'the folders of a service import each other in one direction'
const DECLARED = 'a package is imported only where it is declared'

describe.each<[what: string, rule: string, files: Record<string, string>]>([
  [
    'a service that imports another',
    COMPOSE,
    {
      'services/edge/package.json': manifest('@gateway/edge', ['@gateway/keys', '@gateway/bus', '@gateway/contracts']),
      'services/edge/src/keys.ts': `import { start } from '@gateway/keys/start'\n`,
    },
  ],
  [
    'a service that needs only types of another',
    COMPOSE,
    {
      'services/edge/package.json': manifest('@gateway/edge', ['@gateway/keys', '@gateway/bus', '@gateway/contracts']),
      'services/edge/src/keys.ts': `import type { Config } from '@gateway/keys/config'\n`,
    },
  ],
  [
    'standalone reaching past the start of a service',
    COMPOSE,
    { 'services/standalone/src/config.ts': `import { config } from '@gateway/keys/config'\n` },
  ],
  [
    'a package that imports a service',
    DOWNWARD,
    {
      'dev/servers/package.json': manifest('@gateway/servers', ['@gateway/keys']),
      'dev/servers/src/cluster.ts': `import { start } from '@gateway/keys/start'\n`,
    },
  ],
  [
    'a path that leads into another package',
    INSIDE,
    { 'packages/bus/src/nats.ts': `export * from '../../contracts/src/errors.ts'\n` },
  ],
  [
    'an import past the exports of a package',
    ENTRY_POINTS,
    {
      'packages/bus/package.json': manifest('@gateway/bus', ['nats'], [], { './port': './src/port.ts' }),
      'packages/bus/src/inbox.ts': `export const inbox = 1\n`,
      'services/edge/src/inbox.ts': `import '@gateway/bus/inbox'\n`,
    },
  ],
  [
    'an export that nobody imports',
    ENTRY_POINTS,
    {
      'packages/bus/package.json': manifest('@gateway/bus', ['nats'], [], {
        './port': './src/port.ts',
        './inbox': './src/inbox.ts',
      }),
      'packages/bus/src/inbox.ts': `export const inbox = 1\n`,
    },
  ],
  [
    'contracts with a library',
    CONTRACTS,
    {
      'packages/contracts/package.json': manifest('@gateway/contracts', ['zod', 'uuid']),
      'packages/contracts/src/jobs.ts': `import { v7 } from 'uuid'\n`,
    },
  ],
  [
    'contracts that read files',
    CONTRACTS,
    { 'packages/contracts/src/jobs.ts': `import { readFile } from 'node:fs'\n` },
  ],
  ['core that reads files', NO_IO, { 'services/edge/src/core/load.ts': `import { readFileSync } from 'node:fs'\n` }],
  [
    'a module of auto that reads files by itself',
    NO_IO,
    {
      'packages/auto/package.json': manifest('@gateway/auto', []),
      'packages/auto/src/model.ts': `import { readFileSync } from 'node:fs'\n`,
    },
  ],
  ['core that reads files, said the old way', NO_IO, { 'services/edge/src/core/load.ts': `import fs from 'fs'\n` }],
  [
    'core that loads I/O when it runs',
    NO_IO,
    { 'services/edge/src/core/load.ts': `export const load = () => import('node:http')\n` },
  ],
  [
    'core that reaches I/O through others',
    NO_IO,
    {
      'services/edge/src/core/load.ts': `import { way } from '../way.ts'\n`,
      'services/edge/src/way.ts': `import {\n  Bus,\n} from '@gateway/bus/port'\n`,
    },
  ],
  ['pricing that asks the network', NO_IO, { 'packages/pricing/src/rates.ts': `import { get } from 'node:https'\n` }],
  [
    'core that looks at the clock',
    NO_WORLD,
    { 'services/edge/src/core/now.ts': `export const now = () => Date.now()\n` },
  ],
  [
    'core that throws dice',
    NO_WORLD,
    { 'services/edge/src/core/dice.ts': `export const dice = () => Math.random()\n` },
  ],
  [
    'two files that import each other',
    NO_CYCLE,
    {
      'services/keys/src/a.ts': `import { b } from './b.ts'\n`,
      'services/keys/src/b.ts': `import './a.ts'\n`,
    },
  ],
  [
    'two files that need only types of each other',
    NO_CYCLE,
    {
      'services/keys/src/a.ts': `import type { B } from './b.ts'\n`,
      'services/keys/src/b.ts': `import { type A } from './a.ts'\n`,
    },
  ],
  [
    'two packages that depend on each other',
    NO_CYCLE,
    {
      'packages/bus/package.json': manifest('@gateway/bus', ['nats', '@gateway/servers']),
      'dev/servers/package.json': manifest('@gateway/servers', ['@gateway/bus']),
    },
  ],
  [
    'a type that holds what its users need, and imports them',
    ONE_DIRECTION,
    {
      'services/edge/src/edge-context.ts': `import type { Shedder } from './http/shedder.ts'\n`,
      'services/edge/src/http/shedder.ts': `export interface Shedder {}\n`,
      'services/edge/src/http/listen.ts': `import type { EdgeContext } from '../edge-context.ts'\n`,
    },
  ],
  [
    'two folders of a service that import each other, by different files',
    ONE_DIRECTION,
    {
      'services/edge/src/http/listen.ts': `import { prove } from '../auth/prove.ts'\n`,
      'services/edge/src/http/header.ts': `export const header = 1\n`,
      'services/edge/src/auth/prove.ts': `import { header } from '../http/header.ts'\n`,
    },
  ],
  ['a package that nobody declared', DECLARED, { 'services/keys/src/db.ts': `import pg from 'pg'\n` }],
  [
    'a package of the workspace that nobody declared',
    DECLARED,
    { 'services/keys/src/db.ts': `import '@gateway/bus/port'\n` },
  ],
  [
    'a package for tests in code that is not a test',
    DECLARED,
    { 'services/keys/src/db.ts': `import { test } from 'vitest'\n` },
  ],
  [
    'a package for developers in code that is not a test',
    PRODUCT,
    {
      'services/keys/package.json': manifest('@gateway/keys', ['@gateway/servers']),
      'services/keys/src/db.ts': `import { startNats } from '@gateway/servers/start'\n`,
    },
  ],
])('%s', (_what, rule, files) => {
  test(`breaks the rule: ${rule}`, () => {
    expect(broken(files)).toEqual([rule])
  })
})

describe('code that looks like a violation and is none', () => {
  test.each<[what: string, files: Record<string, string>]>([
    [
      'an import in a comment',
      { 'services/edge/src/core/note.ts': `/**\n * import('node:fs')\n */\n// import 'node:fs'\n` },
    ],
    [
      'data that a package reads once, as an import of JSON is read',
      {
        'packages/auto/package.json': manifest('@gateway/auto', []),
        'packages/auto/src/read-packed.ts': `import { readFileSync } from 'node:fs'\nexport const data = readFileSync\n`,
        'packages/auto/src/model.ts': `import { data } from './read-packed.ts'\nexport const model = data\n`,
      },
    ],
    ['a clock in a comment', { 'services/edge/src/core/note.ts': `// Never Date.now() here.\n` }],
    [
      'what only tests import',
      {
        'services/keys/src/stage.ts': `import { startNats } from '@gateway/servers/start'\n`,
        'services/keys/src/a.test.ts': `import { stage } from './stage.ts'\n`,
      },
    ],
  ])('%s', (_what, files) => {
    expect(broken(files)).toEqual([])
  })
})

function broken(changes: Record<string, string>): string[] {
  const tree = readTree(new Map(Object.entries({ ...WORKSPACE, ...changes })))
  return [...new Set(findViolations(tree).map(({ rule }) => rule))]
}

function manifest(
  name: string,
  dependencies: string[],
  devDependencies: string[] = [],
  exports: Record<string, string> = { './*': './src/*.ts' },
): string {
  const versions = (names: string[]): Record<string, string> => Object.fromEntries(names.map((item) => [item, '1.0.0']))
  return JSON.stringify({
    name,
    exports,
    dependencies: versions(dependencies),
    devDependencies: versions(devDependencies),
  })
}
