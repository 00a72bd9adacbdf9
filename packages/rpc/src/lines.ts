/**
 * Lines of callers. A few calls of each caller run at once, and a bounded number waits, first in first out. A further one is refused at
 * once. A caller without calls is forgotten.
 */

export interface LineBounds {
  atOnce: number
  mostWaiting: number
  refuse(): Error
}

/** Rejects with the refusal, or as the call itself. */
export type InLine = <Result>(caller: string, call: () => Promise<Result>) => Promise<Result>

export function openLines({ atOnce, mostWaiting, refuse }: LineBounds): InLine {
  const lines = new Map<string, { running: number; waiting: (() => void)[] }>()
  return async (caller, call) => {
    const line = lines.get(caller) ?? { running: 0, waiting: [] }
    lines.set(caller, line)
    if (line.running < atOnce) line.running++
    else if (line.waiting.length < mostWaiting) await new Promise<void>((resolve) => line.waiting.push(resolve))
    else throw refuse()
    try {
      return await call()
    } finally {
      // The next one takes the place over.
      const next = line.waiting.shift()
      if (next) next()
      else if (--line.running === 0) lines.delete(caller)
    }
  }
}
