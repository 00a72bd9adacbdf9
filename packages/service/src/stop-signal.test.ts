import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, test } from 'vitest'

/** A process that says `ready`, then what it was stopped by, and takes its time to end. */
async function startWaiting() {
  const child = spawn(
    process.execPath,
    [
      '--input-type=module',
      '-e',
      `import { stopSignal } from ${JSON.stringify(new URL('./stop-signal.ts', import.meta.url).href)}
       const stopped = stopSignal()
       setInterval(() => {}, 1000)
       console.log('ready')
       console.log(await stopped)`,
    ],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  )
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text))
  while (!output.includes('ready')) await once(child.stdout, 'data')
  return { child, output: () => output }
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
