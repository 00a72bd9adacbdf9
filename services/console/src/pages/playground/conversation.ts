/**
 * The playground's conversation and the question that is being typed: kept while the page lives, so that looking something up elsewhere
 * loses nothing, and over a sign-in that an ended session needs.
 */

import type { ClientDialect } from '@gateway/contracts/vendors'
import { useSyncExternalStore } from 'react'
import * as z from 'zod'
import type { Problem } from '../../core/explain-problem.ts'
import type { Caller } from '../../gateway/ask.ts'
import { streamResponse, type ResponseHead, type ResponseTotals } from '../../gateway/stream-answer.ts'
import type { ChatQuestion } from '../../gateway/ways-in.ts'
import { problemOf } from '../../parts/answer.tsx'
import { keepOverSignIn } from '../../session/keep-over-sign-in.ts'

const turnSchema = z.object({
  id: z.int(),
  model: z.string(),
  question: z.string(),
  thought: z.string(),
  text: z.string(),
  state: z.enum(['waiting', 'streaming', 'done', 'stopped', 'failed']),
  head: z.custom<ResponseHead>().nullable(),
  totals: z.custom<ResponseTotals>().nullable(),
  problem: z.custom<Problem>().nullable(),
  firstTokenMs: z.number().nullable(),
  totalMs: z.number().nullable(),
})
export type Turn = z.infer<typeof turnSchema>

const workSchema = z.object({ draft: z.string(), turns: z.array(turnSchema) })
/** A browser's storage takes 5 MB; the state of the sign-in needs some of it. */
const MOST_KEPT = 2_000_000

const broughtBack = workSchema.safeParse(keepOverSignIn(workToKeep)).data
let turns: readonly Turn[] = broughtBack?.turns ?? []
let draft = broughtBack?.draft ?? ''
/** Never used again, so that an answer that is late changes nobody else's turn. */
let lastId = Math.max(0, ...turns.map(({ id }) => id))
let stopping: AbortController | null = null
const listeners = new Set<() => void>()

/** An answer that runs ends here. A question that an ended session left without an answer is typed already. */
function workToKeep(): z.infer<typeof workSchema> {
  const [refused] = turns.filter(isRefused)
  const kept = turns
    .filter((turn) => !isRefused(turn))
    .map((turn) => (isRunning(turn) ? { ...turn, state: 'stopped' as const } : turn))
  let characters = 0
  const from = kept.findLastIndex((turn) => (characters += JSON.stringify(turn).length) > MOST_KEPT)
  return { draft: draft || (refused?.question ?? ''), turns: kept.slice(from + 1) }
}

function isRefused({ problem }: Turn): boolean {
  return problem?.code === 'INVALID_TOKEN' || problem?.code === 'NO_AUTH'
}

export function isRunning({ state }: Turn): boolean {
  return state === 'waiting' || state === 'streaming'
}

export function draftSoFar(): string {
  return draft
}

export function keepDraft(text: string): void {
  draft = text
}

function put(next: readonly Turn[]): void {
  turns = next
  for (const listener of listeners) listener()
}

function change(id: number, part: Partial<Turn>): void {
  put(turns.map((turn) => (turn.id === id ? { ...turn, ...part } : turn)))
}

export function useTurns(): readonly Turn[] {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => turns,
  )
}

export function clearTurns(): void {
  stopTurn()
  put([])
}

/** The question of a turn that failed, which makes room for the next try. */
export function takeBack(id: number): void {
  put(turns.filter((turn) => turn.id !== id))
}

/** The answer so far stays. */
export function stopTurn(): void {
  stopping?.abort()
}

/** Resolves when the answer is over, however it ended. */
export async function requestTurn(
  caller: Caller,
  dialect: ClientDialect,
  model: string,
  question: string,
): Promise<void> {
  const id = ++lastId
  const messages: ChatQuestion['messages'] = [...turns.flatMap(toMessages), { role: 'user', content: question }]
  const controller = (stopping = new AbortController())
  put([...turns, { ...EMPTY, id, model, question }])
  const startedAtMs = performance.now()
  const elapsedMs = () => performance.now() - startedAtMs
  const seen = { thought: '', text: '', firstTokenMs: null as number | null }
  const show = oncePerFrame(() => change(id, { ...seen, state: 'streaming' }))
  const take = (part: 'thought' | 'text') => (piece: string) => {
    seen[part] += piece
    seen.firstTokenMs ??= elapsedMs()
    show.soon()
  }
  const end = (part: Partial<Turn>) => {
    show.never()
    change(id, { ...seen, ...part, totalMs: elapsedMs() })
  }

  try {
    const onHead = (head: ResponseHead) => change(id, { head })
    const listener = { onHead, onText: take('text'), onThought: take('thought') }
    const totals = await streamResponse(caller, dialect, { model, messages }, controller.signal, listener)
    end({ totals, state: 'done' })
  } catch (error) {
    if (controller.signal.aborted) return end({ state: 'stopped' })
    end({ problem: problemOf(error), state: 'failed' })
  }
}

/** However many pieces come, the page is drawn once for each frame. */
function oncePerFrame(draw: () => void): { soon(): void; never(): void } {
  let frame: number | null = null
  return {
    soon() {
      frame ??= requestAnimationFrame(() => {
        frame = null
        draw()
      })
    },
    never() {
      if (frame !== null) cancelAnimationFrame(frame)
    },
  }
}

const EMPTY: Omit<Turn, 'id' | 'model' | 'question'> = {
  thought: '',
  text: '',
  state: 'waiting',
  head: null,
  totals: null,
  problem: null,
  firstTokenMs: null,
  totalMs: null,
}

/** An answer that failed before its first word is no part of the conversation. */
function toMessages({ question, text }: Turn): ChatQuestion['messages'] {
  if (text === '') return []
  return [
    { role: 'user', content: question },
    { role: 'assistant', content: text },
  ]
}
