/**
 * Follows the backends that an operator has ejected or drained. The keys service has them in its database. It publishes all of them
 * after each change and once a second. A router that hears of none requests them again and again: it has just started, or keys is
 * of the former version. So a lost message is made good within a second.
 *
 * While keys is away, the last known controls hold. Routers keep them on the bus, too. So a router that starts while keys is
 * away takes the kept ones. Where nobody has kept any, no router has known of a control. It takes no job before it knows either.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import type * as z from 'zod'
import type { Bus } from '@gateway/bus/port'
import { procedures } from '@gateway/contracts/bus-roles'
import { backendControls, type backendControlsReply, type BackendControl } from '@gateway/contracts/routers-api'
import type { Logger } from '@gateway/telemetry/logger'
import { rpcClient } from '@gateway/rpc/client'
import { decodeJson, encodeJson } from '@gateway/rpc/json'

/** Keys publishes once a second. A slow machine may be late by half of that. */
const PUBLISHED_WITHIN_MS = 1_500
/** A change reaches a router that hears of none within a second. */
const EVERY_MS = 500
const WITHIN_MS = 800
/** Another process of keys may reply where the first one is frozen. */
const SILENT_MS = 200
/** A router that starts together with keys has its first reply soon. */
const FIRST_EVERY_MS = 50
const FIRST_TRIES = 100

/** Another database has another clock. */
const CLOCK_APART_MS = 5_000

/** After a failure to keep them. */
const KEEP_EVERY_MS = 5_000

type Reading = z.infer<typeof backendControlsReply>
type Controls = ReadonlyMap<string, BackendControl>

interface Options {
  bus: Bus
  logger: Logger
  /** The controls have changed. */
  onChange(controls: Controls): void
}

/** Resolves when the controls are known, so that a router takes no job before. */
export async function followControls({ bus, logger, onChange }: Options): Promise<AsyncDisposable> {
  const keys = rpcClient('router', bus)
  let known: Controls = new Map()
  const copy = keepControls(bus)
  let tries = 0
  let hasReplied = false
  let receivedAtMs = -Infinity
  let newestReadAtMs = -Infinity
  let isClosed = false
  let timer: NodeJS.Timeout | undefined

  async function request(): Promise<void> {
    tries++
    try {
      const options = { timeoutMs: WITHIN_MS, silentForMs: SILENT_MS, failingForMs: SILENT_MS }
      await take(await keys.request('keysBackendControls', {}, options))
    } catch (error) {
      if (tries === FIRST_TRIES) logger.warn({ err: error }, 'keys does not say which backends are in use')
    }
  }

  /** A message may overtake a later one. */
  async function take({ controls, readAtMs = newestReadAtMs }: Reading): Promise<void> {
    if (readAtMs < newestReadAtMs && readAtMs > newestReadAtMs - CLOCK_APART_MS) return
    newestReadAtMs = readAtMs
    const read = toControls(controls)
    if (!hasReplied) logger.debug({ controls }, 'the controls of operators are known')
    hasReplied = true
    adopt(read)
    await copy.write(read).catch((error: unknown) => {
      logger.debug({ err: error }, 'the controls of operators could not be kept; the router tries again')
    })
  }

  function adopt(read: Controls): void {
    if (isClosed || isSame(known, read)) return
    known = read
    logger.info({ controls: Object.fromEntries(read) }, 'an operator has changed which backends are in use')
    onChange(read)
  }

  /** Keys first, then the kept ones, until one of them replies. */
  async function learnFirst(): Promise<void> {
    for (let rounds = 1; ; rounds++) {
      await request()
      if (hasReplied) return
      try {
        adopt(await copy.read())
        return
      } catch (error) {
        if (rounds === 1)
          logger.warn({ err: error }, 'this router takes no job before it knows which backends are in use')
        await sleep(FIRST_EVERY_MS)
      }
    }
  }

  let underWay = Promise.resolve()
  let taking = Promise.resolve()
  function again(): void {
    if (isClosed) return
    const pauseMs = hasReplied || tries >= FIRST_TRIES ? EVERY_MS : FIRST_EVERY_MS
    const untilSilentMs = receivedAtMs + PUBLISHED_WITHIN_MS - performance.now()
    timer = setTimeout(
      () => {
        if (performance.now() < receivedAtMs + PUBLISHED_WITHIN_MS) again()
        else underWay = request().finally(again)
      },
      Math.max(pauseMs, untilSilentMs),
    )
    timer.unref()
  }

  const hearing = await keys.subscribe('keysControls', (reading) => {
    receivedAtMs = performance.now()
    taking = take(reading)
  })
  await learnFirst()
  again()
  return {
    async [Symbol.asyncDispose]() {
      isClosed = true
      clearTimeout(timer)
      await hearing[Symbol.asyncDispose]()
      await Promise.all([underWay, taking])
    },
  }
}

/** The last controls that a router has read, as all routers share them. */
function keepControls(bus: Bus) {
  const { subject, messages } = procedures.keptControls
  const within = { timeoutMs: WITHIN_MS }
  let written: Controls | null = null
  let nextTryAtMs = 0
  return {
    /** None where no router has kept any. */
    async read(): Promise<Controls> {
      const payload = await bus.kept.read(subject, within)
      return payload === null ? new Map() : toControls(messages.value.parse(decodeJson(payload)).controls)
    },
    async write(controls: Controls): Promise<void> {
      if ((written && isSame(written, controls)) || performance.now() < nextTryAtMs) return
      nextTryAtMs = performance.now() + KEEP_EVERY_MS
      const value = [...controls].map(([backend, control]) => ({ backend, control }))
      await bus.kept.write(subject, encodeJson({ controls: value }), within)
      written = controls
      nextTryAtMs = 0
    },
  }
}

function toControls(controls: readonly { backend: string; control: string }[]): Controls {
  return new Map(controls.map(({ backend, control }) => [backend, controlOf(control)] as const))
}

/** A newer version may have further words: such a backend is at least no first choice. */
function controlOf(word: string): BackendControl {
  return backendControls.find((known) => known === word) ?? 'ejected'
}

function isSame(one: Controls, other: Controls): boolean {
  return one.size === other.size && [...one].every(([backend, control]) => other.get(backend) === control)
}
