/**
 * Installs the project's packages when they are missing or older than the lockfile; otherwise does next to nothing. With
 * `--console`, sees to the console's files as well.
 *
 * Plain JavaScript without dependencies: it runs on the system's Node (18 or later), before the project's own is there.
 * Two at once are safe: one installs, the other waits. It logs to stderr; stdout stays with the command.
 */

import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { PNPM } from './pnpm-version.mjs'
import { ensureConsole } from './ensure-console.mjs'
import { holdLock } from './hold-lock.mjs'

const OLDEST_NODE = 18
/** The project runs on its own Node; a system's Node that is at least this can stand in for it. */
const PROJECT_NODE = 26

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)))
const stamp = path.join(root, 'node_modules', '.installed-lockfile')
const ownNode = path.join(root, 'node_modules', 'node', 'bin', 'node')
const lock = path.join(root, '.artifacts', 'installing')

try {
  if (!isInstalled()) {
    requireSystemNode()
    await holdLock(
      lock,
      () => say('another process is installing the packages: waiting for it'),
      async () => {
        if (!isInstalled()) await install()
      },
    )
  }
  if (process.argv.includes('--console')) await ensureConsole()
} catch (error) {
  say(error.message)
  process.exit(1)
}

function isInstalled() {
  return read(stamp) === wanted() && fs.existsSync(ownNode)
}

/** Differs whenever an install would differ: other packages, or a folder that was moved to another kind of machine. */
function wanted() {
  const hash = createHash('sha256')
  for (const file of ['pnpm-lock.yaml', 'pnpm-workspace.yaml']) hash.update(fs.readFileSync(path.join(root, file)))
  return `${process.platform}-${process.arch} ${hash.digest('hex')}\n`
}

function requireSystemNode() {
  const major = Number.parseInt(process.versions.node, 10)
  if (major >= OLDEST_NODE) return
  throw new Error(
    `this needs Node ${OLDEST_NODE} or later to start with, and found ${process.version}. Install one from https://nodejs.org`,
  )
}

async function install() {
  const reason = fs.existsSync(path.join(root, 'node_modules')) ? 'changed' : 'are not there yet'
  say(`the project's packages ${reason}: installing them (npx ${PNPM} install), a minute or two`)
  const started = Date.now()
  // Frozen: exactly the lockfile. Nobody could confirm pnpm's purge prompt.
  const args = [
    '--yes',
    PNPM,
    'install',
    '--frozen-lockfile',
    '--reporter=append-only',
    '--config.confirmModulesPurge=false',
  ]
  const code = await run('npx', args)
  if (code !== 0) {
    throw new Error(
      `the installation failed (${code}); the reason is above. It downloads from the npm registry: without a network, ` +
        `or behind a proxy that npm does not know (npm config set proxy), it cannot work.`,
    )
  }
  provideNode()
  fs.writeFileSync(stamp, wanted())
  say(`installed in ${Math.round((Date.now() - started) / 1000)} s`)
}

/** The project's Node comes by an install script, which some machines forbid. */
function provideNode() {
  if (fs.existsSync(ownNode)) return
  if (Number.parseInt(process.versions.node, 10) < PROJECT_NODE) {
    throw new Error(
      `Node ${PROJECT_NODE} was not delivered by npm (are install scripts disabled?). Install Node ${PROJECT_NODE} and try again.`,
    )
  }
  say(`Node was not delivered by npm: using ${process.execPath} (${process.version})`)
  fs.mkdirSync(path.dirname(ownNode), { recursive: true })
  fs.symlinkSync(process.execPath, ownNode)
}

/** Resolves with the exit code, or the signal's name. The child's output, all of it, goes to stderr. */
function run(command, args) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: root, stdio: ['ignore', 2, 2], env: environment() })
    child.on('error', (error) => reject(new Error(`cannot run ${command} (${error.code}): it comes with Node's npm`)))
    child.on('exit', (code, signal) => resolve(code ?? signal))
    // Ctrl-C reaches the child by itself; a signal to us alone has to be passed on.
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.once(signal, () => child.kill(signal))
  })
}

function environment() {
  const env = { ...process.env, CI: 'true' }
  // These would leave out packages for tests, and the project's own Node.
  for (const name of ['NODE_ENV', 'npm_config_production', 'npm_config_omit']) delete env[name]
  if (!isWritable(os.homedir())) {
    env.HOME = path.join(os.tmpdir(), `model-gateway-home-${os.userInfo().uid}`)
    fs.mkdirSync(env.HOME, { recursive: true, mode: 0o700 })
  }
  return env
}

function isWritable(folder) {
  try {
    fs.accessSync(folder, fs.constants.W_OK)
    return path.isAbsolute(folder)
  } catch {
    return false
  }
}

function read(file) {
  try {
    return fs.readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}

function say(text) {
  process.stderr.write(`${text}\n`)
}
