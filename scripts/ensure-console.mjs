/**
 * Builds the console when its sources changed since it was built last; otherwise reads and hashes them, some
 * milliseconds. It logs to stderr. `--base /elsewhere/` always builds, for another place.
 *
 * Two at once are safe: one builds, the other waits. A build goes into a folder of its own. It replaces the old one when it is
 * complete, so nobody is served half of one.
 */

import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { holdLock } from './hold-lock.mjs'

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)))
const home = path.join(root, 'services', 'console')
const dist = path.join(home, 'dist')
const fresh = path.join(home, 'dist.new')
const stamp = path.join(dist, '.sources')

/** Everything that a build depends on. */
const SOURCES = [
  ...['src', 'build', 'public', 'index.html', 'vite.config.ts', 'package.json', 'tsconfig.json'].map((name) =>
    path.join(home, name),
  ),
  path.join(root, 'packages', 'contracts', 'src'),
  path.join(root, 'packages', 'pricing', 'src'),
  path.join(root, 'pnpm-lock.yaml'),
]

export async function ensureConsole(options = []) {
  if (options.length === 0 && isBuilt()) return
  const lock = path.join(root, '.artifacts', 'building-console')
  await holdLock(
    lock,
    () => say('another process is building the console: waiting for it'),
    () => {
      if (options.length > 0 || !isBuilt()) build(options)
    },
  )
}

function isBuilt() {
  try {
    return fs.readFileSync(stamp, 'utf8') === wanted()
  } catch {
    return false
  }
}

function wanted() {
  const hash = createHash('sha256')
  for (const source of SOURCES) {
    for (const file of filesOf(source)) hash.update(`${path.relative(root, file)}\0`).update(fs.readFileSync(file))
  }
  return `${hash.digest('hex')}\n`
}

function filesOf(source) {
  if (fs.statSync(source).isFile()) return source.includes('.test.') ? [] : [source]
  const names = fs.readdirSync(source).sort()
  return names.flatMap((name) => filesOf(path.join(source, name)))
}

function build(options) {
  const started = Date.now()
  const sources = wanted()
  const vite = path.join(home, 'node_modules', 'vite', 'bin', 'vite.js')
  const node = path.join(root, 'node_modules', 'node', 'bin', 'node')
  const args = [vite, 'build', '--logLevel', 'warn', '--emptyOutDir', '--outDir', fresh, ...options]
  const { status, error } = spawnSync(node, args, { cwd: home, stdio: ['ignore', 2, 2] })
  if (status !== 0) throw error ?? new Error(`the console could not be built (${status}); the reason is above`)
  fs.writeFileSync(path.join(fresh, path.basename(stamp)), sources)
  fs.rmSync(dist, { recursive: true, force: true })
  fs.renameSync(fresh, dist)
  say(`built the console in ${((Date.now() - started) / 1000).toFixed(1)} s`)
}

function say(text) {
  process.stderr.write(`${text}\n`)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    await ensureConsole(process.argv.slice(2))
  } catch (error) {
    say(error.message)
    process.exit(1)
  }
}
