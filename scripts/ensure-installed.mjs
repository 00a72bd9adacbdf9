/**
 * Installs the workspace's dependencies where they are missing or older than the lockfile. Every npm script runs this
 * first, so that a fresh clone needs no command of its own.
 *
 * Plain JavaScript for the system's Node (18 or newer), without dependencies. When nothing is to be done it costs a hash
 * of the lockfile. Two at once are safe: the second waits for the first.
 */

import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const PNPM = 'pnpm@12.21.0'
const OLDEST_NODE = 18
const root = dirname(dirname(fileURLToPath(import.meta.url)))
const stampFile = join(root, 'node_modules', '.installed-lockfile')
const ownNode = join(root, 'node_modules', 'node', 'bin', 'node')
const lockFolder = join(root, 'node_modules', '.installing')

if (Number(process.versions.node.split('.')[0]) < OLDEST_NODE) {
  fail(`Node ${process.versions.node} is too old: install Node ${OLDEST_NODE} or newer.`)
}
if (!isInstalled()) {
  const unlock = lock()
  try {
    if (!isInstalled()) install()
  } finally {
    unlock()
  }
}

function isInstalled() {
  return existsSync(ownNode) && existsSync(stampFile) && readFileSync(stampFile, 'utf8') === wanted()
}

/** Changes with everything that decides what an install does. */
function wanted() {
  const hash = createHash('sha256')
  for (const file of ['pnpm-lock.yaml', 'pnpm-workspace.yaml']) hash.update(readFileSync(join(root, file)))
  return `${hash.digest('hex')} ${process.platform} ${process.arch}`
}

function install() {
  process.stderr.write('Installing dependencies (the first time takes up to a minute) …\n')
  const result = spawnSync('npx', ['--yes', PNPM, 'install', '--frozen-lockfile', '--config.confirm-modules-purge=false'], {
    cwd: root,
    stdio: ['ignore', process.stderr.fd, process.stderr.fd],
  })
  if (result.error) fail(`npx cannot be run (${result.error.message}): install npm.`)
  if (result.status !== 0) {
    fail(`The dependencies could not be installed (${PNPM} ended with ${result.signal ?? result.status}; its words are above). Check that the npm registry is reachable, then run the command again.`)
  }
  if (!existsSync(ownNode)) fail(`The dependencies were installed, but ${ownNode} is missing: remove node_modules and run the command again.`)
  writeFileSync(stampFile, wanted())
}

/** A folder is made by exactly one process. A holder that is gone left its lock behind. */
function lock() {
  mkdirSync(dirname(lockFolder), { recursive: true })
  const holderFile = join(lockFolder, 'pid')
  for (;;) {
    try {
      mkdirSync(lockFolder)
      writeFileSync(holderFile, String(process.pid))
      return () => rmSync(lockFolder, { recursive: true, force: true })
    } catch (error) {
      if (error.code !== 'EEXIST') throw error
    }
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200)
    const holder = existsSync(holderFile) ? Number(readFileSync(holderFile, 'utf8')) : 0
    if (holder && !isAlive(holder)) rmSync(lockFolder, { recursive: true, force: true })
  }
}

function isAlive(pid) {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error.code === 'EPERM'
  }
}

function fail(message) {
  process.stderr.write(`${message}\n`)
  process.exit(1)
}
