/**
 * The playground's conversation and the draft of the next message. This module keeps both while the page lives, so a look
 * at another page of the console loses nothing. Both also survive the sign-in after a session has ended.
 */

import type { ClientDialect } from '@gateway/contracts/vendors'
import { useSyncExternalStore } from 'react'
import * as z from 'zod'
import type { Problem } from '../../core/explain-problem.ts'
import type { Caller } from '../../gateway/send-request.ts'
import { streamResponse, type ResponseHead, type ResponseTotals } from '../../gateway/stream-response.ts'
import type { ConversationRequest } from '../../gateway/conversation-apis.ts'
import { problemOf } from '../../parts/query-view.tsx'
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

const restored = workSchema.safeParse(keepOverSignIn(workToKeep)).data
let turns: readonly Turn[] = restored?.turns ?? []
let draft = restored?.draft ?? ''
/** No id is used twice, so a late response cannot change another turn. */
let lastId = Math.max(0, ...turns.map(({ id }) => id))
let stopping: AbortController | null = null
const listeners = new Set<() => void>()

/** Stops the response that is running. A question that the ended session refused becomes the draft. */
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

/** Removes a turn that failed before the page sends its question again. */
export function removeTurn(id: number): void {
  put(turns.filter((turn) => turn.id !== id))
}

/** The text that arrived stays. */
export function stopTurn(): void {
  stopping?.abort()
}

/** Resolves when the response has ended, also by a failure. */
export async function requestTurn(
  caller: Caller,
  dialect: ClientDialect,
  model: string,
  question: string,
): Promise<void> {
  const id = ++lastId
  const messages: ConversationRequest['messages'] = [...turns.flatMap(toMessages), { role: 'user', content: question }]
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

/** Draws at most once for each frame, so many small pieces cost one drawing. */
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

/** A turn without text, stopped or failed, is no part of the conversation. */
function toMessages({ question, text }: Turn): ConversationRequest['messages'] {
  if (text === '') return []
  return [
    { role: 'user', content: question },
    { role: 'assistant', content: text },
  ]
}
