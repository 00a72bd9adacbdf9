import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Readable } from 'node:stream'
import { expect, test } from 'vitest'

const SOURCE = JSON.stringify(new URL('./stop-signal.ts', import.meta.url).href)

/** A process that prints `ready`, then the signal that stopped it, and takes its time to end. */
async function startWaiting(samePressMs?: number) {
  const program = `import { stopSignal } from ${SOURCE}
    const stopped = stopSignal(${samePressMs})
    setInterval(() => {}, 1000)
    process.on('SIGINT', () => console.log('heard'))
    console.log('ready')
    console.log(await stopped)`
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  return { child, output: await untilReady(child.stdout) }
}

async function untilReady(stdout: Readable): Promise<() => string> {
  let output = ''
  stdout.setEncoding('utf8').on('data', (text: string) => (output += text))
  while (!output.includes('ready')) await once(stdout, 'data')
  return () => output
}

test.each(['SIGTERM', 'SIGINT'] as const)('%s begins an orderly stop and ends nothing by itself', async (signal) => {
  const { child, output } = await startWaiting()
  child.kill(signal)
  while (!output().includes(signal)) await once(child.stdout, 'data')
  expect(child.exitCode).toBeNull()
  child.kill('SIGKILL')
  await once(child, 'exit')
})

test('a second signal ends the process at once', async () => {
  const { child, output } = await startWaiting()
  child.kill('SIGTERM')
  while (!output().includes('SIGTERM')) await once(child.stdout, 'data')
  child.kill('SIGINT')
  expect(await once(child, 'exit')).toEqual([130, null])
})

test('a second of the same kind does, too', async () => {
  const { child, output } = await startWaiting(0)
  child.kill('SIGINT')
  while (!output().includes('SIGINT')) await once(child.stdout, 'data')
  child.kill('SIGINT')
  expect(await once(child, 'exit')).toEqual([130, null])
})

test('one press that comes twice, from the terminal and from npm, is one', async () => {
  const { child, output } = await startWaiting(60_000)
  for (const times of [1, 2]) {
    child.kill('SIGINT')
    while (output().split('heard').length - 1 < times) await once(child.stdout, 'data')
  }
  expect(child.exitCode).toBeNull()
  child.kill('SIGTERM')
  expect(await once(child, 'exit')).toEqual([143, null])
})
