/**
 * The running configuration: read at boot, and again whenever the file changes.
 *
 * Promise: `current` is always whole and checked. At boot a broken file throws a `ConfigError`; later it is refused
 * with line and field in the log, and the running configuration stays. It opens the file once a second: network file systems
 * send no notifications, editors rename, and Kubernetes swaps a symbolic link. It reads the file where it looks different, or has
 * changed in the last three seconds.
 *
 * A file that is rewritten in place is cut for a while, and a cut file can be valid. So a change is taken up when the file has
 * been steady for a while, in which it is read four times a second. The writer takes a part away first of all, so a file that has
 * become shorter is given a longer time. A writer may also die half-way, and leave an empty file or one that ends where a section
 * ends. Both are valid. So a file that lacks a section of the running one is refused.
 */

import { open, readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import type { GatewayConfig } from '@gateway/contracts/config'
import { ConfigError, type LocatedProblem } from './config-error.ts'
import { loadConfig, loadDefaultConfig, type LoadedConfig } from './load-config.ts'
import type { Logger } from '@gateway/telemetry/logger'
import type { Metrics } from '@gateway/telemetry/metrics'
import { type ResolvedSection, unusableSecrets } from './resolve-secrets.ts'

export interface ConfigSource extends AsyncDisposable {
  readonly current: GatewayConfig
  /** Called with each new configuration until disposed of. */
  onChange(listener: (config: GatewayConfig) => void): Disposable
}

export interface FollowedConfig extends ConfigSource {
  /** Called with each text that is refused while an older configuration runs, until disposed of. */
  onRefused(listener: (refused: RefusedFile) => void): Disposable
}

interface ConfigSourceOptions {
  /** `GATEWAY_CONFIG`; without it the default configuration holds for ever. */
  path?: string | undefined
  /** A file that names a variable which is not set here, in a section of `resolves`, is refused, at boot and later. */
  environment?: NodeJS.ProcessEnv
  /** Backends alone where it is left out. */
  resolves?: readonly ResolvedSection[]
  logger: Logger
  /** Where the process says whether it refuses the file. */
  metrics?: Metrics
  rereadMs?: number
}

export interface RefusedFile {
  text: string
  /** Fields and lines with their faults, never a value. */
  problems: readonly LocatedProblem[]
}

/** While the file stays the same. */
const REREAD_MS = 1_000
/** While it changes. */
const REREAD_SOON_MS = 250
const STEADY_MS = 100
const SHRUNK_STEADY_MS = 1_000
/** Some file systems round the time of a change to two seconds, so two changes may look alike for so long. */
const TRUSTED_AFTER_MS = 3_000

export async function openConfigSource(options: ConfigSourceOptions): Promise<FollowedConfig> {
  const { path, logger, metrics, rereadMs = REREAD_MS } = options
  const help = '1 while the config file is refused or cannot be read, and an older configuration runs'
  const refused = metrics?.gauge('gateway_config_refused', help).labels()
  if (path === undefined) return fixedSource(loadDefaultConfig().config)
  const text = await readConfigFile(path)
  const load = (read: string) => loadWith(read, path, options)
  const loaded = load(text)
  for (const notice of loaded.notices) logger.warn({ file: path }, notice)
  if (loaded.named.size === 0) logger.warn({ file: path }, 'the file names no section: the defaults hold')
  logger.info({ file: path, revision: loaded.config.revision }, 'configuration loaded')
  return followFile({
    path,
    load,
    logger,
    text,
    loaded,
    rereadMs,
    onRefused: (is) => refused?.set(is ? 1 : 0),
  })
}

function fixedSource(config: GatewayConfig): FollowedConfig {
  return {
    current: config,
    onChange: () => ({ [Symbol.dispose]() {} }),
    onRefused: () => ({ [Symbol.dispose]() {} }),
    async [Symbol.asyncDispose]() {},
  }
}

function loadWith(text: string, path: string, options: ConfigSourceOptions): LoadedConfig {
  const { environment, resolves = ['backends'] } = options
  const loaded = loadConfig(text, path)
  const problems = environment ? unusableSecrets(loaded, environment, resolves) : []
  if (problems.length > 0) throw new ConfigError(path, problems)
  return loaded
}

interface Boot {
  path: string
  load(text: string): LoadedConfig
  logger: Logger
  text: string
  loaded: LoadedConfig
  rereadMs: number
  onRefused: (isRefused: boolean) => void
}

function followFile({ path, load, logger, text, loaded, rereadMs, onRefused }: Boot): FollowedConfig {
  let { config: current, named } = loaded
  let runningText = text
  /** The last one that was judged. */
  let judgedText = text
  let found: Look | null = null
  let readable = true
  const closing = new AbortController()
  const listeners = new Set<(config: GatewayConfig) => void>()
  const refusals = new Set<(refused: RefusedFile) => void>()

  async function reread() {
    try {
      found = await look(path, found)
    } catch (error) {
      if (readable) logger.error({ file: path, err: error }, 'configuration cannot be read; the running one stays')
      readable = false
      onRefused(true)
      return
    }
    const { text: read, sinceMs } = found
    const steadyMs = read.length < runningText.length ? SHRUNK_STEADY_MS : STEADY_MS
    const isDue = read === judgedText ? !readable : performance.now() - sinceMs >= steadyMs
    if (!isDue || closing.signal.aborted) return
    readable = true
    judgedText = read
    try {
      adopt(loadChanged(read))
      runningText = read
      onRefused(false)
    } catch (error) {
      onRefused(true)
      if (error instanceof ConfigError) inform(refusals, { text: read, problems: error.problems })
      const logged = error instanceof ConfigError ? { problems: error.problems } : { err: error }
      const { message } = error as Error
      logger.error({ file: path, ...logged }, `configuration refused; the running one stays. ${message}`)
    }
  }

  function loadChanged(read: string): LoadedConfig {
    const changed = load(read)
    const lost = [...named].filter((section) => !changed.named.has(section))
    if (lost.length === 0 || changed.config.revision === current.revision) return changed
    const message =
      'is missing, though the running configuration is from a file that names it: ' +
      'write the section out, or restart to go back to the default'
    throw new ConfigError(
      path,
      lost.map((section) => ({ field: section, message })),
    )
  }

  function adopt({ config, named: names, notices }: LoadedConfig) {
    named = names
    for (const notice of notices) logger.warn({ file: path }, notice)
    if (config.revision === current.revision) return
    logger.info({ file: path, revision: config.revision, previous: current.revision }, 'configuration changed')
    current = config
    inform(listeners, config)
  }

  function inform<Value>(informed: Iterable<(value: Value) => void>, value: Value): void {
    for (const listener of informed) {
      try {
        listener(value)
      } catch (error) {
        logger.error({ err: error }, 'a part of the service did not take the new configuration')
      }
    }
  }

  async function follow() {
    for (;;) {
      const isChanging = found !== null && found.text !== judgedText
      const pauseMs = isChanging ? Math.min(REREAD_SOON_MS, rereadMs) : rereadMs
      await sleep(pauseMs, undefined, { signal: closing.signal, ref: false }).catch(() => {})
      if (closing.signal.aborted) return
      await reread()
    }
  }

  const following = follow()
  return {
    get current() {
      return current
    },
    onChange: (listener) => register(listeners, listener),
    onRefused: (listener) => register(refusals, listener),
    async [Symbol.asyncDispose]() {
      listeners.clear()
      refusals.clear()
      closing.abort()
      await following
    },
  }
}

/** A wrapper of its own, so that the same function may be registered twice and each be taken back alone. */
function register<Value>(listeners: Set<(value: Value) => void>, listener: (value: Value) => void): Disposable {
  const registered = (value: Value) => listener(value)
  listeners.add(registered)
  return { [Symbol.dispose]: () => void listeners.delete(registered) }
}

interface Look {
  text: string
  /** Changes with every writing, also one that leaves the same text. */
  written: string
  /** When it was first found like this. */
  sinceMs: number
  readAtMs: number
}

async function look(path: string, last: Look | null): Promise<Look> {
  // A network file system learns of changes when a file is opened.
  await using file = await open(path)
  const { dev, ino, size, mtimeNs, ctimeNs } = await file.stat({ bigint: true })
  const written = [dev, ino, size, mtimeNs, ctimeNs].join('.')
  const looksSame = last !== null && last.written === written
  if (looksSame && last.readAtMs - last.sinceMs >= TRUSTED_AFTER_MS) return last
  const text = await file.readFile('utf8')
  const readAtMs = performance.now()
  const isSame = looksSame && last.text === text
  return { text, written, sinceMs: isSame ? last.sinceMs : readAtMs, readAtMs }
}

async function readConfigFile(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (cause) {
    const reason = (cause as NodeJS.ErrnoException).code === 'ENOENT' ? 'there is no such file' : String(cause)
    throw new ConfigError(path, [{ field: '', message: `cannot be read: ${reason} (GATEWAY_CONFIG names it)` }], {
      cause,
    })
  }
}
