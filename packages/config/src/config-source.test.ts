import { appendFile, chmod, mkdir, mkdtemp, rename, rm, symlink, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { GatewayConfig } from '@gateway/contracts/config'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { openConfigSource } from './config-source.ts'
import { loadConfig } from './load-config.ts'
import { createLogger } from '@gateway/telemetry/logger'
import { createMetrics } from '@gateway/telemetry/metrics'

const plansFile = (rpm: number) => `plans:
  - { slug: guest-device, limit: 1, rpm: 1, tpm: 1, perDay: 1, guest: true }
  - { slug: free, limit: 1, rpm: ${rpm}, tpm: 1, default: true }
`
const rpmOf = (config: GatewayConfig) => config.plans.find(({ slug }) => slug === 'free')?.rpm

let directory: string
let path: string
let log: string

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'gateway-config-'))
  path = join(directory, 'gateway.yaml')
  log = ''
})
afterEach(() => rm(directory, { recursive: true }))

const logger = createLogger({ service: 'test', level: 'info', output: { write: (line) => void (log += line) } })
const open = (file: string | undefined = path) => openConfigSource({ path: file, logger })
const soon = { timeout: 60_000, interval: 20 }

describe('at boot', () => {
  test('without a file the default configuration holds', async () => {
    await using source = await openConfigSource({ logger })
    expect(source.current.models).toHaveLength(26)
  })

  test('a file that is not there is named, with the variable that names it', async () => {
    await expect(open()).rejects.toThrow(`${path}  cannot be read: there is no such file (GATEWAY_CONFIG names it)`)
  })

  test('a broken file is refused', async () => {
    await writeFile(path, 'plans: []\n')
    await expect(open()).rejects.toThrow('gateway.yaml:1:1  plans: ')
  })

  test('an empty file is the defaults, and the log says so', async () => {
    await writeFile(path, '')
    await using source = await open()
    expect(source.current.models).toHaveLength(26)
    expect(log).toContain('the file names no section: the defaults hold')
  })

  test('a file that leaves default models unserved says so in the log', async () => {
    await writeFile(path, 'pools:\n  - { id: spark, targets: [{ backend: simulated-a, model: x }] }\n')
    await using source = await open()
    expect(source.current.models).toHaveLength(3)
    expect(log).toContain('default models that are not served')
  })
})

describe('a changed file is taken up while running', () => {
  test.each<[string, (text: string) => Promise<unknown>]>([
    ['written in place', (text) => writeFile(path, text)],
    [
      'written beside it and renamed over it, as editors do',
      async (text) => {
        await writeFile(`${path}~`, text)
        await rename(`${path}~`, path)
      },
    ],
    [
      'removed and written anew',
      async (text) => {
        await rm(path)
        await new Promise((resolve) => setTimeout(resolve, 300))
        await writeFile(path, text)
      },
    ],
  ])('%s', async (_, replace) => {
    await writeFile(path, plansFile(10))
    await using source = await open()
    const seen: GatewayConfig[] = []
    source.onChange((config) => seen.push(config))
    const before = source.current
    await replace(plansFile(20))
    await expect.poll(() => rpmOf(source.current), soon).toBe(20)
    expect(seen).toEqual([source.current])
    expect(source.current.revision).not.toBe(before.revision)
    await replace(plansFile(30))
    await expect.poll(() => rpmOf(source.current), soon).toBe(30)
  })

  test('written in place with the same length, long after the last change', async () => {
    await writeFile(path, plansFile(10))
    await using source = await openConfigSource({ path, logger, rereadMs: 100 })
    await sleep(4_000)
    await writeFile(path, plansFile(20))
    await expect.poll(() => rpmOf(source.current), soon).toBe(20)
  })

  test('swapped through a symbolic link, as Kubernetes mounts a ConfigMap', async () => {
    const mount = async (version: string, rpm: number) => {
      await mkdir(join(directory, version))
      await writeFile(join(directory, version, 'gateway.yaml'), plansFile(rpm))
      await symlink(version, join(directory, '..data_tmp'))
      await rename(join(directory, '..data_tmp'), join(directory, '..data'))
    }
    await mount('..v1', 10)
    await symlink('..data/gateway.yaml', path)
    await using source = await open()
    await mount('..v2', 20)
    await rm(join(directory, '..v1'), { recursive: true })
    await expect.poll(() => rpmOf(source.current), soon).toBe(20)
  })

  test('even where the change lies beyond the directory of the file', async () => {
    const elsewhere = await mkdtemp(join(tmpdir(), 'gateway-config-'))
    const target = join(elsewhere, 'real.yaml')
    await writeFile(target, plansFile(10))
    await symlink(target, path)
    await using source = await open()
    await writeFile(target, plansFile(20))
    await expect.poll(() => rpmOf(source.current), soon).toBe(20)
    await rm(elsewhere, { recursive: true })
  })
})

test('a change is taken up from a directory that cannot be listed', async () => {
  await writeFile(path, plansFile(10))
  // Readers may pass, and may not list: root, who may do all, becomes nobody for a moment.
  await chmod(directory, 0o311)
  const user = process.geteuid!()
  if (user === 0) process.seteuid!(65_534)
  try {
    await using source = await openConfigSource({ path, logger, rereadMs: 50 })
    if (user === 0) process.seteuid!(user)
    await writeFile(path, plansFile(20))
    await expect.poll(() => rpmOf(source.current), soon).toBe(20)
  } finally {
    process.seteuid!(user)
    await chmod(directory, 0o700)
  }
})

describe('a running configuration stays', () => {
  test('when the file becomes broken; the log names line and field, once, and the repaired file is taken up', async () => {
    await writeFile(path, plansFile(10))
    await using source = await openConfigSource({ path, logger, rereadMs: 50 })
    const listener = vi.fn<(config: GatewayConfig) => void>()
    source.onChange(listener)
    await writeFile(path, plansFile(10).replace('rpm: 10', 'rpm: lots'))
    await expect.poll(() => log, soon).toContain('configuration refused; the running one stays')
    expect(log).toContain('gateway.yaml:3:29  plans[1].rpm: expected number, received string')
    await sleep(500)
    expect(log.match(/configuration refused/g)).toHaveLength(1)
    expect(rpmOf(source.current)).toBe(10)
    expect(listener).not.toHaveBeenCalled()
    await writeFile(path, plansFile(20))
    await expect.poll(() => rpmOf(source.current), soon).toBe(20)
  })

  test.each<[string, string]>([
    ['an alias names no anchor', 'plans: *typo\n'],
    ['aliases multiply', `a: &a [${'x,'.repeat(99)}]\nb: &b [${'*a,'.repeat(99)}]\nc: [${'*b,'.repeat(99)}]\n`],
    ['lists nest without end', '['.repeat(20_000)],
  ])('when %s, and the process goes on', async (_, text) => {
    await writeFile(path, plansFile(10))
    await using source = await open()
    await writeFile(path, text)
    await expect.poll(() => log, soon).toContain('configuration refused; the running one stays')
    expect(log).toContain('is not valid YAML')
    expect(rpmOf(source.current)).toBe(10)
    await writeFile(path, plansFile(20))
    await expect.poll(() => rpmOf(source.current), soon).toBe(20)
  })

  test('when a backend refers to a variable that the router does not have; the log names its line', async () => {
    const file = (key: string) => `${plansFile(10)}backends:
  - { id: gpu-a, url: http://gpu-a/v1, apiKey: "\${${key}}" }
pools:
  - { id: spark, targets: [{ backend: gpu-a, model: x }] }
`
    const metrics = createMetrics({ service: 'test' })
    await writeFile(path, file('GPU_KEY'))
    await using source = await openConfigSource({ path, environment: { GPU_KEY: 'sk' }, logger, metrics, rereadMs: 50 })
    const before = source.current
    await writeFile(path, file('NEW_KEY'))
    await expect.poll(() => log, soon).toContain('configuration refused; the running one stays')
    expect(log).toContain('gateway.yaml:5:40  backends[0].apiKey: the environment variable NEW_KEY is not set')
    expect(source.current).toBe(before)
    expect(metrics.text()).toMatch(/^gateway_config_refused\S* 1$/m)
    await expect(openConfigSource({ path, environment: {}, logger })).rejects.toThrow('NEW_KEY is not set')
  })

  test('when the file goes away', async () => {
    await writeFile(path, plansFile(10))
    await using source = await open()
    await rm(path)
    await expect.poll(() => log, soon).toContain('configuration cannot be read; the running one stays')
    expect(rpmOf(source.current)).toBe(10)
  })

  test('when only comments change: no subscriber is notified', async () => {
    await writeFile(path, plansFile(10))
    await using source = await open()
    const listener = vi.fn<(config: GatewayConfig) => void>()
    source.onChange(listener)
    await writeFile(path, `# a note\n${plansFile(10)}`)
    await new Promise((resolve) => setTimeout(resolve, 500))
    expect(listener).not.toHaveBeenCalled()
  })
})

describe('a file that is rewritten in place', () => {
  const fileWithPool = (rpm: number) => `${plansFile(rpm)}pools:
  - { id: spark, targets: [{ backend: simulated-a, model: x }] }
`

  test('never puts the defaults in force, though it is empty for a moment each time', async () => {
    await writeFile(path, plansFile(10))
    await using source = await openConfigSource({ path, logger, rereadMs: 20 })
    const seen = new Set<number | undefined>()
    source.onChange((config) => seen.add(rpmOf(config)))
    const untilMs = performance.now() + 2_500
    for (let turn = 0; performance.now() < untilMs; turn++) {
      await truncate(path)
      await sleep(60)
      await writeFile(path, plansFile(10 + (turn % 2)))
      await sleep(10)
    }
    await writeFile(path, plansFile(12))
    await expect.poll(() => rpmOf(source.current), soon).toBe(12)
    expect([...seen].filter((rpm) => ![10, 11, 12].includes(rpm!))).toEqual([])
  })

  test('is in force as it was or as it becomes, in however many pieces it is written', async () => {
    const pieces = fc.array(fc.record({ part: fc.double({ min: 0, max: 1, noNaN: true }), pauseMs: fc.nat(60) }), {
      minLength: 1,
      maxLength: 6,
    })
    const expectCompleteFileLoaded = async (cuts: { part: number; pauseMs: number }[], at: string): Promise<void> => {
      await writeFile(at, fileWithPool(10))
      await using source = await openConfigSource({ path: at, logger, rereadMs: 5 })
      const before = source.current.revision
      const seen: GatewayConfig[] = []
      source.onChange((config) => seen.push(config))
      const text = fileWithPool(20)
      const ends = cuts.map(({ part }) => Math.floor(part * text.length)).toSorted((a, b) => a - b)
      await truncate(at)
      for (const [index, { pauseMs }] of cuts.entries()) {
        await sleep(pauseMs)
        await appendFile(at, text.slice(ends[index - 1] ?? 0, ends[index]))
      }
      await appendFile(at, text.slice(ends.at(-1)))
      await expect.poll(() => source.current.revision, soon).not.toBe(before)
      expect(seen).toEqual([loadConfig(text, at).config])
    }
    // Each file is given a second to be steady: many are written at the same time.
    await fc.assert(
      fc.asyncProperty(fc.array(pieces, { minLength: 1, maxLength: 12 }), async (files) => {
        await Promise.all(files.map((cuts, index) => expectCompleteFileLoaded(cuts, join(directory, `${index}.yaml`))))
      }),
      { numRuns: 3 },
    )
  })

  test('reports while it is refused, or cannot be read', async () => {
    const metrics = createMetrics({ service: 'test' })
    const refused = () => /^gateway_config_refused\S* (\d)$/m.exec(metrics.text())?.[1]
    await writeFile(path, fileWithPool(10))
    await using source = await openConfigSource({ path, logger, metrics, rereadMs: 50 })
    expect(refused()).toBe('0')
    await writeFile(path, '')
    await expect.poll(() => refused(), soon).toBe('1')
    await writeFile(path, fileWithPool(10))
    await expect.poll(() => refused(), soon).toBe('0')
    await rm(path)
    await expect.poll(() => refused(), soon).toBe('1')
    await writeFile(path, fileWithPool(20))
    await expect.poll(() => refused(), soon).toBe('0')
    expect(rpmOf(source.current)).toBe(20)
  })

  test.each<[string, string, string]>([
    ['is left empty', '', 'plans: is missing'],
    ['is left with nothing but comments', '# to be written\n', 'plans: is missing'],
    ['ends where a section ends', plansFile(20), 'pools: is missing'],
  ])('is refused while it %s; the running one stays', async (_, text, reason) => {
    await writeFile(path, fileWithPool(10))
    await using source = await open()
    const before = source.current
    await writeFile(path, text)
    await expect.poll(() => log, soon).toContain('configuration refused; the running one stays')
    expect(log).toContain(reason)
    expect(source.current).toBe(before)
    await writeFile(path, fileWithPool(30))
    await expect.poll(() => rpmOf(source.current), soon).toBe(30)
  })
})

test('a listener that fails keeps neither the others nor the new configuration from working', async () => {
  await writeFile(path, plansFile(10))
  await using source = await open()
  const listener = vi.fn<(config: GatewayConfig) => void>()
  source.onChange(() => {
    throw new Error('no')
  })
  source.onChange(listener)
  await writeFile(path, plansFile(20))
  await expect.poll(() => listener, soon).toHaveBeenCalledOnce()
  expect(rpmOf(source.current)).toBe(20)
  expect(log).toContain('did not take the new configuration')
})

test('a listener that was taken back is not called any more', async () => {
  await writeFile(path, plansFile(10))
  await using source = await open()
  const [kept, takenBack] = [vi.fn<(config: GatewayConfig) => void>(), vi.fn<(config: GatewayConfig) => void>()]
  source.onChange(takenBack)[Symbol.dispose]()
  source.onChange(kept)
  await writeFile(path, plansFile(20))
  await expect.poll(() => kept, soon).toHaveBeenCalledOnce()
  expect(takenBack).not.toHaveBeenCalled()
})
