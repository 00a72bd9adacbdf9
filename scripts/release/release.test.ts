/**
 * A release is the same bytes for the same sources, opens with ordinary tools, and holds nothing that cannot run.
 */

import { execFileSync } from 'node:child_process'
import { cpSync, globSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { helm } from '../deploy/helm.ts'
import { filesBelow } from './archived-files.ts'
import { npmPackage } from './npm-package.ts'
import { sha256 } from './provenance.ts'
import { makeTarball } from './tarball.ts'
import { differingVersions, versionOf, versionOfImage } from './versions.ts'

const ROOT = join(import.meta.dirname, '../..')
const COMMITTED_AT = 1_790_000_000
const chart = filesBelow(join(ROOT, 'deploy/chart'))
const folder = mkdtempSync(join(tmpdir(), 'gateway-release-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test('every place names the version of package.json', () => {
  expect(differingVersions(ROOT)).toEqual([])
})

test('a service has a version of its own, which its changelog, its images and the chart must name', () => {
  const copy = mkdtempSync(join(folder, 'copy-'))
  const named = ['package.json', 'CHANGELOG.md', 'docker-compose.yml', 'deploy/Dockerfile', 'deploy/chart']
  const services = globSync('services/*/{package.json,CHANGELOG.md}', { cwd: ROOT })
  for (const path of [...named, ...services]) cpSync(join(ROOT, path), join(copy, path), { recursive: true })
  expect(differingVersions(copy)).toEqual([])
  expect(services.filter((path) => path.endsWith('CHANGELOG.md'))).toHaveLength(4)
  const manifest = join(copy, 'services/router/package.json')
  writeFileSync(manifest, readFileSync(manifest, 'utf8').replace(/"version": "[^"]+"/, '"version": "9.9.9"'))
  const release = versionOf(copy)
  expect(versionOfImage(copy, 'router')).toBe('9.9.9')
  expect(versionOfImage(copy, 'ctl')).toBe(release)
  expect(differingVersions(copy)).toEqual([
    `services/router/CHANGELOG.md: ${release}`,
    `docker-compose.yml, router: ${release}`,
    `deploy/chart/values.yaml, router: ${release}`,
  ])
})

test('tar reads back every file of an archive, at its place, however long its name', async () => {
  const name = fc.stringMatching(/^[a-z0-9][a-zé0-9._-]{0,90}$/)
  const path = fc.array(name, { minLength: 1, maxLength: 4 }).map((parts) => parts.join('/'))
  const content = fc.uint8Array({ maxLength: 2000 }).map(Buffer.from)
  const files = fc
    .uniqueArray(fc.record({ path, content, isExecutable: fc.boolean() }), {
      selector: (one) => one.path,
      minLength: 1,
      maxLength: 8,
    })
    // A file is no folder of another.
    .filter((all) => all.every((one) => !all.some((other) => other.path.startsWith(`${one.path}/`))))
  const archive = join(folder, 'some.tgz')
  await fc.assert(
    fc.asyncProperty(files, async (all) => {
      writeFileSync(archive, await makeTarball('top', all, COMMITTED_AT))
      const out = mkdtempSync(join(folder, 'out-'))
      execFileSync('tar', ['-xzf', archive, '-C', out])
      expect(globSync('**', { cwd: out, withFileTypes: true }).filter((one) => !one.isDirectory())).toHaveLength(
        all.length,
      )
      for (const one of all) {
        const at = join(out, 'top', one.path)
        expect(readFileSync(at).equals(one.content)).toBe(true)
        const { mode, mtimeMs } = statSync(at)
        expect({ mode: mode & 0o777, mtimeMs }).toEqual({
          mode: one.isExecutable ? 0o755 : 0o644,
          mtimeMs: COMMITTED_AT * 1000,
        })
      }
    }),
    { numRuns: 30 },
  )
})

test('the same files give the same bytes, in another order, later, and under another mask', async () => {
  const digest = async (all: typeof chart) => sha256(await makeTarball('model-gateway', all, COMMITTED_AT))
  const first = await digest(chart)
  const before = process.umask(0o077)
  try {
    expect(await digest(chart.toReversed())).toBe(first)
  } finally {
    process.umask(before)
  }
})

test('Helm takes the packaged chart', async () => {
  const archive = join(folder, 'chart.tgz')
  writeFileSync(archive, await makeTarball('model-gateway', chart, COMMITTED_AT))
  expect(helm('show', 'chart', archive)).toContain(`version: ${versionOf(ROOT)}`)
  expect(helm('template', 'gateway', archive, '--values', join(ROOT, 'deploy/values/minimal.yaml'))).toContain(
    'kind: Deployment',
  )
})

test('the npm package holds no TypeScript, no tests, and no import that leads nowhere', () => {
  const files = npmPackage(ROOT)
  const paths = new Set(files.map(({ path }) => path))
  expect([...paths].filter((path) => /\.tsx?$|\.test\./.test(path))).toEqual([])
  const { dependencies, optionalDependencies } = JSON.parse(
    files.find(({ path }) => path === 'package.json')!.content.toString(),
  ) as Record<string, Record<string, string>>
  const packages = new Set(Object.keys({ ...dependencies, ...optionalDependencies }))
  const lost = files
    .filter(({ path }) => /^(?:services|packages)\/.*\/src\/.*\.js$/.test(path))
    .flatMap(({ path, content }) => importsOf(content.toString()).map((specifier) => ({ path, specifier })))
    .filter(({ path, specifier }) => {
      if (specifier.startsWith('node:')) return false
      if (specifier.startsWith('.')) return !paths.has(join(path, '..', specifier))
      const [scope, name] = specifier.split('/')
      return !packages.has(scope!.startsWith('@') ? `${scope}/${name}` : scope!)
    })
  expect(lost).toEqual([])
})

function importsOf(code: string): string[] {
  return [...code.matchAll(/^(?:import|export)\b[^'"`;]*?from\s*'([^']+)'|\bimport\(\s*'([^']+)'\s*\)/gm)].map(
    ([, fixed, lazy]) => (fixed ?? lazy)!,
  )
}
