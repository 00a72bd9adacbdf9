import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { supervise } from './supervise.ts'

test('a process that does not stop on SIGTERM is killed, where its plan says after how long', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'gateway-supervise-'))
  try {
    const script = join(folder, 'deaf.mjs')
    await writeFile(script, `process.on('SIGTERM', () => {}); setInterval(() => {}, 1_000); console.log('deaf')`)
    const logFile = join(folder, 'log')
    const plan = {
      name: 'deaf-1',
      service: 'deaf',
      script,
      environment: {},
      url: '',
      healthUrl: '',
      readyPath: '',
      logFile,
    }
    const deaf = supervise({ ...plan, killAfterMs: 100 }, folder, () => {})
    await expect.poll(() => readFile(logFile, 'utf8')).toContain('deaf')
    await deaf.stop()
    expect(deaf.pid).toBeUndefined()
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})
