/**
 * Prometheus' own checker: the one on this machine, else the one in Debian's package. The package is unpacked into the
 * workspace's cache and not installed, because installing it would start a server.
 */

import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { findProgram } from '@gateway/servers/find-program'

const run = promisify(execFile)
const CACHE = join(import.meta.dirname, '../../../node_modules/.cache/promtool')
const ADVICE = 'Install Prometheus, whose promtool is then found on the PATH.'

/** Returns the output; throws with it when promtool found fault. */
export async function promtool(...args: string[]): Promise<string> {
  const program = findProgram('promtool') ?? (await unpackOnce())
  const { stdout, stderr } = await run(program, args)
  return stdout + stderr
}

/** The server itself, from where its checker comes. */
export async function findPrometheus(): Promise<string> {
  return findProgram('prometheus') ?? join(await unpackOnce(), '../prometheus')
}

async function unpackOnce(): Promise<string> {
  const program = join(CACHE, 'usr/bin/promtool')
  if (existsSync(program)) return program
  if (process.env['GATEWAY_NO_INSTALL']) throw new Error(`promtool is missing and may not be fetched. ${ADVICE}`)
  if (!findProgram('apt-get') || !findProgram('dpkg-deb')) throw new Error(`promtool is missing. ${ADVICE}`)
  process.stderr.write("promtool is missing: unpacking Debian's package prometheus into node_modules/.cache\n")
  await mkdir(join(CACHE, '..'), { recursive: true })
  const folder = await mkdtemp(`${CACHE}-`)
  try {
    await download(folder)
    const [archive] = readdirSync(folder).filter((file) => file.endsWith('.deb'))
    await run('dpkg-deb', ['--extract', join(folder, archive!), join(folder, 'package')])
    await rename(join(folder, 'package'), CACHE)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
  return program
}

/** A machine that has never fetched packages has no list of them. */
async function download(folder: string): Promise<void> {
  const get = () => run('apt-get', ['--quiet', 'download', 'prometheus'], { cwd: folder })
  await get().catch(async () => {
    await run('apt-get', ['--quiet', 'update'])
    await get()
  })
}
