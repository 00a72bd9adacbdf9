/**
 * Loaded before a gateway process, in chaos runs only: makes its wall clock as wrong as the file `CHAOS_CLOCK` says, in
 * milliseconds. Its timers go on as they are, as after a step of a real machine's clock.
 */

import { readFile } from 'node:fs/promises'

const LOOK_EVERY_MS = 200
const path = process.env['CHAOS_CLOCK']

if (path !== undefined) {
  let wrongByMs = 0
  const RealDate = Date
  class WrongDate extends RealDate {
    constructor(...args: unknown[]) {
      if (args.length === 0) super(RealDate.now() + wrongByMs)
      else super(...(args as [number]))
    }
    static override now(): number {
      return RealDate.now() + wrongByMs
    }
  }
  globalThis.Date = WrongDate as DateConstructor
  const look = async () => {
    const text = await readFile(path, 'utf8').catch(() => '0')
    wrongByMs = Number(text)
  }
  await look()
  setInterval(() => void look(), LOOK_EVERY_MS).unref()
}
