#!/usr/bin/env node
/**
 * `model-gateway`: the whole gateway in one process. `model-gateway ctl …`: the operator's command line.
 *
 * Any Node from 18 on runs this file. The gateway runs on the Node that it was tested with, which npm installs beside it.
 * Where npm's scripts are off, it runs on this Node, if that has the same major version or a later one.
 */

import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'

const OLDEST_MAJOR = 26

const [first, ...rest] = process.argv.slice(2)
const [entry, args] =
  first === 'ctl' ? ['packages/ctl/src/main.js', rest] : ['services/standalone/src/main.js', process.argv.slice(2)]
const node = findNode()
if (node === null) {
  process.stderr.write(
    `model-gateway needs Node ${OLDEST_MAJOR} or later, and this is ${process.version}. Install it, or let npm run the install script of the package \`node\`.\n`,
  )
  process.exit(1)
}
const child = spawn(node, [fileURLToPath(new URL(`../${entry}`, import.meta.url)), ...args], { stdio: 'inherit' })
// A terminal sends Ctrl-C to both processes; a supervisor signals this one alone.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
child.on('exit', (code, signal) => {
  process.exitCode = code ?? (signal === 'SIGKILL' ? 137 : 143)
})

function findNode() {
  try {
    const own = createRequire(import.meta.url).resolve('node/bin/node')
    if (existsSync(own)) return own
  } catch {
    // It is not there.
  }
  return Number(process.versions.node.split('.')[0]) >= OLDEST_MAJOR ? process.execPath : null
}
