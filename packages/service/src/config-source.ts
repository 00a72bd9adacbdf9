/**
 * The running configuration: read at boot, and again whenever the file changes.
 *
 * Promise: `current` is always whole and checked. At boot a broken file throws a `ConfigError`; later it is refused with
 * line and field in the log, and the running configuration stays. The file is found changed by watching its directory
 * (editors rename, Kubernetes swaps a symbolic link beside it), and, where no notification comes, by reading it again.
 */

import { watch } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { GatewayConfig } from '@gateway/contracts/config'
import { ConfigError } from './config-error.ts'
import { loadConfig, loadDefaultConfig } from './load-config.ts'
import type { Logger } from './logger.ts'

export interface ConfigSource extends AsyncDisposable {
  readonly current: GatewayConfig
  /** Called with each new configuration until disposed of. */
  onChange(listener: (config: GatewayConfig) => void): Disposable
}

interface ConfigSourceOptions {
  /** `GATEWAY_CONFIG`; without it the default configuration holds for ever. */
  path?: string | undefined
  logger: Logger
  /** Follow changes of the file; true by default. */
  watch?: boolean
}

/** Writing a file takes several steps; this long after the last one it is read. */
const SETTLE_MS = 100
/** Network file systems send no notifications. */
const REREAD_MS = 2_000

export async function openConfigSource(options: ConfigSourceOptions): Promise<ConfigSource> {
  const { path, logger } = options
  if (path === undefined) return fixedSource(loadDefaultConfig().config)
  const text = await readConfigFile(path)
  const { config, notices } = loadConfig(text, path)
  for (const notice of notices) logger.warn({ file: path }, notice)
  logger.info({ file: path, revision: config.revision }, 'configuration loaded')
  return options.watch === false ? fixedSource(config) : followFile({ path, logger, text, config })
}

function fixedSource(config: GatewayConfig): ConfigSource {
  return {
    current: config,
    onChange: () => ({ [Symbol.dispose]() {} }),
    async [Symbol.asyncDispose]() {},
  }
}

function followFile(boot: { path: string; logger: Logger; text: string; config: GatewayConfig }): ConfigSource {
  const { path, logger } = boot
  let { text: lastRead, config: current } = boot
  let reading = Promise.resolve()
  let readable = true
  const listeners = new Set<(config: GatewayConfig) => void>()

  async function reread() {
    let text: string
    try {
      text = await readConfigFile(path)
    } catch (error) {
      if (readable) logger.error({ file: path, err: error }, 'configuration cannot be read; the running one stays')
      readable = false
      return
    }
    readable = true
    if (text === lastRead) return
    lastRead = text
    try {
      adopt(loadConfig(text, path))
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error
      logger.error(
        { file: path, problems: error.problems },
        `configuration refused; the running one stays. ${error.message}`,
      )
    }
  }

  function adopt({ config, notices }: { config: GatewayConfig; notices: string[] }) {
    for (const notice of notices) logger.warn({ file: path }, notice)
    if (config.revision === current.revision) return
    logger.info({ file: path, revision: config.revision, previous: current.revision }, 'configuration changed')
    current = config
    for (const listener of listeners) {
      try {
        listener(config)
      } catch (error) {
        logger.error({ err: error }, 'a part of the service did not take the new configuration')
      }
    }
  }

  const check = () => {
    reading = reading.then(reread)
  }
  const watching = watchDirectory(dirname(path), check, logger)
  return {
    get current() {
      return current
    },
    onChange(listener) {
      // A wrapper of its own, so that the same function may be registered twice and each be taken back alone.
      const registered = (config: GatewayConfig) => listener(config)
      listeners.add(registered)
      return { [Symbol.dispose]: () => void listeners.delete(registered) }
    },
    async [Symbol.asyncDispose]() {
      watching[Symbol.dispose]()
      listeners.clear()
      await reading
    },
  }
}

/** Calls `changed` once after each burst of changes in the directory, and now and then regardless. */
function watchDirectory(directory: string, changed: () => void, logger: Logger): Disposable {
  let settling: NodeJS.Timeout | undefined
  const rereading = setInterval(changed, REREAD_MS).unref()
  const watcher = watch(directory, { persistent: false }, () => {
    clearTimeout(settling)
    settling = setTimeout(changed, SETTLE_MS).unref()
  })
  watcher.on('error', (error) =>
    logger.warn({ err: error, directory }, 'directory is not watched; the file is read instead'),
  )
  return {
    [Symbol.dispose]() {
      clearInterval(rereading)
      clearTimeout(settling)
      watcher.close()
    },
  }
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
