import { execFileSync, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, realpath, rm, stat, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { openDatabase } from '@gateway/postgres/database'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { postgresProcessesOn, startTimeOf } from './processes.ts'
import { freePort } from './free-port.ts'
import { startEmbeddedPostgres } from './start.ts'
import { unprivilegedAccount } from './unprivileged-account.ts'

/** Mode 0700: as root, PostgreSQL's own account cannot reach the folders below by their path. */
let folder: string
let directory: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'embedded-postgres-'))
  directory = join(folder, 'postgres')
})

afterAll(() => rm(folder, { recursive: true, force: true }))

test('committed rows are there after a stop and a start', async () => {
  {
    await using server = await startEmbeddedPostgres({ directory })
    await query(server.url, 'CREATE TABLE notes (text text)')
    await query(server.url, `INSERT INTO notes VALUES ('first')`)
  }
  await using server = await startEmbeddedPostgres({ directory })
  expect(await notes(server.url)).toEqual(['first'])
})

test('commits wait for the disk', async () => {
  await using server = await startEmbeddedPostgres({ directory })
  const [row] = await query(
    server.url,
    `SELECT current_setting('fsync') AS fsync, current_setting('synchronous_commit') AS commit`,
  )
  expect(row).toEqual({ fsync: 'on', commit: 'on' })
})

test('the password is ours alone and is required', async () => {
  await using server = await startEmbeddedPostgres({ directory })
  expect((await stat(join(directory, 'password'))).mode & 0o777).toBe(0o600)
  const wrong = new URL(server.url)
  wrong.password = 'guess'
  await expect(query(wrong.href, 'SELECT 1')).rejects.toThrow('password authentication failed')
})

test('a second process on the same folder is refused and does no harm', async () => {
  await using server = await startEmbeddedPostgres({ directory })
  await expect(startEmbeddedPostgres({ directory })).rejects.toThrow(`is in use by process ${process.pid}`)
  expect(await notes(server.url)).toEqual(['first'])
})

test('a server that is killed comes back on the same address with the committed rows', async () => {
  await using server = await startEmbeddedPostgres({ directory })
  const pid = server.pid!
  await query(server.url, `INSERT INTO notes VALUES ('before the kill')`)
  process.kill(pid, 'SIGKILL')
  await expect.poll(() => notes(server.url)).toEqual(['first', 'before the kill'])
  expect(server.pid).not.toBe(pid)
})

test.each([110, 150, 200])('a stop %i ms after the server was killed ends the one that comes back', async (afterMs) => {
  const server = await startEmbeddedPostgres({ directory })
  process.kill(server.pid!, 'SIGKILL')
  await sleep(afterMs)
  await server[Symbol.asyncDispose]()
  expect(server.pid).toBeUndefined()
  expect(await postgresProcessesOn(await realpath(join(directory, 'data')), undefined)).toEqual([])
})

test('killing the process that started it stops the server, and the next start finds the data', async () => {
  const { child, url, pid } = await startElsewhere()
  await query(url, `INSERT INTO notes VALUES ('from elsewhere')`)
  child.kill('SIGKILL')
  await expect.poll(() => startTimeOf(pid)).toBeNull()
  await using server = await startEmbeddedPostgres({ directory })
  expect(await notes(server.url)).toContain('from elsewhere')
})

test('a server that outlived its process and its watcher is stopped by the next start', async () => {
  const { child, url, pid } = await startElsewhere()
  await query(url, `INSERT INTO notes VALUES ('left behind')`)
  for (const watcher of childrenOf(child.pid!, 'sh')) process.kill(watcher, 'SIGKILL')
  child.kill('SIGKILL')
  await once(child, 'exit')
  expect(await startTimeOf(pid)).not.toBeNull()

  await using server = await startEmbeddedPostgres({ directory })
  expect(await startTimeOf(pid)).toBeNull()
  expect(await notes(server.url)).toContain('left behind')
})

test('a pid file that names some other process neither stops the start nor that process', async () => {
  const bystander = spawn('sleep', ['60'])
  onTestFinished(() => void bystander.kill('SIGKILL'))
  const pidFile = join(directory, 'data', 'postmaster.pid')
  execFileSync('/bin/sh', ['-c', `printf '%s\\n' ${bystander.pid} > "$0"`, pidFile])
  await using server = await startEmbeddedPostgres({ directory })
  expect(await notes(server.url)).toContain('first')
  expect(await startTimeOf(bystander.pid!)).not.toBeNull()
  expect(await readFile(pidFile, 'utf8')).toContain(`${server.pid}\n`)
})

test('a folder whose owner is being killed is waited for', async () => {
  const { child, url } = await startElsewhere()
  await query(url, `INSERT INTO notes VALUES ('from the killed')`)
  const starting = startEmbeddedPostgres({ directory })
  await sleep(300)
  child.kill('SIGKILL')
  await using server = await starting
  expect(await notes(server.url)).toContain('from the killed')
})

test('a pid file of a server that died and that nobody has collected does not stop the start', async () => {
  const account = unprivilegedAccount()
  // The child outlives the shell, and `sleep` in the shell's place never collects it.
  const parent = spawn('/bin/sh', ['-c', 'sleep 0.5 & echo $!; exec sleep 60'], {
    stdio: ['ignore', 'pipe', 'inherit'],
    ...account,
  })
  onTestFinished(() => void parent.kill('SIGKILL'))
  const [dead] = (await once(createInterface(parent.stdout), 'line')) as [string]
  await expect.poll(() => stateOf(Number(dead))).toMatch(/^Z/)
  await writeFile(join(directory, 'data', 'postmaster.pid'), `${dead}\n`)
  await using server = await startEmbeddedPostgres({ directory })
  expect(await notes(server.url)).toContain('first')
})

test('a left-behind server that hears nothing is stopped all the same', async () => {
  const { child, url, pid } = await startElsewhere()
  await query(url, `INSERT INTO notes VALUES ('left behind and deaf')`)
  for (const watcher of childrenOf(child.pid!, 'sh')) process.kill(watcher, 'SIGKILL')
  process.kill(pid, 'SIGSTOP')
  child.kill('SIGKILL')
  await once(child, 'exit')
  await using server = await startEmbeddedPostgres({ directory })
  expect(await startTimeOf(pid)).toBeNull()
  expect(await notes(server.url)).toContain('left behind and deaf')
}, 60_000)

test('a server whose port is taken meanwhile is started on another', async () => {
  const taken = createServer().listen(0, '127.0.0.1')
  await once(taken, 'listening')
  onTestFinished(() => void taken.close())
  const ports = [(taken.address() as AddressInfo).port, await freePort()]
  const log: string[] = []
  const choosePort = async () => ports.shift()!
  await using server = await startEmbeddedPostgres({ directory, choosePort, log: (line) => log.push(line) })
  expect(await notes(server.url)).toContain('first')
  expect(log.join('\n')).toMatch(/Address already in use/)
})

function stateOf(pid: number): string {
  return execFileSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' }).trim()
}

async function startElsewhere(): Promise<{ child: ChildProcess; url: string; pid: number }> {
  const program = `
    import { startEmbeddedPostgres } from ${JSON.stringify(join(import.meta.dirname, 'start.ts'))}
    const server = await startEmbeddedPostgres({ directory: ${JSON.stringify(directory)} })
    console.log(JSON.stringify({ url: server.url, pid: server.pid }))`
  const child = spawn(process.execPath, ['--input-type=module-typescript', '--eval', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const [line] = (await once(createInterface(child.stdout), 'line')) as [string]
  return { child, ...(JSON.parse(line) as { url: string; pid: number }) }
}

function childrenOf(pid: number, command: string): number[] {
  const list = execFileSync('ps', ['-A', '-o', 'pid=,ppid=,comm='], { encoding: 'utf8' }).trim().split('\n')
  const rows = list.map((line) => line.trim().split(/\s+/))
  return rows.filter((row) => Number(row[1]) === pid && row[2]!.endsWith(command)).map((row) => Number(row[0]))
}

async function notes(url: string): Promise<unknown[]> {
  return (await query(url, 'SELECT text FROM notes')).map((row) => row['text'])
}

async function query(url: string, sql: string): Promise<Record<string, unknown>[]> {
  await using database = await openDatabase(url, { poolSize: 1 })
  return (await database.query(sql)).rows
}
